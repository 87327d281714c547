"""Runs the machines of one family: a queue, one loop that steps all that waits, and a group commit for each turn.

The order is: what is for services is delivered, then everything that the machines remember and send is written in one
transaction, then callers are answered, questions asked, and what is for others goes out. Killed in between, a service
is told again with the same message id, and nobody is left out. What fails to be written did not happen: the machines
are made anew from the store.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Generic

from msgspec import Raw, Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import OUR_FAULT, Refusal
from tocsin.routing.machine import Ask, Report, Started, Unanswered, Woken
from tocsin.runtime.family import Family, M
from tocsin.runtime.peers import Peers, Way
from tocsin.runtime.turn import Item, Turn
from tocsin.store.errors import StoreError
from tocsin.store.machines import Letter, MachineTables, Writing
from tocsin.wire.peer_messages import UNREADABLE, Batch, Reply, Taken

MOST_WAITING = 20_000  # that callers wait for; who comes then is refused
MOST_STEPS, MOST_ROWS = 1000, 5000  # in one turn, about, so that no transaction grows without end
MOST_OPEN = 20_000  # letters that are to be handled here, and questions; then no more letters are taken
MOST_OUTGOING = 200_000  # rows for other nodes; then nothing more begins here
AGAIN_AFTER = 0.25  # seconds, when the store failed


class _Call(Struct):
    """All of it is in one turn. Nobody waits for what has no answer: it is tried until it succeeds."""

    items: Sequence[Item]
    answer: "asyncio.Future[list[Any]] | None" = None

    @property
    def size(self) -> int:
        """As far as there is a bound for it."""
        return 0 if self.answer is None else len(self.items)


class Runtime(Generic[M]):
    """`machines` are those of this node, by name. Whole when it is made; `start` and `close` are its life.

    `way` leads to other nodes, for a family that has machines there.
    """

    def __init__(
        self,
        family: Family[M],
        tables: MachineTables,
        now: Callable[[], Instant],
        report: Callable[[str], None],
        way: Way | None = None,
    ) -> None:
        self._family, self._tables, self._now, self._report = family, tables, now, report
        self.tables = tables
        self.handled: Counter[str] = Counter()  # letters, by the machine that handled them
        self._waiting: deque[_Call] = deque()
        self._size = 0
        self._wake = asyncio.Event()
        self._closing, self._failure = False, ""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._running: asyncio.Task[None] | None = None
        self.written: Callable[[Writing], Awaitable[None]] | None = None  # waits until those who keep copies have it
        self._turns = asyncio.Lock()
        self._peers = None if way is None else Peers(way, family, tables, self.take, now, report)
        self.machines, self._local = self._load()

    def start(self) -> "asyncio.Task[None]":
        self._begin()
        self._running = asyncio.create_task(self._run())
        if self._peers is not None:
            self._peers.start()
        return self._running

    async def close(self) -> None:
        """The turn that is under way is ended; what waits on disk goes on with the next start."""
        self._closing = True
        self._wake.set()
        if self._peers is not None:
            await self._peers.close()
        await self._stop_asking()
        if self._running is not None:
            await self._running
        self._refuse(self._waiting, Refusal("overloaded", "the node is ending; try again a little later"))

    @property
    def waits(self) -> bool:
        """Whether there is anything left to be stepped."""
        return bool(self._waiting or self._local)

    def figures(self) -> dict[str, int]:
        return {"local": len(self._local), "asking": len(self._asking), "outbox": self._tables.outbox.rows}

    async def take(self, items: Sequence[Item]) -> list[Any]:
        """Returns when all that follows from them here is on disk, with the answers to them."""
        if self._size + len(items) > MOST_WAITING or self._closing:
            raise self._overloaded()
        self._check_room(items)
        call = _Call(items, asyncio.get_running_loop().create_future())
        self._enqueue(call)
        assert call.answer is not None
        return await asyncio.shield(call.answer)

    def post(self, to: str, message: Any) -> None:
        """Nobody waits for it: it is stepped in its turn, and again until that is written."""
        self._enqueue(_Call([Letter(to, message)]))

    @contextlib.asynccontextmanager
    async def between_turns(self) -> AsyncIterator[MachineTables]:
        """Nothing is stepped meanwhile: machines may come from another node, or go there. They are read again then."""
        async with self._turns:
            before = set(self.machines)
            yield self._tables
            self.machines, self._local = await asyncio.to_thread(self._load)
            came = [name for name in self.machines if name not in before]
            self._put_back([_Call([Letter(name, Started()) for name in came])] if came else [])
            self._wake.set()
        if self._peers is not None:
            self._peers.start()

    async def receive(self, batch: Batch) -> Taken:
        """From another node. Questions for a machine that is not here cost what comes with them nothing."""
        letters = [Letter(each.to, self._decoded(each.body), each.id) for each in batch.letters]
        absent = {each.id for each in letters if each.to and not self._is_resident(each.to)}
        questions = ((each, self._decoded(each.body)) for each in batch.questions if self._family.holds(each.of))
        asked = [(each, said) for each, said in questions if each.of in self.machines or self._begins(said)]
        if batch.questions and not (asked or batch.letters):
            raise Refusal("not-here", self._family.not_here(batch.questions[0].of))
        items: list[Item] = [each if each.to else Report(each.message) for each in letters if each.id not in absent]
        answers = await self.take([*items, *(Letter(each.of, said) for each, said in asked)])
        if len(answers) != len(asked):
            raise Refusal("malformed", "not a question that is answered here")
        replies = (
            Reply(each.number, Raw(self._tables.messages.encode(answer)))
            for (each, _), answer in zip(asked, answers, strict=True)
        )
        return Taken(tuple(absent), tuple(replies))

    def _decoded(self, body: Raw) -> Any:
        try:
            return self._tables.messages.decode(body)
        except UNREADABLE as problem:
            raise Refusal("malformed", f"not what a node says: {problem}") from None

    def _begins(self, question: Any) -> bool:
        return isinstance(question, self._family.begins)

    def _is_resident(self, name: str) -> bool:
        machine = self.machines.get(name)
        return machine is not None and self._family.resident(machine)

    # The loop

    def _enqueue(self, call: _Call) -> None:
        self._waiting.append(call)
        self._size += call.size
        self._wake.set()

    async def _run(self) -> None:
        while not self._closing:
            await self._wake.wait()
            self._wake.clear()
            while (self._waiting or self._local) and not self._closing:
                await self._attempt(self._next())

    def _next(self) -> list[_Call]:
        taken: list[_Call] = []
        steps = 0
        while self._waiting and steps < MOST_STEPS:
            taken.append(self._waiting.popleft())
            steps += len(taken[-1].items)
        self._size -= sum(call.size for call in taken)
        return taken

    async def _attempt(self, calls: list[_Call]) -> None:
        try:
            async with self._turns:
                answers = await self._turn(calls)
        except Exception as problem:
            self._tell_operator(problem)
            with contextlib.suppress(StoreError):  # what failed did not happen, for those who look right away too
                self.machines, self._local = await asyncio.to_thread(self._load)
            self._refuse(calls, _refusal(problem))
            await self._recover(calls if _passes(problem) else ())
            return
        self._failure = ""
        for call, answer in zip(calls, answers, strict=True):
            if call.answer is not None and not call.answer.done():
                call.answer.set_result(answer)

    async def _turn(self, calls: list[_Call]) -> list[list[Any]]:
        turn = Turn(self._family, self.machines, self._tables.messages, await self._known(calls), self._now)
        answers, handled = self._take_calls(turn, calls), 0
        for letter in islice(self._local, MOST_STEPS):
            if handled and turn.writing.size >= MOST_ROWS:
                break
            turn.handle(letter)
            handled += 1
        # All have come to an end when this raises
        ends = await asyncio.gather(*(self._family.deliver(*each) for each in turn.deliveries), return_exceptions=True)
        for problem in ends:
            if problem is not None:
                raise problem
        if turn.writing:
            await asyncio.to_thread(self._tables.write, turn.writing)
            if self.written is not None:
                await self.written(turn.writing)
        self._done(turn, handled)
        return answers

    def _take_calls(self, turn: Turn, calls: list[_Call]) -> list[list[Any]]:
        """Those that would make the turn too large wait for the next; half of it is for what was taken before."""
        answers: list[list[Any]] = []
        for call in calls:
            if answers and turn.writing.size >= MOST_ROWS // 2:
                break
            try:
                self._check_room(call.items, turn)
                answers.append([each for item in call.items for each in turn.take(item)])
            except Refusal as refusal:
                self._refuse([call], refusal)
                answers.append([])
                if call.answer is None:
                    self._tell_operator(refusal)
        self._put_back(calls[len(answers) :])
        del calls[len(answers) :]
        return answers

    def _put_back(self, calls: Sequence[_Call]) -> None:
        self._waiting.extendleft(reversed(calls))
        self._size += sum(call.size for call in calls)

    def _check_room(self, items: Iterable[Item], turn: Turn | None = None) -> None:
        """Letters of other nodes find room as soon as this node has handled its own: waiting for the outbox as well,
        two nodes could wait for each other."""
        more, sending = (0, 0)
        if turn is not None:
            more, sending = len(turn.local) + len(turn.asks), len(turn.writing.outgoing)
        full = len(self._local) + len(self._asking) + more >= MOST_OPEN
        stuck = self._tables.outbox.rows + sending >= MOST_OUTGOING
        if (full or stuck) and any(isinstance(each, Letter) and (each.fresh or (full and each.id)) for each in items):
            raise self._overloaded()

    async def _known(self, calls: Iterable[_Call]) -> set[str]:
        ids = [item.id for call in calls for item in call.items if isinstance(item, Letter) and item.id]
        return await asyncio.to_thread(self._tables.known, ids) if ids else set()

    def _done(self, turn: Turn, handled: int) -> None:
        if turn.writing:
            self._family.wrote(turn.writing)
        for _ in range(handled):
            self._local.popleft()
        self._local += turn.local
        self.handled.update(turn.handled)
        for name, when in turn.timers.items():
            self._set_timer(name, when)
        for name, ask in turn.asks:
            self._ask(name, ask)
        if self._peers is not None:
            for lane in dict.fromkeys((each.peer, each.lane) for each in turn.writing.outgoing):
                self._peers.send(*lane)
        for report in turn.writing.reports:
            self._family.reported(report)
        for name in turn.writing.ended:
            self._family.ended(name)

    # Timers and questions

    def _set_timer(self, name: str, when: Instant | None) -> None:
        if (before := self._timers.pop(name, None)) is not None:
            before.cancel()
        if when is not None and not self._closing:
            seconds = max(0.0, (when - self._now()) / SECOND)
            self._timers[name] = asyncio.get_running_loop().call_later(seconds, self._woken, name)

    def _woken(self, name: str) -> None:
        del self._timers[name]
        self.post(name, Woken())

    def _ask(self, name: str, ask: Ask) -> None:
        task = asyncio.create_task(self._answered(name, ask))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _answered(self, name: str, ask: Ask) -> None:
        try:
            answer = await self._family.ask(name, ask.of, ask.question)
        except Exception as problem:
            answer = Unanswered(ask.question, str(problem) or type(problem).__name__)
        self.post(name, answer)

    async def _stop_asking(self) -> None:
        for name in list(self._timers):
            self._set_timer(name, None)
        for task in list(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    # When something fails

    def _tell_operator(self, problem: Exception) -> None:
        """Once while it lasts."""
        before, self._failure = self._failure, f"{type(problem).__name__}: {problem}"
        if before != self._failure:
            self._report(f"{self._family.title}: {self._failure}")

    def _refuse(self, calls: Iterable[_Call], refusal: Refusal) -> None:
        for call in calls:
            if call.answer is not None and not call.answer.done():
                call.answer.set_exception(refusal)
                call.answer.exception()  # its caller may have gone

    async def _recover(self, calls: Iterable[_Call]) -> None:
        """The machines stepped ahead of the disk; as the disk has them they begin again. What nobody waits for, and
        answers are among that, comes first: so nothing is asked again that was answered."""
        await self._stop_asking()
        posted = [call for call in calls if _is_posted(call)]
        while not self._closing:
            await asyncio.sleep(AGAIN_AFTER)
            try:
                self.machines, self._local = await asyncio.to_thread(self._load)
            except StoreError as problem:
                self._refuse(self._waiting, _refusal(problem))
                failed = True
            else:
                failed = False
            posted += filter(_is_posted, self._waiting)
            self._waiting = deque(call for call in self._waiting if call.answer is not None and not failed)
            self._size = sum(call.size for call in self._waiting)
            if not failed:
                self._begin(posted)
                return

    def _load(self) -> tuple[dict[str, M], deque[Letter]]:
        self._tables.outbox.count()
        rows = self._tables.rows()
        for name in self._family.always:
            rows.setdefault(name, {})
        made = ((name, self._family.make(name, kept)) for name, kept in rows.items())
        return {name: each for name, each in made if each is not None}, deque(self._tables.open_letters())

    def _begin(self, before: Sequence[_Call] = ()) -> None:
        """Before anything else is stepped."""
        self._put_back([*before, _Call([Letter(name, Started()) for name in self.machines])])
        self._wake.set()

    def _overloaded(self) -> Refusal:
        return Refusal("overloaded", f"too much waits for {self._family.title} at this node; try again a little later")


def _is_posted(call: _Call) -> bool:
    """What starts the machines is left out: they are started again."""
    first = call.items[0] if call.items else None
    return call.answer is None and not (isinstance(first, Letter) and isinstance(first.message, Started))


def _passes(problem: Exception) -> bool:
    """Whether it is the store's or the load's, and may be otherwise the next time."""
    return isinstance(problem, StoreError) or (isinstance(problem, Refusal) and problem.reason in OUR_FAULT)


def _refusal(problem: Exception) -> Refusal:
    if isinstance(problem, Refusal):
        return problem
    return Refusal("cannot-store", f"it could not be stored, try again: {problem}")
