"""One answer for a whole ring: each node is asked what it says for itself, and a resource merges that.

A node that does not answer is named: in the field `missing` where the document has one, and in a header always.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request

from tocsin.broker.node import Node
from tocsin.broker.ring.messages import Forward, Forwarded
from tocsin.broker.ring.ring import Ring
from tocsin.doors.api.parameters import MOST_ITEMS
from tocsin.wire.asgi import read_body

ALONE = "tocsin-alone"  # the header by which a node is asked for what it has itself
MISSING = "Tocsin-Missing"
SECONDS = 10.0
DEFAULT_LIMIT = 100
_NOT_THERE = 404


class Share:
    """What one node answers for itself."""

    def __init__(self, node: str, answer: Forwarded, kind: Any) -> None:
        self.node, self._answer, self._kind = node, answer, kind

    @cached_property
    def document(self) -> Any:
        return self.read(self._kind)

    def read(self, kind: Any) -> Any:
        return msgspec.json.decode(self._answer.body, type=kind)

    def header(self, name: bytes) -> str:
        found = (value.decode("latin-1") for key, value in self._answer.headers if key.lower() == name)
        return next(found, "")


class Answers(Struct, frozen=True):
    """Those of this node and of all others that have what is asked for. `refusal` where there is none to merge, or
    where this node refuses."""

    given: Sequence[tuple[str, Forwarded]]
    missing: Sequence[str]
    refusal: Forwarded | None

    def shares(self, kind: Any) -> list[Share]:
        return [Share(node, each, kind) for node, each in self.given]


Merge = Callable[[Sequence[Share], Mapping[str, str]], Any]


def ring_asked(node: Node, request: Request) -> Ring | None:
    """The ring that is to answer; None where this node answers for itself."""
    ring = node.ring
    return None if ring is None or ALONE in request.headers or not ring.has_others else ring


def node_name(node: Node) -> str:
    """How this node is called in documents; not at all where there is no other."""
    return str(node.journal.node) if node.ring is not None and node.ring.has_others else ""


async def everywhere(ring: Ring, request: Request, body_limit: int) -> Answers:
    asked = await _asked(request, body_limit)
    others = ring.circle.others()
    own = ring.forwarding.door(asked, asyncio.Event())
    mine, *said = await asyncio.gather(own, *(ring.forwarding.forwarded(each, asked, SECONDS) for each in others))
    assert mine is not None
    answered = [(ring.circle.me, mine), *zip((each.name for each in others), said, strict=True)]
    given = [(name, each) for name, each in answered if each is not None and each.status < 300]
    missing = [name for name, each in answered if each is None or 300 <= each.status != _NOT_THERE]
    refused = mine.status >= 300 and (mine.status != _NOT_THERE or not given)
    return Answers(given, missing, mine if refused else None)


async def _asked(request: Request, body_limit: int) -> Forward:
    scope = request.scope
    body = await read_body(scope, request.receive, body_limit)
    headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-encoding", b"content-length")]
    return Forward(
        "GET" if request.method == "HEAD" else request.method,
        scope["path"],
        scope["query_string"],
        (*headers, (ALONE.encode(), b"true")),
        body,
        str(scope["client"][0]) if scope.get("client") else "",
        scope.get("scheme", "http"),
    )


# What resources merge by

Item = TypeVar("Item")


class Paged(Protocol):
    @property
    def items(self) -> list[Any]: ...

    @property
    def next(self) -> str | None: ...


def page_of(
    pages: Sequence[Paged], query: Mapping[str, str], name: Callable[[Any], str], one: Callable[[list[Any]], Any]
) -> tuple[list[Any], str | None]:
    """The first of all pages that are sorted by `name`, and what comes next; `one` is made of those of the same name.

    Behind where a page ended its node may have more, so nothing is told of that yet.
    """
    ends = [page.next for page in pages if page.next is not None]
    found: dict[str, list[Any]] = {}
    for page in pages:
        for each in page.items:
            found.setdefault(name(each), []).append(each)
    upto, limit = min(ends, default=None), limit_in(query)
    names = sorted(each for each in found if upto is None or each <= upto)
    following = names[limit - 1] if len(names) > limit else upto
    return [one(found[each]) for each in names[:limit]], following


def limit_in(query: Mapping[str, str]) -> int:
    """As each node has read it."""
    asked = query.get("limit", "")
    return max(1, min(int(asked), MOST_ITEMS)) if asked.isdecimal() else DEFAULT_LIMIT


def first(items: Sequence[Item]) -> Item:
    return items[0]


def union(shares: Iterable[Share], name: Callable[[Any], str]) -> list[Any]:
    """Of what all nodes have, each once, as the first tells of it."""
    found: dict[str, Any] = {}
    for share in shares:
        for each in share.document.items:
            found.setdefault(name(each), each)
    return [found[each] for each in sorted(found)]


def sums(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Numbers are added, whatever else is there is as the first says."""
    total: dict[str, Any] = {}
    for key in dict.fromkeys(key for each in documents for key in each):
        values = [each[key] for each in documents if key in each]
        total[key] = sums(values) if isinstance(values[0], dict) else _sum(values)
    return total


def _sum(values: Sequence[Any]) -> Any:
    number = type(values[0]) in (int, float) and all(type(each) in (int, float) for each in values)
    return sum(values) if number else values[0]
