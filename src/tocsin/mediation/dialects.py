"""Which dialect a message is in, and the rules that read and write it."""

from collections.abc import Mapping
from functools import partial

from msgspec import Struct

from tocsin.mediation import faults
from tocsin.mediation.operations import Answer, Context, Done, Ended, Reply, Request
from tocsin.mediation.registry import BY_NAME as BY_NAME
from tocsin.mediation.registry import DIALECTS as DIALECTS
from tocsin.mediation.registry import NAMES as NAMES
from tocsin.mediation.rules import Dialect, Message, Write
from tocsin.mediation.soap import answers as answering
from tocsin.mediation.soap import notices, soap, templates
from tocsin.mediation.soap import requests as asking
from tocsin.mediation.soap.memo import EnvelopeMemo, Recalled
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.topics import PUBLISH_DOOR as PUBLISH_DOOR
from tocsin.mediation.topics import topic_of_door
from tocsin.mediation.ws import wse_2004_08
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import Instant, Pairs
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription

EVENT_MEDIA_TYPES = {kind: each.name for each in DIALECTS for kind in each.media_types}

Operation = tuple[Dialect, Message]
OPERATIONS: Mapping[str, Operation] = {
    message.element.clark: (dialect, message)
    for dialect in DIALECTS
    for message in dialect.requests
    if message.element is not None
}

_NAMESPACES = {clark[1:].partition("}")[0]: dialect.name for clark, (dialect, _) in OPERATIONS.items()}


def _headers() -> soap.Headers:
    """What the tables read from headers, besides WS-Addressing; the name of an id is the same for all dialects."""
    own = {
        entry.path[-1].clark: (entry.name, None)
        for dialect in DIALECTS
        for message in (dialect.wrapped, dialect.raw)
        for entry in (message.entries if message else ())
        if entry.header and entry.path[-1].prefix != "wsa"
    }
    ids = {dialect.identifier.clark: ("identifier", None) for dialect in DIALECTS if dialect.identifier}
    return {**soap.HEADERS, **own, **ids}


_HEADERS = _headers()


class Heard(Struct, frozen=True):
    """A SOAP request as far as the node needs it: whom to answer, and what is asked."""

    context: Context
    request: Request


def operation_of(envelope: Envelope) -> Operation:
    """By the first body child alone: real clients send other actions, or none."""
    found = OPERATIONS.get(envelope.operation)
    if found is None:
        shown = envelope.operation or "an empty Body"
        raise Refusal("unknown-operation", f"{shown} is not an operation of this broker; post events to {PUBLISH_DOOR}")
    return found


def dialect_of(envelope: Envelope) -> str:
    return operation_of(envelope)[0].name


def dialect_of_namespace(envelope: Envelope) -> str | None:
    """Of an operation that we do not have: the dialect whose it would be."""
    return _NAMESPACES.get(envelope.operation[1:].partition("}")[0])


def mentioned_in(body: bytes) -> str | None:
    """Of a message that cannot be read: the dialect it seems to be in.

    Events of WS-Eventing borrow their Topic from WS-Notification, so who borrows comes before who lends.
    """
    found = [dialect for dialect in DIALECTS if any(each.encode() in body for each in _own(dialect))]
    lent = {each for dialect in found for each in _in_headers(dialect) - _own(dialect)}
    return next((each.name for each in (*(one for one in found if not _own(one) & lent), *found)), None)


def _own(dialect: Dialect) -> set[str]:
    return {message.element.namespace for message in dialect.requests if message.element is not None}


def _in_headers(dialect: Dialect) -> set[str]:
    entries = dialect.raw.entries if dialect.raw is not None else ()
    return {entry.path[-1].namespace for entry in entries if entry.header}


def event_dialect(envelope: Envelope) -> str:
    """Of an envelope at the door for events: a notification's own, else it is an event of WS-Eventing."""
    dialect, message = OPERATIONS.get(envelope.operation, (wse_2004_08.DIALECT, None))
    return dialect.name if message is not None and message is dialect.wrapped else wse_2004_08.NAME


