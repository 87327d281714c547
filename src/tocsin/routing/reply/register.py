"""The register of publications that ask for replies and have none yet: many are remembered in one row.

Most of what a harvester does begins with the first reply. Until then it is enough to know what it would be opened with.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.machine import Effect, Expire, Forget, Remember, Report
from tocsin.routing.reply.messages import Opened

REGISTER = "register"


class Registered(Struct, frozen=True):
    """They are all there is to know of these for now."""

    opened: tuple[Opened, ...]

    @property
    def last(self) -> Instant:
        return max(each.request.until for each in self.opened)


class Written(Struct, frozen=True):
    """Reported of what was registered."""

    views: tuple[str, ...]


class Register:
    """Rows are named by the first view in them, and forgotten when none of them can be seen any more."""

    def __init__(self, rows: Mapping[str, Any]) -> None:
        self._rows: dict[str, Registered] = dict(rows)

    def opened(self) -> Iterator[Opened]:
        for row in self._rows.values():
            yield from row.opened

    def step(self, message: Any, now: Instant) -> list[Effect]:
        del now
        match message:
            case Registered(opened) if opened:
                key = opened[0].request.view
                self._rows[key] = message
                return [Remember(key, message), Report(Written(tuple(each.request.view for each in opened)))]
            case Expire(before):
                old = [key for key, row in self._rows.items() if row.last < before]
                for key in old:
                    del self._rows[key]
                return [Forget(key) for key in old]
        return []


def register_of(node: str) -> str:
    """The name of the machine."""
    return f"{REGISTER}@{node}"
