"""A worker: a node that `workers` started. It is told its settings by standard input, and tells on standard output, in
JSON lines, how it goes. When the input ends it stops: so it does not outlive whoever started it."""

import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tocsin.broker.lifecycle import open_node
from tocsin.broker.node import Node
from tocsin.broker.settings import Settings
from tocsin.doors.access import gate_of
from tocsin.doors.application import doors
from tocsin.platform.serving import own_addresses, serving
from tocsin.store.errors import StoreError
from tocsin.wire.addresses import WireError

LEAVE = b"l"  # said to one that is to leave, when it is its turn
LONGEST_END = 90.0  # seconds after which one that was told to stop, and has nobody to see to that, ends anyhow


class Standing(Struct, frozen=True, tag="standing"):
    """It has its data directory, and others reach it by that address; in a ring of its own it is at that place."""

    node: str
    address: str
    place: int


class Ready(Struct, frozen=True, tag="ready"):
    """It has its place in the ring, and its doors are open."""


class Said(Struct, frozen=True, tag="said"):
    text: str


class Failed(Struct, frozen=True, tag="failed"):
    """In a sentence; it ends with that."""

    text: str


class Left(Struct, frozen=True, tag="left"):
    """It is in no ring any more, and others have what it had, but for so many dead letters."""

    dead_letters: int = 0


class Stopped(Struct, frozen=True, tag="stopped"):
    records: int


Event = Standing | Ready | Said | Failed | Left | Stopped
encode = msgspec.json.Encoder(enc_hook=str).encode
decode_event: Callable[[bytes], Event] = msgspec.json.Decoder(Event).decode


def _path(kind: type, value: Any) -> Path:
    assert kind is Path
    return Path(value)


_settings = msgspec.json.Decoder(Settings, dec_hook=_path).decode


def _tell(event: Event) -> None:
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.buffer.write(encode(event) + b"\n")
        sys.stdout.buffer.flush()


def _say(text: str) -> None:
    _tell(Said(text))


class _Told:
    """What whoever started it says: `stop` when nobody is left who did, or by SIGTERM."""

    def __init__(self) -> None:
        self.stop, self.leave = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGTERM, self.stop.set)
        threading.Thread(target=self._hear, daemon=True).start()

    def _hear(self) -> None:
        """Not by a buffered file, whose lock a thread would hold when the interpreter ends."""
        while said := os.read(sys.stdin.fileno(), 1):
            if said == LEAVE:
                self._loop.call_soon_threadsafe(self.leave.set)
        with contextlib.suppress(RuntimeError):  # the loop is closed: all is done
            self._loop.call_soon_threadsafe(self.stop.set)
        time.sleep(LONGEST_END)
        os._exit(1)

    async def either(self) -> None:
        waiting = [asyncio.create_task(each.wait()) for each in (self.stop, self.leave)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()


async def _work(settings: Settings) -> int:
    assert settings.worker is not None
    told = _Told()
    try:
        await (_leave(settings, told) if settings.worker.leaving else _serve(settings, told))
    except (StoreError, WireError, OSError) as error:
        _tell(Failed(str(error)))
        return 1
    return 0


async def _serve(settings: Settings, told: _Told) -> None:
    async with serving(settings, _say, lambda node: _in_place(node, told)) as node:
        _tell(Ready())
        await told.stop.wait()
    _tell(Stopped(node.journal.log.durable))


async def _in_place(node: Node, told: _Told) -> None:
    """Until it can do what it is asked for; others have time for that until then."""
    assert node.ring is not None
    _tell(Standing(str(node.journal.node), node.ring.address, node.ring.place))
    while not told.stop.is_set() and not await node.ring.in_place():
        pass


async def _leave(settings: Settings, told: _Told) -> None:
    """Without doors of its own: what is asked of it comes from the others, who may need it until then."""
    assert settings.advertise is not None
    own = own_addresses(settings, settings.advertise, {settings.listen.port})
    async with open_node(settings, settings.advertise, _say, own) as node, gate_of(node) as gate:
        assert node.ring is not None
        doors(gate)
        if node.ring.is_in:
            await _in_place(node, told)
        _tell(Ready())
        await told.either()
        if not told.stop.is_set():
            await node.ring.leave()
            _tell(Left(node.store.count_dead_letters()))


def _line() -> bytes:
    """The first of the input, and nothing more of it."""
    found = bytearray()
    while (said := os.read(sys.stdin.fileno(), 1)) not in (b"\n", b""):
        found += said
    return bytes(found)


def main() -> int:
    import uvloop

    code: int = uvloop.run(_work(_settings(_line())))
    return code


if __name__ == "__main__":
    sys.exit(main())
