"""`docs/mediation.md`, from the tables: `make docs` writes it, and a test says when it is stale."""

import sys
from collections.abc import Iterable, Sequence

from tocsin.mediation import explain, losses
from tocsin.mediation.dialects import DIALECTS
from tocsin.mediation.explain import entries_of, message_for, place
from tocsin.mediation.rules import Dialect, Entry, Message
from tocsin.mediation.soap.namespaces import WSA_NAMESPACES
from tocsin.model.names import NO_TOPIC

_HEAD = """# Mediation

*Written by `make docs` from the rule tables in `src/tocsin/mediation`; do not edit.*

A message is **normalised** from the dialect it came in, and **customised** into the dialect of each subscriber. Both
go by tables: an entry has a name in the normalised information set and a path in the message. Which action an entry
gets is the paper's (WS-Messenger, tables 3 and 4):

| normalising | the set requires it | it is optional there |
|---|---|---|
| the message has it | transform | transform |
| the message could have it, and has not | add default | no action |
| the message has no place for it | add default | no action |

| customising | the message requires it | it is optional there | there is no place for it |
|---|---|---|---|
| it has a value | transform | transform | ignore |
| it has none | add default | no action | no action |

`tocsin mediate FILE --to DIALECT --explain` shows the actions for one message. The chapters are the seven kinds of
difference between the specifications that the paper names; the last one goes through all pairs.
"""


def document() -> str:
    soap = [each for each in DIALECTS if each.is_soap]
    chapters = (
        _HEAD,
        _dialects(DIALECTS),
        _operation_names(soap),
        _element_names(soap),
        _namespaces(soap),
        _addressing(soap),
        _content(soap),
        _structure(DIALECTS),
        _location(DIALECTS),
        _pairs(DIALECTS),
    )
    return "\n".join(chapters)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(each.replace('|', chr(92) + '|') for each in line)} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _dialects(dialects: Sequence[Dialect]) -> str:
    rows = [(_code(each.name), each.title, _forms(each)) for each in dialects]
    return "\n## The dialects\n\n" + _table(("name", "specification", "a notification can be"), rows)


def _forms(dialect: Dialect) -> str:
    if not dialect.is_soap:
        return "read and written" if dialect.write else "read"
    forms = [name for name, message in (("wrapped", dialect.wrapped), ("raw", dialect.raw)) if message]
    return ", ".join(forms)


def _operations(dialects: Iterable[Dialect]) -> list[str]:
    return list(dict.fromkeys(message.operation for each in dialects for message in each.requests))


def _named(dialect: Dialect, operation: str) -> list[Message]:
    return [message for message in dialect.requests if message.operation == operation]


def _operation_names(dialects: Sequence[Dialect]) -> str:
    rows = [
        (operation, *("<br>".join(_code(str(m.element)) for m in _named(each, operation)) for each in dialects))
        for operation in _operations(dialects)
    ]
    text = (
        "\n## 1. Operation names\n\nA request is known by the first element of its body, whatever its action says."
        " Where a specification has no GetStatus, GetProperties with the termination time says the same.\n\n"
    )
    return text + _table(("operation", *(each.name for each in dialects)), rows)


def _element_names(dialects: Sequence[Dialect]) -> str:
    text = (
        "\n## 2. Element names\n\nThe entries of each request and its answer. **Bold** is required; after `=` stands"
        " the default. What no table names is ignored.\n"
    )
    for operation in _operations(dialects):
        if operation == "Notify":
            continue
        spoken = [(each, message) for each in dialects for message in _named(each, operation)]
        head = ("entry", *(f"{each.name} {_code(str(message.element))}" for each, message in spoken))
        asked = _entry_rows([message for _, message in spoken])
        told = _entry_rows([message.answer for _, message in spoken])
        text += f"\n### {operation}\n\n" + (_table(head, asked) if asked else "It has no entries.\n")
        text += "\nand its answer\n\n" + _table(head, told) if told else ""
    return text


def _entry_rows(messages: Sequence[Message | None]) -> list[Sequence[str]]:
    tables = [{entry.name: entry for entry in (message.entries if message else ())} for message in messages]
    names = dict.fromkeys(name for table in tables for name in table)
    return [(name, *(_entry(table.get(name)) for table in tables)) for name in names]


def _entry(entry: Entry | None) -> str:
    if entry is None:
        return ""
    shown = _code(str(entry)) if entry.path else "its content"
    shown = f"**{shown}**" if entry.required else shown
    return f"{shown} = {_code(entry.default)}" if entry.default else shown


def _namespaces(dialects: Sequence[Dialect]) -> str:
    found: dict[tuple[str, str], dict[str, None]] = {}
    for dialect in dialects:
        for message in (*dialect.requests, dialect.wrapped, dialect.raw, dialect.end):
            for name in _names_in(message):
                found.setdefault(name, {})[dialect.name] = None
    rows = [(_code(prefix), _code(uri), ", ".join(users)) for (prefix, uri), users in sorted(found.items())]
    text = "\n## 3. Namespaces\n\nPrefixes in this document; on the wire anybody may choose others.\n\n"
    return text + _table(("prefix", "namespace", "in"), rows)


