"""What all nodes of a ring have alike, besides what is declared: secrets, topic namespaces, and who may do what.

Whatever is put at one is put at all of them before that is answered; a node that comes gets it from those that are
there. Users are changed in the data directory of any one node, by commands: all of them go to the others soon after.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec

from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import AllCommon, Common
from tocsin.model.access import Account
from tocsin.routing.ring.roster import Roster
from tocsin.store.database import Store

USERS = "users"
STAMP, SHARED = "ring_users", "ring_users_shared"  # in the store: which users these are, and as of which version
Entries = Mapping[str, bytes]


class Table(Protocol):
    """Of one kind, by name."""

    def entries(self) -> Entries: ...

    async def take(self, name: str, value: bytes | None) -> None:
        """As another node has it, on disk when it returns; None for what is no more."""
        ...


class Commons:
    def __init__(self, circle: Circle, asking: Asking, store: Store, tables: Mapping[str, Table]) -> None:
        self._circle, self._asking, self._store, self._tables = circle, asking, store, tables

    async def spread(self, kind: str, name: str, value: bytes | None) -> None:
        """At all others, as it is at this one."""
        if self._circle.is_alone or not self._circle.is_in:
            return

        async def attempt(roster: Roster) -> None:
            others = [each for each in roster.members if each.name != self._circle.me]
            said = Common(number_of(roster), kind, name, value)
            await asyncio.gather(*(self._asking.tell(each, said) for each in others))

        await self._circle.agreed(attempt)

    async def take(self, said: Common) -> None:
        if said.kind == USERS:
            await asyncio.to_thread(self._take_users, said.value)
        elif (table := self._tables.get(said.kind)) is not None:
            await table.take(said.name, said.value)

    def all(self) -> tuple[Common, ...]:
        found = [
            Common(0, kind, name, value)
            for kind, table in self._tables.items()
            for name, value in table.entries().items()
        ]
        return (*found, Common(0, USERS, "", self._users(int(self._store.meta(STAMP) or 0))))

    async def gather(self, number: int) -> None:
        """What others have and this node does not know."""
        for each in self._circle.others():
            for said in await self._asking.ask(each, AllCommon(number), tuple[Common, ...]):
                known = self._tables[said.kind].entries() if said.kind in self._tables else {}
                if said.name not in known:
                    await self.take(said)

    async def share_users(self) -> None:
        """If they were changed here. A node that never knew any has nothing to say of them."""
        version = str(await asyncio.to_thread(self._store.users.version))
        if version in ("0", self._store.meta(SHARED)) or self._circle.is_alone or not self._circle.is_ready:
            return
        stamp = int(self._store.meta(STAMP) or 0) + 1
        await self.spread(USERS, "", await asyncio.to_thread(self._users, stamp))
        self._store.set_meta(STAMP, str(stamp))
        self._store.set_meta(SHARED, version)

    def _users(self, stamp: int) -> bytes:
        return msgspec.msgpack.encode((stamp, self._store.users.all()))

    def _take_users(self, value: bytes | None) -> None:
        """The later stamp holds, and of two that were made at the same time the same one at all nodes; a node that was
        in no ring before takes those of its first."""
        stamp, accounts = msgspec.msgpack.decode(value or b"", type=tuple[int, tuple[Account, ...]])
        known, mine = self._store.meta(STAMP), self._store.users.all()
        if (known is not None and (stamp, _text(accounts)) <= (int(known), _text(mine))) or (stamp, accounts) == (
            0,
            (),
        ):
            return
        if accounts != mine:
            self._store.users.replace_all(accounts)
        self._store.set_meta(STAMP, str(stamp))
        self._store.set_meta(SHARED, str(self._store.users.version()))


def _text(accounts: tuple[Account, ...]) -> bytes:
    return msgspec.msgpack.encode(accounts, order="deterministic")
