"""Connections that are kept: closed when nothing was asked for a while, and answered as ASGI has it meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from tocsin.wire._protocol import BoundedHttp
from tocsin.wire.asgi import Receive, Scope, Send, send_accepted

REQUEST = b"POST / HTTP/1.1\r\nContent-Length: 1\r\n%b\r\nx"
KEPT_SECONDS = 5


class Clock:
    """The loop as a protocol uses it, with a time of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._due: list[tuple[float, Callable[[], None]]] = []
        self._now = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        return self._now

    def call_later(self, seconds: float, act: Callable[[], None]) -> asyncio.Handle:
        self._due.append((self._now + seconds, act))
        return asyncio.Handle(act, (), self._loop)

    def pass_to(self, now: float) -> None:
        self._now = now
        due, self._due = [each for each in self._due if each[0] <= now], [each for each in self._due if each[0] > now]
        for _, act in due:
            act()


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written, self.closed = b"", False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def accepting(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send_accepted(send)


@pytest.fixture
async def clock() -> Clock:
    return Clock()


def connection(clock: Clock) -> tuple[BoundedHttp, Wire]:
    config = uvicorn.Config(cast(Any, accepting), timeout_keep_alive=KEPT_SECONDS, lifespan="off", log_config=None)
    told = {"config": config, "server_state": ServerState(), "app_state": {}, "_loop": clock}
    made, wire = BoundedHttp(accepting, 100, **told), Wire()
    made.connection_made(wire)
    return made, wire


async def ask(made: BoundedHttp, headers: bytes = b"") -> None:
    made.data_received(REQUEST % headers)
    await asyncio.gather(*made.tasks)


async def test_a_connection_is_kept_from_its_last_answer_on(clock: Clock) -> None:
    made, wire = connection(clock)
    for now in (0.0, 4.0, 8.0):
        clock.pass_to(now)
        await ask(made)
    assert wire.written.count(b"202 Accepted") == 3
    clock.pass_to(12.9)
    assert not wire.closed
    clock.pass_to(13.0)
    assert wire.closed


async def test_who_has_begun_to_ask_is_not_cut_off(clock: Clock) -> None:
    made, wire = connection(clock)
    await ask(made)
    made.data_received(REQUEST[:10])
    clock.pass_to(6.0)
    assert not wire.closed
    made.data_received((REQUEST % b"")[10:])
    await asyncio.gather(*made.tasks)
    clock.pass_to(10.9)
    assert not wire.closed
    clock.pass_to(11.0)
    assert wire.closed


async def test_who_asks_to_close_is_told_that_it_is_closed(clock: Clock) -> None:
    made, wire = connection(clock)
    await ask(made, b"Connection: close\r\n")
    assert b"202 Accepted" in wire.written and b"connection: close" in wire.written
    assert wire.closed


async def test_requests_that_come_together_are_answered_in_turn(clock: Clock) -> None:
    made, wire = connection(clock)
    made.data_received(REQUEST % b"" + REQUEST % b"" + REQUEST % b"")
    while wire.written.count(b"202 Accepted") < 3:
        await asyncio.gather(*made.tasks)
    assert not wire.closed
    clock.pass_to(float(KEPT_SECONDS))
    assert wire.closed
