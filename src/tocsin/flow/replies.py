"""How a notification that asks for replies says so to each receiver: where to reply, and what.

CloudEvents and plain JSON say it in attributes, SOAP in a header, another node in the request itself.
"""

from msgspec.structs import replace

from tocsin.flow.ring_addresses import original
from tocsin.flow.thin import as_event
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME, Written, customise
from tocsin.mediation.ws.reply_messages import reply_header
from tocsin.model.identity import Pairs
from tocsin.model.notification import Notification
from tocsin.model.paths import REPLIES, SOAP_REPLIES
from tocsin.model.replies import REPLY_FOR, REPLY_TO, REPLY_TYPE, REPLY_VIEW, ReplyRequest, token_of
from tocsin.model.subscription import Subscription, neighbour_of

_IN_SOAP = f"{SOAP_REPLIES}/"


def customised(
    request: ReplyRequest, told: Notification, subscription: Subscription, base_url: str, written: Written | None
) -> tuple[Pairs, bytes]:
    """As `customise`, of what is told to one who may reply."""
    rules = BY_NAME.get(subscription.form.dialect)
    if rules is None or rules.write is not None:
        if neighbour_of(subscription) is None:
            told = announced(told, original(subscription), base_url)
        return customise(told, subscription, base_url)
    token = token_of(request, told.addressee or subscription.id)
    wsa = subscription.form.addressing or rules.addressing
    header = reply_header(base_url + _IN_SOAP, token, request.type, wsa)
    return customise(told, subscription, base_url, written, header)


def announced(notification: Notification, subscription: Subscription, base_url: str) -> Notification:
    """As it is told in attributes, where there is a place for them. Those that are ours to say are taken off."""
    form = subscription.form
    if notification.reply is None or ((rules := BY_NAME.get(form.dialect)) is not None and rules.is_soap):
        return notification
    token = token_of(notification.reply, notification.addressee or subscription.id)
    told = as_event(notification) if form.dialect == cloudevents.NAME else notification
    own = {REPLY_TO: f"{base_url}{REPLIES}/{token}", REPLY_TYPE: notification.reply.type}
    kept = {name: value for name, value in told.attributes if name not in (REPLY_FOR, REPLY_VIEW)}
    return replace(told, attributes=tuple(sorted((kept | own).items())))
