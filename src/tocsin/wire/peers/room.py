"""How much may be under way on one connection, and who waits for less."""

import asyncio
from collections import deque
from collections.abc import Callable

Problem = Callable[[], Exception]


class Room:
    """At most `most` are taken, and none is taken while the connection takes no more octets. Who waits comes first."""

    def __init__(self, most: int) -> None:
        self._most, self._taken, self._is_paused = most, 0, False
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._over: Problem | None = None

    @property
    def is_free(self) -> bool:
        return self._taken < self._most and not self._is_paused and not self._waiting and self._over is None

    @property
    def is_used(self) -> bool:
        return self._taken > 0 or bool(self._waiting)

    def take(self) -> None:
        """If it is free."""
        self._taken += 1

    def give(self) -> None:
        self._taken -= 1
        if self._waiting:
            self._wake()

    async def taken(self) -> None:
        """When it is; raises what ended the connection."""
        if self.is_free:
            self.take()
            return
        if self._over is not None:
            raise self._over()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            self._left(turn)
            raise

    def pause(self) -> None:
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False
        self._wake()

    def end(self, problem: Problem) -> None:
        """Nobody need wait any longer: each raises its own."""
        self._over = problem
        while self._waiting:
            if not (turn := self._waiting.popleft()).done():
                turn.set_exception(problem())

    def _left(self, turn: "asyncio.Future[None]") -> None:
        """One whose turn had come when it was cancelled hands it on."""
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif turn.done() and not turn.cancelled() and turn.exception() is None:
            self.give()

    def _wake(self) -> None:
        while self._waiting and self._taken < self._most and not self._is_paused:
            if not (turn := self._waiting.popleft()).done():
                self._taken += 1
                turn.set_result(None)
