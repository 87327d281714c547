"""Which dialect a message is in, and the rules that read and write it."""

from msgspec import Struct

from tocsin.mediation import between_nodes, faults
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.operations import Answer, Context, Done, Ended, Publish, Reply, Request
from tocsin.mediation.registry import BY_NAME as BY_NAME
from tocsin.mediation.registry import DIALECTS as DIALECTS
from tocsin.mediation.registry import NAMES as NAMES
from tocsin.mediation.registry import OPERATIONS as OPERATIONS
from tocsin.mediation.registry import Operation
from tocsin.mediation.rules import Dialect
from tocsin.mediation.soap import answers as answering
from tocsin.mediation.soap import requests as asking
from tocsin.mediation.soap.notices import Reading as Reading
from tocsin.mediation.soap.notices import normalise as normalise
from tocsin.mediation.soap.notices import open_in_full as open_in_full
from tocsin.mediation.soap.notices import open_soap as open_soap
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.soap.templates import Written as Written
from tocsin.mediation.soap.templates import customise as customise
from tocsin.mediation.topics import PUBLISH_DOOR as PUBLISH_DOOR
from tocsin.mediation.ws import wse_2004_08
from tocsin.model.identity import Instant, Pairs
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint

EVENT_MEDIA_TYPES = {kind: each.name for each in DIALECTS for kind in each.media_types}

_NAMESPACES = {clark[1:].partition("}")[0]: dialect.name for clark, (dialect, _) in OPERATIONS.items()}


class SoapRequest(Struct, frozen=True):
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


def hear(envelope: Envelope, name: str, now: Instant) -> SoapRequest:
    """`name` is the id in the address, empty when it names none."""
    dialect, message = operation_of(envelope)
    context = envelope.context(dialect.name)
    if message.operation == "Notify":
        return SoapRequest(context, Publish())
    return SoapRequest(context, asking.request(dialect, message, envelope, name, now))


def answer(context: Context, result: Answer, base_url: str) -> Reply:
    dialect, message = OPERATIONS[context.operation]
    return answering.reply(dialect, message, context, result, base_url)


# Their publishers wait for more than that their message was accepted.
ANSWERED = frozenset(each.name for each in DIALECTS if each.wrapped is not None and each.wrapped.answer is not None)


def acknowledged(reading: Reading, dialect: str, base_url: str) -> Reply | None:
    """What is said to a publisher; None where it waits for nothing."""
    context = reading.context(dialect)
    found, message = OPERATIONS.get(context.operation, (None, None))
    if dialect not in ANSWERED or found is None or message is not BY_NAME[dialect].wrapped:
        return None
    return answer(context, Done(), base_url)


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


def takes_several(name: str, *, wrapped: bool) -> bool:
    """Whether one message has room for several notifications: a batch of CloudEvents, a Notify, what goes to a node."""
    notify = BY_NAME[name].wrapped if wrapped else None
    return name in (cloudevents.NAME, between_nodes.NAME) or (notify is not None and notify.holder is not None)


def outgoing(name: str) -> Dialect:
    """One that consumers and services can be told in; in others things are published only."""
    found = BY_NAME.get(name)
    if found is None or name not in NAMES:
        text = f"{name[:80]!r} is not a dialect to be told in; choose one of {', '.join(NAMES)}"
        raise Refusal("unsupported-delivery", text)
    return found
