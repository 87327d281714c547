"""This node's part in agreeing on who is in the ring: the machine of the roster, run by a runtime over the links."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from tocsin.broker.ring.asking import Asking, encode
from tocsin.broker.ring.messages import Machine
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.ring import roster_messages as said
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_machine import RosterKeeper
from tocsin.runtime.family import Family
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter, MachineTables
from tocsin.wire.peer_messages import UNREADABLE

NAME = "roster"
MACHINE = "node"
SECONDS = 2.0  # for an answer
MESSAGES = Codec(
    entering=said.Entering,
    leaving=said.Leaving,
    beat=said.Beat,
    prepare=said.Prepare,
    accept=said.Accept,
    decided=said.Decided,
    newest=said.Newest,
    learn=said.Learn,
    pending=said.Pending,
    stale=said.Stale,
    refused=said.Refused,
    beaten=said.Beaten,
    promised=said.Promised,
    accepted=said.Accepted,
    objected=said.Objected,
    overruled=said.Overruled,
    behind=said.Behind,
    taken=said.Taken,
)
ROWS = Codec(roster=Roster, vote=said.Vote, own=said.Own)


class _Keepers(Family[RosterKeeper]):
    title = "the ring's roster"
    always = (MACHINE,)

    def __init__(
        self, me: Callable[[], Member], settings: Settings, asking: Asking, reported: Callable[[Any], None]
    ) -> None:
        self._me, self._settings, self._asking, self._reported = me, settings, asking, reported

    def make(self, name: str, rows: Mapping[str, Any]) -> RosterKeeper | None:
        del name
        return RosterKeeper(self._me(), rows, self._settings)

    def reported(self, what: Any) -> None:
        self._reported(what)

    async def ask(self, name: str, of: str, question: Any) -> Any:
        del name
        body = encode(Machine(NAME, Raw(MESSAGES.encode(question))))
        return MESSAGES.decode(await self._asking.ask_at(of, body, SECONDS))


class Membership:
    def __init__(
        self,
        me: Callable[[], Member],
        settings: Settings,
        store: Store,
        asking: Asking,
        now: Callable[[], Instant],
        report: Callable[[str], None],
        reported: Callable[[Any], None],
    ) -> None:
        self._now = now
        tables: MachineTables = store.machines(NAME, MESSAGES, ROWS)
        self._runtime = Runtime(_Keepers(me, settings, asking, reported), tables, now, report)

    @property
    def machine(self) -> RosterKeeper:
        return self._runtime.machines[MACHINE]

    @property
    def standing(self) -> str:
        return self.machine.standing(self._now())

    def may_act(self) -> bool:
        return self.standing == "member"

    def start(self) -> None:
        self._runtime.start()

    async def close(self) -> None:
        await self._runtime.close()

    async def tell(self, message: Any) -> None:
        await self._runtime.take([Letter(MACHINE, message)])

    def post(self, message: Any) -> None:
        self._runtime.post(MACHINE, message)

    async def answer(self, question: Raw) -> bytes:
        try:
            asked = MESSAGES.decode(question)
        except UNREADABLE as problem:
            raise Refusal("malformed", f"not what a node of a ring says: {problem}") from None
        answers = await self._runtime.take([Letter(MACHINE, asked)])
        if not answers:
            raise Refusal("malformed", "not a question that is answered here")
        return MESSAGES.encode(answers[0])
