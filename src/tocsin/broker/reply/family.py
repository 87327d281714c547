"""The harvesters of this node, and the relay by which it passes on what is for others, as a runtime runs them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tocsin.model.identity import Instant
from tocsin.routing.machine import Effect
from tocsin.routing.reply.harvester import REPLY, Branch, Harvester, Head, Value
from tocsin.routing.reply.messages import (
    RELAY,
    Changed,
    Declined,
    Forwarded,
    Inherited,
    Look,
    NotReached,
    Opened,
    Passed,
    Reached,
    Replied,
    Reported,
    Single,
    Terminate,
    Through,
    Told,
    relay_of,
)
from tocsin.routing.reply.register import REGISTER, Register, Registered, Written, register_of
from tocsin.routing.reply.relay import Knows, Relay
from tocsin.runtime.family import HERE, LETTERS, Family, Place
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter, MachineTables, Writing

NAME = "reply"
MESSAGES = Codec(
    opened=Opened,
    forwarded=Forwarded,
    unreached=NotReached,
    reached=Reached,
    replied=Replied,
    look=Look,
    terminate=Terminate,
    reported=Reported,
    single=Single,
    told=Told,
    declined=Declined,
    passed=Passed,
    through=Through,
    registered=Registered,
)
_ROWS = Codec(head=Head, value=Value, forwarded=Forwarded, branch=Branch, registered=Registered)


def tables_of(store: Store) -> MachineTables:
    return store.machines(NAME, MESSAGES, _ROWS)


class Harvesters(Family[Harvester | Relay | Register]):
    """`knows` gives the harvester of a view at this node; once that is on disk, `wrote` hears of all of it, and then
    `changed` of each view that did, `written` of those that are in the register, and `over` of each that is no more."""

    title = "replies"
    begins = (Opened, Inherited)

    def __init__(
        self,
        node: str,
        knows: Knows,
        changed: Callable[[str], None],
        written: Callable[[Sequence[str]], None],
        over: Callable[[str], None],
        wrote: Callable[[Writing], None] = lambda _: None,
        *,
        merging: bool,
        retention: int,
    ) -> None:
        self._node, self._knows, self._changed, self._written, self._over = node, knows, changed, written, over
        self._wrote = wrote
        self._merging, self._retention = merging, retention
        self.always = (relay_of(node), register_of(node))
        self._recalled: list[tuple[Harvester, str, str]] | None = []

    def make(self, name: str, rows: Mapping[str, Any]) -> Harvester | Relay | Register | None:
        kind, _, node = name.partition("@")
        if node != self._node:
            return None
        if kind == RELAY:
            return Relay(node, self._knows, merging=self._merging)
        if kind == REGISTER:
            return Register(rows)
        made = Harvester(name, rows, merging=self._merging, retention=self._retention)
        if self._recalled is not None:
            self._recalled += ((made, key[2:], row.value) for key, row in rows.items() if key.startswith(REPLY))
        return made

    def recalled(self) -> list[tuple[Harvester, str, str]]:
        """What was replied and by whom, as the store had it at the start; asked for once."""
        found, self._recalled = self._recalled or [], None
        return found

    def place(self, letter: Letter, machine: Harvester | Relay | Register | None) -> Place | None:
        node = letter.to.partition("@")[2]
        if node != self._node:
            return Place(node, LETTERS)
        return HERE if machine is not None or isinstance(letter.message, self.begins) else None

    def wrote(self, writing: Writing) -> None:
        self._wrote(writing)

    def reported(self, what: Any) -> None:
        match what:
            case Changed(view):
                self._changed(view)
            case Written(views):
                self._written(views)

    def ended(self, name: str) -> None:
        self._over(name.partition("@")[0])

    def absent(self, letter: Letter, now: Instant) -> Sequence[Effect]:
        """A view that is over: what comes for it is dropped, as the paper has it (s2.2 step 9)."""
        del letter, now
        return ()

    async def look_up(self, names: Any) -> Mapping[str, Place]:
        """A node is where it always was."""
        return {name: Place(name.partition("@")[2], LETTERS) for name in names}
