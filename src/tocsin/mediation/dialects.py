"""The registry: which dialect a message is in, and the rules that read and write it."""

from collections.abc import Callable, Mapping
from urllib.parse import unquote

from msgspec import Struct

from tocsin.mediation import cloudevents, raw, soap, wse_2004_08, wsn_1_3
from tocsin.mediation.memo import EnvelopeMemo, Recalled
from tocsin.mediation.operations import Answer, Context, Reply, Request
from tocsin.mediation.soap import Envelope
from tocsin.model import names
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import Topic
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

PUBLISH_DOOR = "/broker/publish"

Customise = Callable[[Notification, Subscription, str], tuple[Pairs, bytes]]
CUSTOMISE: Mapping[str, Customise] = {
    wsn_1_3.NAME: wsn_1_3.customise,
    wse_2004_08.NAME: wse_2004_08.customise,
    cloudevents.NAME: cloudevents.customise,
}
NAMES = tuple(CUSTOMISE)

_OPERATIONS = dict.fromkeys(wsn_1_3.OPERATIONS, wsn_1_3.NAME) | dict.fromkeys(wse_2004_08.OPERATIONS, wse_2004_08.NAME)


class Heard(Struct, frozen=True):
    """A SOAP request as far as the node needs it: whom to answer, and what is asked."""

    context: Context
    request: Request


def dialect_of(envelope: Envelope) -> str:
    """By the first body child alone: real clients send other actions, or none."""
    name = _OPERATIONS.get(envelope.operation)
    if name is None:
        shown = envelope.operation or "an empty Body"
        raise Refusal("unknown-operation", f"{shown} is not an operation of this broker; post events to {PUBLISH_DOOR}")
    return name


def hear(envelope: Envelope, subscription: str, now: Instant) -> Heard:
    """`subscription` is the id in the address; a reference parameter that is echoed instead does as well."""
    name = dialect_of(envelope)
    request = wsn_1_3.request if name == wsn_1_3.NAME else wse_2004_08.request
    return Heard(envelope.context(name), request(envelope, subscription or envelope.header("identifier"), now))


def answer(context: Context, result: Answer) -> Reply:
    reply = wsn_1_3.reply if context.dialect == wsn_1_3.NAME else wse_2004_08.reply
    return reply(context, result)


Reading = Envelope | Recalled
_MEMO = EnvelopeMemo(_OPERATIONS)


def open_soap(door: str, body: bytes) -> Reading:
    return _MEMO.recall(door, body) or soap.open_envelope(body)


def normalise(record: Accepted, reading: Reading | None = None) -> tuple[Notification, ...]:
    """The notifications of an accepted request; pure, the same at the door and on Spark."""
    dialect = record.dialect
    if dialect == cloudevents.NAME:
        return cloudevents.notifications(record)
    if dialect == raw.NAME:
        return raw.notifications(record, topic_of_door(record.door))
    reading = reading or open_soap(record.door, record.body)
    if isinstance(reading, Recalled):
        if reading.dialect == dialect:
            return (reading.notification(record),)
        reading = soap.open_envelope(record.body)
    return _read_in_full(record, reading)


def _read_in_full(record: Accepted, reading: Envelope) -> tuple[Notification, ...]:
    if record.dialect == wsn_1_3.NAME:
        found = wsn_1_3.notifications(record, reading)
        if len(found) == 1 and _MEMO.is_worth_it(record, found[0]):
            _MEMO.learn(record, reading, wsn_1_3.payload_holder(reading), found[0])
    else:
        found = wse_2004_08.notifications(record, reading, topic_of_door(record.door))
        if _MEMO.is_worth_it(record, found[0]):
            _MEMO.learn(record, reading, reading.body, found[0])
    return found


def topic_of_door(door: str) -> Topic | None:
    """`/broker/publish/a/b` names the topic a/b."""
    tail = door[len(PUBLISH_DOOR) :].strip("/") if door.startswith(f"{PUBLISH_DOOR}/") else ""
    if not tail:
        return None
    found = names.topic(unquote(tail))
    if found is None:
        raise Refusal("bad-topic-expression", f"the address ends in {tail!r}, which is not a topic such as a/b")
    return found
