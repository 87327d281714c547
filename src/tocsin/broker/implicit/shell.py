"""The shell around the machines: a queue, one loop that steps all that waits, and a group commit for each turn.

The order is: services are told, then everything that the machines remember and send is written in one transaction,
then callers are answered and what is for others goes out. Killed in between, a service is told again with the same
message id, and nobody is left out.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice

from msgspec import Struct

from tocsin.broker.implicit.machines import Again, Machines, load
from tocsin.broker.implicit.registry import Registry
from tocsin.broker.implicit.turn import Here, Item, Report, Turn, publication_id, row_id
from tocsin.model.identity import Instant, MessageId
from tocsin.model.refusal import OUR_FAULT, Refusal
from tocsin.routing.implicit.messages import Copy, Forward, Granted, Publish
from tocsin.store.errors import StoreError
from tocsin.store.implicit import ImplicitTables
from tocsin.store.implicit_outbox import Kind

MOST_WAITING = 20_000  # that callers wait for; who comes then is refused
MOST_STEPS, MOST_ROWS = 1000, 5000  # in one turn, about, so that no transaction grows without end
MOST_OPEN = 20_000  # copies that are to be handled here or wait for the central history; then no more are taken
MOST_OUTGOING = 200_000  # rows for other nodes; then nothing more is published here
AGAIN_AFTER = 0.25  # seconds, when the store failed
Tell = Callable[[Copy], Awaitable[None]]


class _Asked(Struct):
    """All of it is in one turn."""

    items: Sequence[Item]
    answer: "asyncio.Future[list[Granted]]"


class Shell:
    """`tell` returns when its service will be told; `send` is called for each peer that something was written for,
    `heard` for each message on which there are new reports."""

    def __init__(
        self,
        here: Here,
        tables: ImplicitTables,
        registry: Registry,
        tell: Tell,
        now: Callable[[], Instant],
        report: Callable[[str], None],
    ) -> None:
        self._here, self._tables, self._registry, self._tell = here, tables, registry, tell
        self._now, self._report = now, report
        self.send: Callable[[str, Kind], None] = lambda *_: None
        self.heard: Callable[[MessageId], None] = lambda _: None
        self.handled: Counter[str] = Counter()
        self._waiting: deque[_Asked] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._closing, self._failure = False, ""
        self.machines, local = self._load()
        self._local = deque(local)

    def start(self) -> "asyncio.Task[None]":
        self._running = asyncio.create_task(self._run())
        self._wake.set()
        return self._running

    @property
    def waits(self) -> bool:
        """Whether there is anything left to be stepped."""
        return bool(self._waiting or self._local)

    def figures(self) -> dict[str, int]:
        return {"local": len(self._local), "asking": len(self.machines.asking), "outbox": self._tables.outbox.rows}

    async def close(self) -> None:
        """The turn that is under way is ended; what waits on disk goes on with the next start."""
        self._closing = True
        self._wake.set()
        await self._running
        self._refuse(self._waiting, Refusal("overloaded", "the node is ending; try again a little later"))

    async def take(self, items: Sequence[Item]) -> list[Granted]:
        """Returns when all that follows from them here is on disk, with the answers to the claims among them."""
        if self._size + len(items) > MOST_WAITING or self._closing:
            raise _overloaded()
        self._check_room(items)
        asked = _Asked(items, asyncio.get_running_loop().create_future())
        self._waiting.append(asked)
        self._size += len(items)
        self._wake.set()
        return await asyncio.shield(asked.answer)

    async def _run(self) -> None:
        while not self._closing:
            await self._wake.wait()
            self._wake.clear()
            while (self._waiting or self._local) and not self._closing:
                await self._attempt(self._next())

    def _next(self) -> list[_Asked]:
        taken: list[_Asked] = []
        steps = 0
        while self._waiting and steps < MOST_STEPS:
            taken.append(self._waiting.popleft())
            steps += len(taken[-1].items)
        self._size -= steps
        return taken

    async def _attempt(self, asked: list[_Asked]) -> None:
        try:
            answers = await self._turn(asked)
        except Exception as problem:
            self._tell_operator(problem)
            self._refuse(asked, _refusal(problem))
            await self._recover()
            return
        self._failure = ""
        for each, answer in zip(asked, answers, strict=True):
            if not each.answer.done():
                each.answer.set_result(answer)

    async def _turn(self, asked: list[_Asked]) -> list[list[Granted]]:
        local = list(islice(self._local, MOST_STEPS))
        known = await self._known([*(item for each in asked for item in each.items), *local])
        turn = Turn(self._here, self.machines, self._registry, known, self._now)
        answers, taken = self._take_asked(turn, asked), 0
        while taken < len(local) and (not taken or turn.size < MOST_ROWS):
            turn.take(local[taken])
            taken += 1
        await self._tell_all(turn.tells)
        if turn.writing:
            await asyncio.to_thread(self._tables.write, turn.writing)
        self._done(turn, taken)
        return answers

    def _take_asked(self, turn: Turn, asked: list[_Asked]) -> list[list[Granted]]:
        """Those that would make the turn too large wait for the next; half of it is for what was taken before."""
        answers: list[list[Granted]] = []
        for each in asked:
            if answers and turn.size >= MOST_ROWS // 2:
                break
            try:
                self._check_room(each.items, turn)
            except Refusal as refusal:
                self._refuse([each], refusal)
            else:
                answers.append([found for item in each.items if (found := turn.take(item)) is not None])
                continue
            answers.append([])
        self._waiting.extendleft(reversed(asked[len(answers) :]))
        self._size += sum(len(each.items) for each in asked[len(answers) :])
        del asked[len(answers) :]
        return answers

    def _check_room(self, items: Iterable[Item], turn: Turn | None = None) -> None:
        """Copies of other nodes find room as soon as this node has done its own: waiting for the outbox as well, two
        nodes could wait for each other."""
        more, sending = (len(turn.local), len(turn.writing.outgoing)) if turn is not None else (0, 0)
        full = len(self._local) + len(self.machines.asking) + more >= MOST_OPEN
        stuck = self._tables.outbox.rows + sending >= MOST_OUTGOING
        if (full or stuck) and any(isinstance(each, Publish) or (full and isinstance(each, Copy)) for each in items):
            raise _overloaded()

    async def _known(self, items: Sequence[Item]) -> set[str]:
        ids = [row_id(item) for item in items if isinstance(item, Copy | Publish)]
        if before := self._here.before:
            ids += [publication_id(message) for to, message in map(self._about, items) if to in before]
        return await asyncio.to_thread(self._tables.known, ids) if ids else set()

    def _about(self, item: Item) -> tuple[str, MessageId]:
        """Who is to be told what becomes of which message."""
        match item:
            case Report(to, handled):
                return to, handled.message
            case Granted(message, copy) if (message, copy) in self.machines.asking:
                said = self.machines.asking[message, copy].cause.message
            case Again(cause):
                said = cause.message
            case Forward(Copy() as cause) | (Publish() | Copy() as cause):
                said = cause.message
            case _:
                return "", MessageId("")
        return said.reports, said.id

    async def _tell_all(self, copies: list[Copy]) -> None:
        """One that can never be told costs the others nothing, and its notifier still passes the message on."""
        told = await asyncio.gather(*map(self._tell, copies), return_exceptions=True)
        for copy, problem in zip(copies, told, strict=True):
            if isinstance(problem, Exception) and not _passes(problem):
                self._report(f"the service {copy.to!r} cannot be told of {copy.message.id}: {problem}")
            elif problem is not None:
                raise problem

    def _done(self, turn: Turn, local: int) -> None:
        for _ in range(local):
            self._local.popleft()
        self._local += turn.local
        self.handled.update(turn.handled)
        for lane in turn.lanes:
            self.send(*lane)
        for message in turn.reported:
            self.heard(message)

    def _tell_operator(self, problem: Exception) -> None:
        """Once while it lasts."""
        before, self._failure = self._failure, f"{type(problem).__name__}: {problem}"
        if before != self._failure:
            self._report(f"implicit notification: {self._failure}")

    def _refuse(self, asked: Iterable[_Asked], refusal: Refusal) -> None:
        for each in asked:
            if not each.answer.done():
                each.answer.set_exception(refusal)
                each.answer.exception()  # its caller may have gone

    async def _recover(self) -> None:
        """The machines stepped ahead of the disk; as the disk has them they begin again."""
        while not self._closing:
            await asyncio.sleep(AGAIN_AFTER)
            try:
                self.machines, local = await asyncio.to_thread(self._load)
            except StoreError as problem:
                self._refuse(self._next(), _refusal(problem))
            else:
                self._local = deque(local)
                return

    def _load(self) -> tuple[Machines, list[Again]]:
        return load(self._tables, self._registry, central=self._here.history == self._here.node)


def _overloaded() -> Refusal:
    return Refusal("overloaded", "too much waits for the notifiers of this node; try again a little later")


def _passes(problem: Exception) -> bool:
    """Whether it is the store's or the load's, and may be otherwise the next time."""
    return isinstance(problem, StoreError) or (isinstance(problem, Refusal) and problem.reason in OUR_FAULT)


def _refusal(problem: Exception) -> Refusal:
    if isinstance(problem, Refusal):
        return problem
    return Refusal("cannot-store", f"it could not be stored, try again: {problem}")
