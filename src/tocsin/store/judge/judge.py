"""Judging expressions in a process of its own, which is killed when one takes too long."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import Any

import msgspec
from msgspec import Struct

from tocsin.matching.filters import is_judged
from tocsin.matching.judge import Undecided
from tocsin.model.filters import Content, Filter
from tocsin.store.judge.process import READY, framed

SECONDS = 0.1  # of the processor, for one evaluation
PATIENCE = 5  # so many times as long it may take by the clock
PATIENCE_IN_LOOP = 2
WRITING = 1e-8  # seconds, for a byte of a message that is written and looked through for one subscriber
START_SECONDS = 5.0
LOCK_SECONDS = 10.0
ENDING_SECONDS = 1.0  # from when it is heard of no more
FILTER_SECONDS = "filter_seconds"  # in the store, for Spark: what the node was told one evaluation may take
CROWDED = "too many expressions that no index holds were to be evaluated at once"
NO_PROCESS = "the process that evaluates it does not start"
NOT_ITS_OWN = frozenset({CROWDED, NO_PROCESS})  # reasons that say nothing about the expression
_COMMAND = (sys.executable, "-I", "-m", "tocsin.store.judge.process")
_decode = msgspec.msgpack.Decoder(tuple[bool | str, float]).decode
_encode = msgspec.msgpack.Encoder().encode


class ProcessJudge:
    """A `matching.judging.Judge`, for all threads.

    One evaluation may use `seconds` of the processor: by that, and not by the clock, a good expression is not taken
    for a bad one while the machine is busy. The clock bounds it too, `PATIENCE` times as wide. `Costs` bounds what all
    of them take over time.

    `in_loop` is for an event loop, which waits for every verdict. What `LoopTime` has no time for is `CROWDED`, and so
    is what comes while another process starts; that says nothing of those that come then, and who asks has them decided
    elsewhere. A process that was killed is replaced at once, and starts while others are matched.
    """

    def __init__(self, seconds: float = SECONDS, *, in_loop: bool = False) -> None:
        self._seconds, self._patience = seconds, (PATIENCE_IN_LOOP if in_loop else PATIENCE) * seconds
        self._costs, self._loop = Costs(seconds), LoopTime(seconds) if in_loop else None
        self._child: _Child | None = None
        self._lock = Lock()
        self._rests_until = 0.0
        self._closed = False

    def expect(self, filters: Iterable[Filter]) -> None:
        """So that the first verdict need not wait for the process to start."""
        if self._child is None and any(map(is_judged, filters)):
            with self._lock, suppress(Undecided):
                self._started()

    def begin(self) -> None:
        """Another notification."""
        if self._loop is not None:
            self._loop.begin()

    def written(self, size: int) -> None:
        if self._loop is None:
            return
        now = monotonic()
        if not self._loop.left(now):
            raise Undecided(CROWDED)
        self._loop.spend(WRITING * size, now)

    def judge(self, asked: Content, document: bytes) -> bool:
        if not self._lock.acquire(timeout=LOCK_SECONDS):
            raise Undecided(CROWDED)
        try:
            answer = self._refusal(asked) or self._timed(asked, document)
        finally:
            self._lock.release()
        if isinstance(answer, str):
            raise Undecided(answer)
        return answer

    def close(self) -> None:
        """For good: who asks later hears that nobody judges."""
        with self._lock:
            self._closed = True
            self._drop()

    def _refusal(self, asked: Content) -> str | None:
        now = monotonic()
        if self._loop is not None:
            return CROWDED if not self._loop.left(now) or self._loop.goes_aside(asked, now) else None
        return self._costs.refusal(asked, now)

    def _timed(self, asked: Content, document: bytes) -> bool | str:
        """All counts that is waited for, also what is not the expression's own."""
        began = monotonic()
        try:
            return self._ask(asked, document)
        finally:
            if self._loop is not None:
                now = monotonic()
                self._loop.spend(now - began, now)

    def _ask(self, asked: Content, document: bytes) -> bool | str:
        """It has its time from when the process can begin."""
        child = self._ready()
        question = _encode((asked.language, asked.text, dict(asked.namespaces), document))
        try:
            answer, took = child.ask(question, self._patience)
        except (OSError, msgspec.MsgspecError) as problem:
            self._took(asked, self._seconds)
            return self._lost(asked, child.end(0.0 if isinstance(problem, TimeoutError) else ENDING_SECONDS))
        self._took(asked, took)
        self._costs.decided(asked, took, monotonic())
        return answer

    def _took(self, asked: Content, seconds: float) -> None:
        if self._loop is not None:
            self._loop.took(asked, seconds, monotonic())

    def _lost(self, asked: Content, ended: int | None) -> str:
        self._child, reason = None, self._why(ended)
        if reason != CROWDED:
            self._costs.ended(asked, reason, monotonic())
        with suppress(Undecided):  # else that is told of who comes next
            self._started()
        return reason

    def _why(self, ended: int | None) -> str:
        match ended:
            case None if self._loop is not None:  # others may have had the processor
                return CROWDED
            case None:
                return f"it was not done after {self._patience * 1000:.0f} ms"
            case code if code == -signal.SIGPROF:
                return f"it took longer than {self._seconds * 1000:.0f} ms"
            case code:
                return f"the process that evaluates it ended ({_signal(code)})"

    def _started(self) -> "_Child":
        """One that ended by itself while nothing was asked of it says nothing about the next expression."""
        if self._child is not None and self._child.has_ended():
            self._drop()
        if self._closed:
            raise Undecided(NO_PROCESS)
        if self._child is None:
            self._child = _start(self._seconds)
        return self._child

    def _ready(self) -> "_Child":
        """One that does not start is not waited for by each that comes, and one that starts not by a loop."""
        if monotonic() < self._rests_until:
            raise Undecided(NO_PROCESS)
        child = self._started()
        try:
            is_ready = child.is_ready_within(START_SECONDS if self._loop is None else 0.0)
        except OSError:
            self._drop()
            self._rests_until = monotonic() + REST_SECONDS
            raise Undecided(NO_PROCESS) from None
        if not is_ready:
            raise Undecided(CROWDED)
        return child

    def _drop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class Judges:
    """Those of a node: one that its event loop waits for, and one for who reads the log beside it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.in_loop, self.aside = ProcessJudge(seconds, in_loop=True), ProcessJudge(seconds)

    def close(self) -> None:
        self.in_loop.close()
        self.aside.close()


class _Child:
    """Alive until it fails or is ended; an `OSError` of `ask` says that it failed."""

    def __init__(self, process: "subprocess.Popen[bytes]", connection: socket.socket) -> None:
        self._process, self._connection = process, connection
        self._is_ready, self._until = False, monotonic() + START_SECONDS

    def is_ready_within(self, seconds: float) -> bool:
        """Raises `OSError` when it does not start, or not in time."""
        if not self._is_ready and self._says_something(seconds):
            self._is_ready = self._receive() == READY
        return self._is_ready

    def _says_something(self, seconds: float) -> bool:
        self._connection.settimeout(max(0.001, seconds))
        try:
            self._connection.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            if monotonic() >= self._until:
                raise
            return False
        return True

    def ask(self, question: bytes, seconds: float) -> tuple[bool | str, float]:
        self._connection.settimeout(seconds)
        self._connection.sendall(framed(question))
        return _decode(self._receive())

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def end(self, patience: float = 0.0) -> int | None:
        """How it ended by itself; None if it had to be killed."""
        self._connection.close()
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None

    def _receive(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4)))

    def _exactly(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = self._connection.recv(size - len(found))
            if not more:
                raise ConnectionResetError
            found += more
        return found


def _start(seconds: float) -> _Child:
    ours, theirs = socket.socketpair()
    command, quiet = (*_COMMAND, str(seconds)), subprocess.DEVNULL
    with theirs:
        try:
            return _Child(subprocess.Popen(command, stdin=theirs.fileno(), stdout=quiet, stderr=quiet), ours)
        except OSError:
            ours.close()
            raise Undecided(NO_PROCESS) from None


def _signal(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"with {code}"


SHARE, BURST = 0.5, 1.0  # of the clock, and seconds at once, for all costly expressions together
CHEAP = 0.1  # of what one evaluation may take
TRIES = 3  # of evaluations in a row that had to be ended
REST_SECONDS = 10.0
RESTART = 0.3  # seconds, about what another process costs
MOST_REMEMBERED = 10_000
LOOP_SHARE, LOOP_BURST = 0.25, 0.5  # of the clock, and seconds at once, that an event loop waits for verdicts
ASIDE_SECONDS = 60.0
TOO_COSTLY = "expressions as costly as this one already take as much time as all of them together may"


class _Failing(Struct):
    times: int = 0
    until: float = 0.0
    reason: str = ""


class _Used(Struct):
    """Time that was used, and is forgotten at the rate of a share of the clock."""

    share: float
    burst: float
    level: float = 0.0
    at: float = 0.0

    def use(self, took: float, now: float) -> None:
        self.level, self.at = max(0.0, self.level - self.share * (now - self.at)) + took, now

    def is_up(self, now: float) -> bool:
        return self.level - self.share * (now - self.at) > self.burst


class Costs:
    """Whoever waits for verdicts does nothing else: the event loop of a node, a batch of Spark's.

    - An expression that had to be ended `TRIES` times in a row is not evaluated for a while: each time costs its
      deadline, and the start of another process. So it cannot stop a batch, or who reads a log of thousands.
    - Costly expressions (above `CHEAP` of what one may take) get at most `SHARE` of the clock, in bursts of at most
      `BURST`. One that comes when that is used up counts as failing: what is as costly as that, and asked as often,
      stops everybody else. The same holds, by themselves, for those that had to be ended before, with the start of
      another process: many that differ are no better than one. What they cost is time of the processor, which a busy
      machine does not make more of.
    - Cheap expressions are none of this. They slow things down as all matching does, and who publishes waits; letters
      must not die of a busy hour.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._used, self._lost = (
            _Used(SHARE, BURST),
            _Used(SHARE, BURST),
        )  # by costly ones, and by those that were ended
        self._costly: set[Content] = set()
        self._failing: dict[Content, _Failing] = {}

    def refusal(self, asked: Content, now: float) -> str | None:
        """Why it is not evaluated now."""
        if self._failing and (failing := self._failing.get(asked)) is not None:
            if now < failing.until:
                return failing.reason
            if self._lost.is_up(now):
                return TOO_COSTLY
        return TOO_COSTLY if asked in self._costly and self._used.is_up(now) else None

    def decided(self, asked: Content, took: float, now: float) -> None:
        if self._failing:
            self._failing.pop(asked, None)
        if took >= CHEAP * self._seconds:
            self._used.use(took, now)
            self._costly.add(_room_in(self._costly, asked))
        elif self._costly:
            self._costly.discard(asked)

    def ended(self, asked: Content, reason: str, now: float) -> None:
        self._lost.use(self._seconds + RESTART, now)
        failing = self._failing.setdefault(_room_in(self._failing, asked), _Failing())
        failing.times += 1
        if failing.times >= TRIES:
            failing.until, failing.reason = now + REST_SECONDS, reason


