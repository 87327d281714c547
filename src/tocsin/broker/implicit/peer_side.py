"""What other nodes of the world ask of this one: it takes what is for its machines, and tells them their part."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from tocsin.broker.implicit.registry import LocalRegistry
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.runtime.runtime import Runtime
from tocsin.semantics.interest.partition import Entry, Partition
from tocsin.store.database import Store
from tocsin.wire.peer_messages import SHORTEST_KEY, SKEW, BadKey, Registering

_META = "implicit_key"


def world_key(file: Path | None, store: Store) -> bytes:
    """Without a file one of its own, kept in the store, which is fit for a world of one node."""
    if file is not None:
        return _read(file)
    if (kept := store.meta(_META)) is None:
        kept = secrets.token_hex(32)
        store.set_meta(_META, kept)
    return kept.encode()


def _read(file: Path) -> bytes:
    try:
        key = file.read_bytes().strip()
    except OSError as problem:
        raise BadKey(f"implicit.key_file {file} cannot be read: {problem.strerror}") from problem
    if len(key) < SHORTEST_KEY:
        raise BadKey(
            f"implicit.key_file {file} has {len(key)} bytes; {SHORTEST_KEY} are the least:"
            f" `openssl rand -hex 32 > {file}` makes a good one"
        )
    return key


class Once:
    """What registers is taken once: somebody who overheard it and says it again would undo what came after."""

    def __init__(self, now: Callable[[], Instant]) -> None:
        self._now, self._since = now, now()
        self._heard: dict[str, Instant] = {}

    def take(self, asked: Registering) -> None:
        """From before this node began it may have been heard already; who means it says it again."""
        if asked.when < self._since:
            raise Refusal("overloaded", "the node that keeps the world has just begun; try again a little later")
        if asked.nonce in self._heard:
            raise Refusal("not-proven", f"this of {asked.name[:80]!r} was said before; it counts once")
        # Those whose proof is too old by now, wherever the clock of the other node stands
        old = self._now() - 2 * SKEW * SECOND
        for nonce in list(takewhile(lambda each: self._heard[each] < old, self._heard)):
            del self._heard[nonce]
        self._heard[asked.nonce] = self._now()


class PeerSide:
    """`runtimes` are those of the families that other nodes have machines of; `kept` is the world, where it is here."""

    def __init__(
        self,
        node: str,
        key: bytes,
        body_limit: int,
        runtimes: Mapping[str, Runtime[Any]],
        kept: LocalRegistry | None,
        now: Callable[[], Instant],
    ) -> None:
        self.key, self.body_limit, self.runtimes, self.now = key, body_limit, runtimes, now
        self._node, self._kept = node, kept
        self._once = Once(now)

    async def part(self, node: str, after: int, seconds: float) -> Partition | None:
        return await self._world().part_after(node, after, seconds)

    async def register(self, asked: Registering) -> Partition:
        world = self._world()
        self._once.take(asked)
        await world.register(asked)
        return world.part(asked.node)

    async def entries(self, names: Sequence[str]) -> Mapping[str, Entry]:
        return await self._world().look_up(names)

    def _world(self) -> LocalRegistry:
        if self._kept is None:
            raise Refusal("not-here", f"{self._node} does not keep the world; name another in implicit.registry")
        return self._kept
