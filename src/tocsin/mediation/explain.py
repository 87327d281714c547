"""Which action was taken for each entry: tables 3 and 4 of WS-Messenger, applied to one message."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from tocsin.mediation import dialects
from tocsin.mediation.rules import Dialect, Entry, Message
from tocsin.mediation.soap import notices
from tocsin.mediation.soap.soap import action_of
from tocsin.mediation.times import timestamp
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.subscription import Subscription

Action = Literal["transform", "add default", "no action", "ignore"]
# The normalised information set of a notification, and what it cannot do without.
SET = ("message_id", "topic", "producer", "action", "type", "attributes", "when", "payload")
REQUIRED = ("message_id", "topic", "when", "payload")


class Step(Struct, frozen=True):
    """`place` is where in the message, empty where it has no place for the entry."""

    entry: str
    action: Action
    place: str
    value: str


def incoming(defined: bool, available: bool, required: bool) -> Action:
    """Table 3: from an entry of the message to one of the set."""
    if defined and available:
        return "transform"
    return "add default" if required else "no action"


def outgoing(defined: bool, available: bool, required: bool) -> Action:
    """Table 4: from an entry of the set to one of the message."""
    if available:
        return "transform" if defined else "ignore"
    return "add default" if defined and required else "no action"


def entries_of(dialect: Dialect, *, wrapped: bool = True) -> dict[str, Entry]:
    """The notification's table; of several places for an entry the first."""
    message = message_for(dialect, wrapped=wrapped)
    found: dict[str, Entry] = {}
    for entry in dialect.entries if message is None else message.entries:
        # the action of a message that has its own says nothing of the event
        if not (entry.header and entry.name == "action" and message is not None and message.action):
            found.setdefault(entry.name, entry)
    if message is not None:
        found.setdefault("type", found["payload"])  # the name of the payload's element
    return found


def message_for(dialect: Dialect, *, wrapped: bool = True) -> Message | None:
    return (dialect.wrapped if wrapped else dialect.raw) or dialect.raw or dialect.wrapped


def normalising(record: Accepted, read: Notification) -> list[Step]:
    """What became of each entry when the record was read into that notification."""
    dialect = dialects.BY_NAME[record.dialect]
    wrapped = _is_wrapped(dialect, record)
    table, values = entries_of(dialect, wrapped=wrapped), values_of(read)
    given, elsewhere = _given(record, read), _elsewhere(dialect, record, read)
    steps = [
        Step(
            name,
            incoming(name in table, name in given, name in REQUIRED),
            elsewhere.get(name) or place(dialect, table.get(name), wrapped=wrapped),
            values.get(name, ""),
        )
        for name in SET
    ]
    others = (entry for name, entry in table.items() if name not in SET)
    return steps + [Step(e.name, "ignore", place(dialect, e, wrapped=wrapped), "") for e in others]


def _elsewhere(dialect: Dialect, record: Accepted, read: Notification) -> dict[str, str]:
    """What the reader found at another place than the first its table names."""
    if not dialect.is_soap:
        return {}
    envelope = dialects.open_in_full(record.body)
    found = notices.children_of(dialect, envelope, read.index)
    places = {}
    if read.producer and "producer" not in found and "from" in envelope.headers:
        places["producer"] = "Header/wsa:From"
    if read.topic != NO_TOPIC and "topic" not in found and "topic" not in envelope.headers:
        places["topic"] = "the tail of the address"
    return places


def customising(said: Notification, subscription: Subscription) -> list[Step]:
    """What becomes of each entry when the notification is written for that subscription."""
    dialect, wrapped = dialects.BY_NAME[subscription.form.dialect], subscription.form.wrapped
    table, values = entries_of(dialect, wrapped=wrapped), available(said)
    shown = values_of(said)
    steps = []
    for name in SET:
        entry = table.get(name)
        action = outgoing(entry is not None, name in values, entry is not None and entry.required)
        value = shown.get(name, "") if action in ("transform", "ignore") else _default(said, entry)
        steps.append(Step(name, action, place(dialect, entry, wrapped=wrapped), value))
    return steps + list(_of_subscription(dialect, table, subscription, wrapped))


def _default(said: Notification, entry: Entry | None) -> str:
    if entry is None or not entry.required:
        return ""
    return action_of(said) if entry.name == "action" else entry.default or ""


def _of_subscription(
    dialect: Dialect, table: dict[str, Entry], subscription: Subscription, wrapped: bool
) -> Iterator[Step]:
    values = {
        "consumer": subscription.consumer.address if subscription.consumer else "",
        "subscription": subscription.id,
    }
    for name, value in values.items():
        entry = table.get(name)
        yield Step(name, outgoing(entry is not None, bool(value), False), place(dialect, entry, wrapped=wrapped), value)


def available(said: Notification) -> dict[str, str]:
    """The entries that have a value of their own; a reserved topic is none."""
    found = values_of(said)
    if said.topic == NO_TOPIC:
        del found["topic"]
    return found


def values_of(said: Notification) -> dict[str, str]:
    size = len(said.payload.data)
    values = {
        "message_id": said.id,
        "topic": str(said.topic),
        "producer": said.producer,
        "action": action_of(said) if said.attribute("action") else "",
        "type": "" if said.type is None else str(said.type),
        "attributes": ", ".join(f"{name}={value}" for name, value in said.attributes if name != "action"),
        "when": said.attribute("time") or timestamp(said.when),
        "payload": f"{size:,} byte{'' if size == 1 else 's'} of {said.payload.media_type or 'no media type'}",
    }
    return {name: value for name, value in values.items() if value}


def _given(record: Accepted, read: Notification) -> set[str]:
    """What the message itself said; the rest was added."""
    given = set(available(read)) - {"when"}
    if read.id.startswith(f"urn:uuid:{record.cause}"):
        given.discard("message_id")
    return given | ({"when"} if read.attribute("time") else set())


def _is_wrapped(dialect: Dialect, record: Accepted) -> bool:
    if dialect.wrapped is None:
        return False
    return notices.message_of(dialect, dialects.open_in_full(record.body)) is dialect.wrapped


def place(dialect: Dialect, entry: Entry | None, *, wrapped: bool = True) -> str:
    """Where an entry stands, from the envelope down."""
    if entry is None:
        return ""
    message = message_for(dialect, wrapped=wrapped)
    if message is None:
        return str(entry)
    if entry.header:
        return f"Header/{entry}"
    steps = ["Body", *(str(each) for each in (message.element, message.holder) if each), *map(str, entry.path)]
    return "/".join(steps)
