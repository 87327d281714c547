"""How a notification that asks for replies says so to each receiver: where to reply, and what.

CloudEvents and plain JSON say it in attributes, SOAP in a header, another node in the request itself.
"""

from msgspec.structs import replace

from tocsin.flow.thin import as_event
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME
from tocsin.mediation.ws.reply_messages import announced as announced_in_soap
from tocsin.model.notification import Notification
from tocsin.model.paths import REPLIES, SOAP_REPLIES
from tocsin.model.replies import REPLY_FOR, REPLY_TO, REPLY_TYPE, REPLY_VIEW, ReplyRequest, token_of
from tocsin.model.subscription import Subscription


def receiver_of(notification: Notification, subscription: str) -> str:
    """Who counts as one: a subscription, or a service however many subscriptions it has."""
    return notification.addressee or subscription


def is_soap(dialect: str) -> bool:
    rules = BY_NAME.get(dialect)
    return rules is not None and rules.is_soap


def announced(notification: Notification, subscription: Subscription, base_url: str) -> Notification:
    """As it is told in attributes. Those of a publisher that are ours to say are taken off."""
    assert notification.reply is not None
    token = token_of(notification.reply, receiver_of(notification, subscription.id))
    told = as_event(notification) if subscription.form.dialect == cloudevents.NAME else notification
    own = {REPLY_TO: f"{base_url}{REPLIES}/{token}", REPLY_TYPE: notification.reply.type}
    kept = {name: value for name, value in told.attributes if name not in (REPLY_FOR, REPLY_VIEW)}
    return replace(told, attributes=tuple(sorted((kept | own).items())))


def announced_header(
    request: ReplyRequest, notification: Notification, subscription: Subscription, body: bytes, base_url: str
) -> bytes:
    token = token_of(request, receiver_of(notification, subscription.id))
    form, rules = subscription.form, BY_NAME[subscription.form.dialect]
    address = f"{base_url}{SOAP_REPLIES}/{token}"
    return announced_in_soap(body, address, token, request.type, form.addressing or rules.addressing)
