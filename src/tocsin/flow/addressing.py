"""Which pull point or notifier's service a record is for, and the event by which a notifier tells its service.

It is written as a CloudEvent, so that the rules of mediation read it and each service gets it in its own dialect.
"""

import re
from urllib.parse import quote, unquote

from msgspec.structs import replace

from tocsin.flow.lifetime import check_expiry
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.soap.templates import PULL_POINTS as PULL_POINTS
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Node, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.subscription import Position, Subscription
from tocsin.routing.implicit.messages import Copy, Message

NOTIFIERS = "/notifiers/"
AT = "/at/"  # below the address of workers that share one: the name of the one that has what follows
_AT = re.compile(rf"{AT}node-[0-9a-f]+(?=/|$)")
_NOWHERE = Position(Node(""), 0)


def door_of(notifier: str) -> str:
    return f"{NOTIFIERS}{quote(notifier, safe='')}"


def addressed_by(door: str, notifications: tuple[Notification, ...]) -> tuple[Notification, ...]:
    name = unquote(door[len(NOTIFIERS) :])
    return tuple(replace(each, addressee=name) for each in notifications)


def event_for_service(copy: Copy, topic: Topic, producer: str) -> tuple[Pairs, bytes]:
    """A copy as the receiver's service is told it: who published it, who passed it on, how far it came.

    `producer` is the address of the root notifier; the headers are those the door would have seen.
    """
    message = copy.message
    sender = (("sender", copy.sender),) if copy.sender else ()  # none of what came from outside
    way = (("root", message.root), *sender, ("hop", str(copy.hop)), ("protocol", message.protocol))
    about = (
        ("subject", str(topic)),
        ("topic", str(topic)),
        ("time", timestamp(message.when)),
        ("label", message.topic),
    )
    said = Notification(
        message.id,
        _NOWHERE,
        0,
        message.when,
        cloudevents.NAME,
        "",
        producer,
        topic,
        None,
        (*about, *way, *message.attributes),
        message.data,
    )
    _, body = cloudevents.structured(said)
    return (("content-type", cloudevents.STRUCTURED),), body


def check_event_for_service(message: Message, topic: Topic, producer: str) -> None:
    """Before it is accepted: what no service could be told is refused, so that nothing acknowledged is lost by it."""
    headers, body = event_for_service(Copy("", message, message.root, message.root, 1), topic, producer)
    record = Accepted(_NOWHERE, message.when, door_of(message.root), cloudevents.NAME, headers, None, "", body)
    check_expiry(cloudevents.notifications(record))


def path_at(base_url: str, address: str) -> str | None:
    """What follows the address of a broker, whichever of its workers said so; None for what is elsewhere."""
    common = _AT.sub("", base_url)
    return _AT.sub("", address[len(common) :], count=1) if address.startswith(f"{common}/") else None


def pull_point_of(path: str) -> str | None:
    """The pull point whose own address has that path."""
    name = path[len(PULL_POINTS) :] if path.startswith(PULL_POINTS) else ""
    return name if name and "/" not in name else None


def pulled_by(subscription: Subscription) -> str | None:
    """The pull point that a subscription feeds; None for one whose notifications are sent.

    Without a consumer it feeds itself. A consumer that is a pull point of this broker is kept as a path alone, so that
    it stays one when the broker is reached at another address.
    """
    consumer = subscription.consumer
    return subscription.id if consumer is None else pull_point_of(consumer.address)


def addressed_to(record: Accepted) -> str | None:
    """The one pull point that gets what was posted to its address; None where subscriptions decide."""
    return pull_point_of(record.door.partition("?")[0])
