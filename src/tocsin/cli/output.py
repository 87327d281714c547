"""What people and programs see, and how a command ends."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import NoReturn

import msgspec
from rich.console import Console

words = Console(stderr=True, highlight=False)

WRONG_USE = 2


def say(text: str) -> None:
    words.print(text, markup=False, soft_wrap=True)


def give(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def give_bytes(data: bytes) -> None:
    """A document that is no JSON, on standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def fail(text: str, code: int = 1) -> NoReturn:
    words.print(f"tocsin: {text}", markup=False, style="bold red", soft_wrap=True)
    raise SystemExit(code)


@contextlib.contextmanager
def until_signalled() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C or SIGTERM sets; a second one ends at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def told() -> None:
        if stop.is_set():
            raise SystemExit(130)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