def hear(envelope: Envelope, name: str, now: Instant) -> Heard:
    """`name` is the id in the address, empty when it names none."""
    dialect, message = operation_of(envelope)
    return Heard(envelope.context(dialect.name), asking.request(dialect, message, envelope, name, now))


def answer(context: Context, result: Answer, base_url: str) -> Reply:
    dialect, message = OPERATIONS[context.operation]
    return answering.reply(dialect, message, context, result, base_url)


def acknowledged(reading: "Reading", dialect: str, base_url: str) -> Reply | None:
    """What is said to a publisher; None where it waits for nothing but that its message was accepted."""
    message = BY_NAME[dialect].wrapped
    if message is None or message.answer is None or message.element is None:
        return None
    context = reading.context(dialect)
    return answer(context, Done(), base_url) if context.operation == message.element.clark else None


def fault(context: Context, refusal: Refusal, now: Instant) -> Reply:
    """In the dialect that was spoken, as far as it can be told."""
    dialect, message = OPERATIONS.get(context.operation, (BY_NAME[context.dialect], None))
    dialect = BY_NAME.get(context.faults, dialect)
    operation = "" if message is None else message.fact("faults") or message.operation
    return faults.fault(dialect, operation, context, refusal, now)


def end_notice(ended: Ended, base_url: str) -> tuple[Endpoint, Pairs, bytes] | None:
    """What goes out, and where, when a subscription ends that its subscriber did not end; None where nothing does."""
    dialect = BY_NAME.get(ended.subscription.form.dialect)
    return None if dialect is None else answering.end_notice(dialect, ended, base_url)


def outgoing(name: str) -> Dialect:
    """One that consumers and services can be told in; in others things are published only."""
    found = BY_NAME.get(name)
    if found is None or name not in NAMES:
        text = f"{name[:80]!r} is not a dialect to be told in; choose one of {', '.join(NAMES)}"
        raise Refusal("unsupported-delivery", text)
    return found


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    write = _WRITERS.get(subscription.form.dialect)
    if write is None:
        raise Refusal("unsupported-delivery", f"no rules to write {subscription.form.dialect!r}")
    return write(notification, subscription, base_url)


def _writer(dialect: Dialect) -> Write | None:
    return partial(templates.customise, dialect) if dialect.is_soap else dialect.write


_WRITERS = {each.name: _writer(each) for each in DIALECTS}


Reading = Envelope | Recalled
_MEMO = EnvelopeMemo(OPERATIONS)


def open_soap(door: str, body: bytes) -> Reading:
    return _MEMO.recall(door, body) or open_in_full(body)


def open_in_full(body: bytes) -> Envelope:
    return soap.open_envelope(body, _HEADERS)


def normalise(record: Accepted, reading: Reading | None = None) -> tuple[Notification, ...]:
    """The notifications of an accepted request; pure, the same at the door and on Spark."""
    dialect = BY_NAME.get(record.dialect)
    if dialect is None:
        raise Refusal("malformed", f"no rules to read {record.dialect!r}")
    if dialect.read is not None:
        return dialect.read(record)
    if reading is None:
        reading = open_soap(record.door, record.body)
    if type(reading) is Recalled and reading.dialect == record.dialect:
        return (reading.notification(record),)
    envelope = reading if isinstance(reading, Envelope) else open_in_full(record.body)
    return _read_in_full(dialect, record, envelope)


def _read_in_full(dialect: Dialect, record: Accepted, reading: Envelope) -> tuple[Notification, ...]:
    found = notices.notifications(dialect, record, reading, topic_of_door(record.door))
    # Who proves who it is in the envelope is asked again each time.
    # Content topics are where messages differ.
    repeats = "security" not in reading.headers and found[0].attribute(CONTENT_TOPIC) is None
    if len(found) == 1 and repeats and _MEMO.is_worth_it(record, found[0]):
        holder, action = notices.payload_parent(dialect, reading), notices.keeps_action(dialect, reading)
        _MEMO.learn(record, reading, holder, action, found[0])
    return found