class LoopTime:
    """What an event loop may wait for verdicts; what does not get any of it is decided elsewhere, and fails of nothing.

    That is `seconds` for one notification, `LOOP_SHARE` of the clock over time in bursts of `LOOP_BURST`, and nothing
    for what was costly of late, here.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent = 0.0  # for this notification
        self._used = _Used(LOOP_SHARE, LOOP_BURST)
        self._aside: dict[Content, float] = {}  # until when

    def begin(self) -> None:
        """Another notification."""
        self._spent = 0.0

    def spend(self, seconds: float, now: float) -> None:
        self._spent += seconds
        self._used.use(seconds, now)

    def left(self, now: float) -> float:
        """For this notification; none where too much was used before."""
        return 0.0 if self._used.is_up(now) else max(0.0, self._seconds - self._spent)

    def took(self, asked: Content, seconds: float, now: float) -> None:
        if seconds >= CHEAP * self._seconds:
            self._aside[_room_in(self._aside, asked)] = now + ASIDE_SECONDS

    def goes_aside(self, asked: Content, now: float) -> bool:
        return bool(self._aside) and now < self._aside.get(asked, 0.0)


def _room_in(remembered: set[Content] | dict[Content, Any], asked: Content) -> Content:
    if len(remembered) >= MOST_REMEMBERED:
        remembered.clear()
    return asked
