"""Names to addresses, off the loop: one look-up at a time for each name, kept for a while."""

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct

from tocsin.wire.addresses import literal, place

Lookup = Callable[[str, int], Sequence[str]]
Found = Callable[["Pin"], None]
KEPT = 10_000


class Pin(Struct, frozen=True, gc=False):
    """What libcurl is told of a host: `host:port:addresses`, nothing for an address written out. Good until then."""

    resolve: str = ""
    until: float = float("inf")
    error: str = ""


def system_lookup(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver:
    """A name that does not resolve holds one thread; names that once did go on with what was found last."""

    def __init__(self, lookup: Lookup, *, patience: float, keep: float = 60.0, threads: int = 32) -> None:
        self._loop = asyncio.get_running_loop()
        self._lookup, self._patience, self._keep = lookup, patience, keep
        self._threads = ThreadPoolExecutor(threads, "resolver")
        self._waiting: dict[tuple[str, int], list[Found]] = {}
        self._late: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._running: set[tuple[str, int]] = set()
        self._names: dict[tuple[str, int], Pin] = {}
        self.pins: dict[str, Pin] = {}

    def find(self, url: str, found: Found) -> None:
        """Calls `found` once, now or later. BadAddress when the address has no good form."""
        at = place(url)
        if literal(at[0]) is not None:
            found(self._remember(url, Pin()))
        elif (known := self._names.get(at)) and known.until > self._loop.time():
            found(self._remember(url, known))
        else:
            self._wait(at, lambda pin: found(self._remember(url, pin)))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for at in list(self._waiting):
            self._answer(at, Pin(error="the client was closed"))

    def _remember(self, url: str, pin: Pin) -> Pin:
        if not pin.error:
            if len(self.pins) >= KEPT:
                self.pins.clear()
            self.pins[url] = pin
        return pin

    def _wait(self, at: tuple[str, int], found: Found) -> None:
        waiting = self._waiting.setdefault(at, [])
        waiting.append(found)
        if len(waiting) == 1:
            pin = self._names.get(at) or Pin(error=f"{at[0]} was not resolved in time")
            self._late[at] = self._loop.call_later(self._patience, self._answer, at, pin)
        if at not in self._running:
            self._running.add(at)
            task = self._loop.run_in_executor(self._threads, self._look, at)
            task.add_done_callback(partial(self._looked, at))

    def _look(self, at: tuple[str, int]) -> str:
        addresses = self._lookup(*at)
        return f"{at[0]}:{at[1]}:" + ",".join(f"[{one}]" if ":" in one else one for one in addresses)

    def _looked(self, at: tuple[str, int], task: "asyncio.Future[str]") -> None:
        self._running.discard(at)
        if task.cancelled():
            return
        if error := task.exception():
            self._answer(at, Pin(error=f"{at[0]} cannot be resolved: {error}"))
            return
        if len(self._names) >= KEPT:
            self._names.clear()
        pin = self._names[at] = Pin(task.result(), self._loop.time() + self._keep)
        self._answer(at, pin)

    def _answer(self, at: tuple[str, int], pin: Pin) -> None:
        if (late := self._late.pop(at, None)) is not None:
            late.cancel()
        for found in self._waiting.pop(at, ()):
            found(pin)
