"""What becomes of the views of a node that is no more, where another node of the ring goes on for it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from tocsin.routing.reply.harvester import HEAD, Head
from tocsin.routing.reply.messages import RELAY, Forwarded, Opened
from tocsin.routing.reply.register import REGISTER

Rows = Mapping[str, Any]
NOWHERE = -1  # as a place: those of the other node's log mean nothing here


def inherited(machines: Iterable[tuple[str, Rows]]) -> Iterator[tuple[str, Rows]]:
    """The views among them, and what is remembered of each. What was opened since stands in the register too."""
    registered: dict[str, Rows] = {}
    opened: dict[str, Rows] = {}
    for name, rows in machines:
        kind = name.partition("@")[0]
        if kind == REGISTER:
            registered |= {each.request.view: {HEAD: Head(each)} for row in rows.values() for each in row.opened}
        elif kind != RELAY and HEAD in rows:
            opened[kind] = rows
    for view, rows in (registered | opened).items():
        yield view, {key: _moved(row) for key, row in rows.items()}


def _moved(row: Any) -> Any:
    match row:
        case Forwarded():
            return replace(row, at=NOWHERE)
        case Opened():
            return replace(row, forwarded=tuple(map(_moved, row.forwarded)))
        case Head():
            return replace(row, opened=_moved(row.opened))
    return row
