"""What services asked of each other, and who told whom: on disk first, and what is not over in memory too."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from tocsin.broker.quantities import duration_text
from tocsin.model.identity import Instant, after
from tocsin.model.interactions import NO_DATA, Act, Interaction, Request
from tocsin.model.refusal import Refusal
from tocsin.routing.interaction import pattern
from tocsin.store.errors import StoreError
from tocsin.store.requests import RequestTable

NAMES = "urn:tocsin:request:"
_PAGE = 500
Row = TypeVar("Row")


class Records:
    """`live` are the requests that something can still come of, without what was asked: that may be large."""

    def __init__(self, table: RequestTable, now: Callable[[], Instant], kept_seconds: float) -> None:
        self._table, self._now, self._kept = table, now, kept_seconds
        self._live = {each.id: each for each in table.live()}

    @property
    def live(self) -> Collection[Request]:
        return self._live.values()

    async def get(self, request: str) -> Request:
        """By its id, or by that of the message that told of it: all that a service which speaks SOAP has of it."""
        request = request.removeprefix(NAMES)
        found = await _stored(lambda: self._table.get(request))
        if found is None:
            hint = f"what is over is forgotten after {duration_text(self._kept)}"
            raise Refusal("unknown-name", f"there is no request {request[:80]!r} here; {hint}")
        return found

    async def keep(self, requests: Iterable[Request], said: Interaction | None = None) -> None:
        rows, now = [(each, is_live(each)) for each in requests], self._now()
        await _stored(lambda: self._table.keep(rows, now, said))
        for each, live in rows:
            if live:
                self._live[each.id] = replace(each, data=NO_DATA)
            else:
                self._live.pop(each.id, None)

    async def drop(self, request: Request) -> None:
        self._live.pop(request.id, None)
        await _stored(lambda: self._table.remove(request.id))

    async def forget(self) -> None:
        """What is over, when it has been long enough."""
        await _stored(lambda: self._table.forget(after(self._now(), -self._kept)))

    def said(self, act: Act, request: Request, by: str, told: Sequence[str] = (), message: str = "") -> Interaction:
        known = (request.topic, request.id, message, request.producer)
        return Interaction(self._now(), request.pattern, act, by, tuple(told), *known)

    async def requests(self, after: int, limit: int, seen: Callable[[Request], bool]) -> list[tuple[int, Request]]:
        return await _pages(self._table.page, after, limit, seen)

    async def interactions(
        self, after: int, limit: int, request: str | None, seen: Callable[[Interaction], bool]
    ) -> list[tuple[int, Interaction]]:
        def page(after: int, limit: int) -> list[tuple[int, Interaction]]:
            return self._table.interactions(after, limit, request)

        return await _pages(page, after, limit, seen)


def is_live(request: Request) -> bool:
    return request.state == "open" or (request.state == "answered" and pattern(request.pattern).lasting)


def check_live(request: Request, what: str) -> Request:
    if not is_live(request):
        raise Refusal("over", f"request {request.id} was {request.state} before, and cannot be {what}; ask again")
    return request


async def _pages(
    page: Callable[[int, int], list[tuple[int, Row]]], after: int, limit: int, seen: Callable[[Row], bool]
) -> list[tuple[int, Row]]:
    """As many as are wanted of those that are seen, however many others lie between."""
    found: list[tuple[int, Row]] = []
    while len(found) < limit:
        rows = await _stored(partial(page, after, _PAGE))
        found += [row for row in rows if seen(row[1])]
        if len(rows) < _PAGE:
            break
        after = rows[-1][0]
    return found[:limit]


async def _stored(work: Callable[[], Row]) -> Row:
    try:
        return await asyncio.to_thread(work)
    except StoreError as problem:
        raise Refusal("cannot-store", f"it could not be stored, try again: {problem}") from None
