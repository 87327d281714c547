"""Copies of views: whatever is lost on the way or at a keeper, what was waited for is on its disk."""

import asyncio
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.copies import Copies
from tocsin.broker.ring.messages import Keep, Kept, OfViews
from tocsin.broker.ring.replicas import Replicas
from tocsin.broker.ring.view_copies import ViewCopies, folded
from tocsin.routing.ring.roster import Member, Roster
from tocsin.store.machines import RowBytes, Writing

MEMBERS = tuple(Member(name, at, f"{name}:1") for at, name in enumerate("abc"))


class Keepers:
    """Those that `Copies` would say, and what they keep; some of what is asked of them gets lost."""

    life = "0/a"

    def __init__(self, folder: Path, random: Random) -> None:
        self._folder, self._random, self._count = folder, random, 0
        self.names = ["b"]
        self.replicas: dict[str, Replicas] = {}
        self.failing = 0.0
        for name in "bc":
            self.lose(name)

    @property
    def is_needed(self) -> bool:
        return bool(self.names)

    def keepers(self) -> list[str]:
        return self.names

    def lose(self, name: str) -> None:
        self._count += 1
        self.replicas[name] = Replicas(self._folder / f"{name}{self._count}")

    async def ask(self, of: Member, request: OfViews, kind: type, seconds: float = 0.0) -> Kept:
        del kind, seconds
        if self._random.random() < self.failing:
            raise Unreachable("it is lost on the way")
        assert isinstance(request.request, Keep)
        kept = await self.replicas[of.name].keep(request.request)
        if self._random.random() < self.failing:
            raise Unreachable("its answer is lost")
        return kept

    def kept(self, name: str) -> dict[str, dict[str, bytes]]:
        return folded(self.replicas[name].copy(self.life, 0).payloads)


class Rows:
    """As a store has them."""

    def __init__(self) -> None:
        self.now: dict[str, dict[str, bytes]] = {}

    def written(self) -> list[RowBytes]:
        return [(name, key, body) for name, rows in self.now.items() for key, body in rows.items()]

    def change(self, random: Random) -> list[RowBytes]:
        name, key = random.choice("xyz"), random.choice("123")
        if random.random() < 0.1:
            self.now.pop(name, None)
            return [(name, None, None)]
        body = b"%d" % random.randrange(1000) if random.random() < 0.8 else None
        rows = self.now.setdefault(name, {})
        rows.pop(key, None) if body is None else rows.update({key: body})
        return [(name, key, body)]


@pytest.mark.parametrize("seed", range(5))
async def test_what_was_waited_for_is_kept(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.broker.ring.view_copies.AGAIN", 0.0)
    monkeypatch.setattr("tocsin.broker.ring.view_copies.MOST_RECENT", 300)
    random = Random(seed)
    keepers, rows, circle = Keepers(tmp_path, random), Rows(), Circle("a", lambda: True)
    await circle.take(Roster(1, MEMBERS))
    changes: list[RowBytes] = []
    copies = ViewCopies(
        circle, cast(Asking, keepers), cast(Copies, keepers), rows.written, lambda writing: list(changes)
    )
    keepers.failing = 0.3
    for _ in range(60):
        match random.randrange(12):
            case 0:
                keepers.names = random.choice((["b"], ["c"], ["b", "c"], []))
            case 1 if keepers.names:
                keepers.lose(random.choice(keepers.names))
            case _:
                changes = rows.change(random)
                copies.wrote(Writing(rows=cast(Any, {("x", "1"): None})))
        if random.random() < 0.4 and (waiting := copies.kept()) is not None:
            await waiting
    keepers.failing = 0.0
    changes = rows.change(random)
    copies.wrote(Writing(ended=["x"]))
    while (waiting := copies.kept()) is not None:
        await asyncio.wait_for(waiting, 10)
    for name in keepers.names:
        assert {each: kept for each, kept in keepers.kept(name).items() if kept} == {
            each: kept for each, kept in rows.now.items() if kept
        }
    for each in keepers.replicas.values():
        await each.close()
