"""The HTTP clients alone, in a process of their own: what delivering costs when nothing else is done."""

import asyncio
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pycurl
import uvloop
from msgspec import Struct, json

from tocsin.lab.benches._messages import Copies, Messages
from tocsin.model.identity import Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

HEADERS: Pairs = (("Content-Type", "application/soap+xml; charset=utf-8"),)


class Task(Struct, frozen=True):
    """So many messages to so many paths, one in flight for each path, as the broker does; or copies of a notification
    to so many notifiers."""

    client: str
    seed: int
    port: int
    first: int
    count: int
    fan_out: int
    copies: bool = False


class Refused(Exception):
    """A delivery was not answered with 202."""


class _Lane:
    """One consumer: its URL, and the bodies it has still to get."""

    def __init__(self, task: Task, which: int) -> None:
        self._body = Copies("authority", f"responder-{which}").of if task.copies else _bodies(task)
        self.url = f"http://127.0.0.1:{task.port}/{which}"
        self._next, self._end = task.first, task.first + task.count

    def take(self) -> bytes | None:
        if self._next == self._end:
            return None
        self._next += 1
        return self._body(self._next - 1)


def _bodies(task: Task) -> Callable[[int], bytes]:
    messages = Messages(task.seed, f"127.0.0.1:{task.port}", "/")
    return lambda number: messages.of(number).partition(b"\r\n\r\n")[2]


async def _ours(lanes: list[_Lane]) -> None:
    client, left = HttpClient(), len(lanes)
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def post(lane: _Lane) -> None:
        nonlocal left
        body = lane.take()
        if body is not None:
            client.post(lane.url, HEADERS, body, tell[lane])
            return
        left -= 1
        if not left:
            done.set_result(None)

    def answered(lane: _Lane, answer: Answer) -> None:
        if answer.status == 202:
            post(lane)
        elif not done.done():
            done.set_exception(Refused(f"{answer.status} {answer.error}"))

    tell: dict[_Lane, Callable[[Answer], None]] = {lane: partial(answered, lane) for lane in lanes}
    for lane in lanes:
        post(lane)
    await done
    await client.close()


def _pycurl(lanes: list[_Lane]) -> None:
    """The multi interface as its documentation shows it."""
    multi = pycurl.CurlMulti()
    for lane in lanes:
        easy = pycurl.Curl()
        headers = [f"{name}: {value}" for name, value in HEADERS]
        for option, value in [
            (pycurl.URL, lane.url),
            (pycurl.POST, 1),
            (pycurl.HTTPHEADER, [*headers, "Expect:"]),
            (pycurl.TCP_NODELAY, 1),
            (pycurl.NOSIGNAL, 1),
        ]:
            easy.setopt(option, value)
        easy.lane = lane
        _again(multi, easy)
    running = 1
    while running:
        _, running = multi.perform()
        running += _finished(multi)
        if running:
            multi.select(1.0)
    multi.close()


def _again(multi: Any, easy: Any) -> bool:
    body = easy.lane.take()
    if body is None:
        return False
    easy.setopt(pycurl.POSTFIELDS, body)
    multi.add_handle(easy)
    return True


def _finished(multi: Any) -> int:
    """How many transfers were begun."""
    begun, more = 0, 1
    while more:
        more, done, failed = multi.info_read()
        if failed:
            raise Refused(failed[0][2])
        for easy in done:
            multi.remove_handle(easy)
            if easy.getinfo(pycurl.RESPONSE_CODE) != 202:
                raise Refused("a delivery was refused")
            begun += _again(multi, easy)
    return begun


def run(task: Task) -> float:
    """The CPU seconds it took."""
    lanes = [_Lane(task, which) for which in range(task.fan_out)]
    begun = time.process_time()
    if task.client == "pycurl":
        _pycurl(lanes)
    else:
        uvloop.run(_ours(lanes))
    return time.process_time() - begun


if __name__ == "__main__":
    sys.stdout.write(json.encode(run(json.decode(sys.stdin.buffer.read(), type=Task))).decode())