def _names_in(message: Message | None) -> Iterable[tuple[str, str]]:
    if message is None:
        return
    names = [name for name in (message.element, message.holder) if name]
    names += [name for entry in message.entries for name in entry.path if not name.local.startswith("@")]
    yield from ((name.prefix, name.namespace) for name in names if name.prefix != "wsa")


def _addressing(dialects: Sequence[Dialect]) -> str:
    rows = []
    for each in dialects:
        wsa = each.addressing or ""
        identifier = (
            f"{_code(str(each.identifier))} for {', '.join(sorted(each.identifier_for))}" if each.identifier else ""
        )
        rows.append((_code(each.name), wsa, _code(WSA_NAMESPACES.get(wsa, "")), identifier or "in the path alone"))
    text = (
        "\n## 4. WS-Addressing\n\nEvery dialect is understood with every version; an answer, and what is delivered"
        " later, is in the version of the request. The version below is for those who send none. The id of a"
        " subscription is always in the path of its address; some clients also need it as a reference parameter.\n\n"
    )
    return text + _table(("dialect", "version", "namespace", "id as reference parameter"), rows)


def _content(dialects: Sequence[Dialect]) -> str:
    text = (
        "\n## 5. Content\n\nThe same element can need another content: actions, the kind of a lease, the names of"
        " topic dialects.\n\n"
    )
    actions = [
        (operation, *(_code(_action(each, operation)) for each in dialects)) for operation in _operations(dialects)
    ]
    leases = ["as it was asked for" if each.leases == "as asked" else "a time" for each in dialects]
    topics = ["<br>".join(_code(uri) for uri in each.topic_dialects if uri) for each in dialects]
    rows = [*actions, ("a lease is told as", *leases), ("dialect of a topic of one step, of more", *topics)]
    return text + _table(("", *(each.name for each in dialects)), rows)


def _action(dialect: Dialect, operation: str) -> str:
    return next((message.action for message in _named(dialect, operation)), "")


def _structure(dialects: Sequence[Dialect]) -> str:
    rows = []
    for dialect in dialects:
        for form, wrapped in (("wrapped", True), ("raw", False)):
            message = dialect.wrapped if wrapped else dialect.raw
            if dialect.is_soap and message is None:
                continue
            if not dialect.is_soap and not wrapped:
                continue
            entry = entries_of(dialect, wrapped=wrapped).get("payload")
            repeated = "several" if message is not None and message.holder else "one"
            where = place(dialect, entry, wrapped=wrapped) or "the body"
            rows.append((_code(dialect.name), form if dialect.is_soap else "", _code(where), repeated))
    text = "\n## 6. Structure\n\nWhere the payload stands, and how many notifications a message can hold.\n\n"
    return text + _table(("dialect", "form", "payload", "notifications"), rows)


def _location(dialects: Sequence[Dialect]) -> str:
    names = [name for name in explain.SET if name != "payload"]
    rows = [(name, *(_code(place(each, entries_of(each).get(name))) for each in dialects)) for name in names]
    text = (
        "\n## 7. Location\n\nWhere a notification has what is known of it, in its wrapped form where there is one. A"
        " message without a topic gets the one in the tail of the address it was sent to, else the reserved topic"
        f" {_code(str(NO_TOPIC))}: subscriptions to all topics and those that name none see it, no other"
        " does.\n\n"
    )
    return text + _table(("entry", *(each.name for each in dialects)), rows)


def _pairs(dialects: Sequence[Dialect]) -> str:
    text = (
        "\n## Every pair\n\nWhat happens to each entry of a notification on its way; *lost* says what arrives other"
        " than it was sent. Entries that are transformed and not listed as lost arrive as they were.\n"
    )
    for source in dialects:
        rows = [_pair(source, target) for target in dialects if target.is_soap or target.write]
        text += f"\n### From {source.title}\n\n" + _table(
            ("to", "transformed", "given a default if absent", "ignored", "lost"), rows
        )
    return text


def _pair(source: Dialect, target: Dialect) -> Sequence[str]:
    wrapped = target.wrapped is not None
    known, table = _known(source), entries_of(target, wrapped=wrapped)
    transformed = [name for name in explain.SET if name in known and name in table]
    defaulted = [name for name in explain.SET if name in table and table[name].default is not None]
    ignored = [name for name in explain.SET if name in known and name not in table]
    lost = [f"{field}: {what}" for a, b, field, what in losses.table() if (a, b) == _rooms(source, target)]
    return (
        _code(target.name),
        ", ".join(transformed),
        ", ".join(defaulted),
        ", ".join(ignored),
        "<br>".join(lost) or "nothing",
    )


def _rooms(source: Dialect, target: Dialect) -> tuple[str, str]:
    return losses.room_of(source.name), losses.room_of(target.name)


def _known(source: Dialect) -> set[str]:
    """What can be known of a notification from there: what it says, and what is made where it says nothing."""
    return set(entries_of(source, wrapped=message_for(source) is source.wrapped)) | set(explain.REQUIRED) | {"type"}


if __name__ == "__main__":
    sys.stdout.write(document())
