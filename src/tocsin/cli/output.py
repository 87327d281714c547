"""What people and programs see, and how a command ends. Words go to standard error, what was asked for to standard
output. rich is imported when something is drawn, for not every command draws."""

import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

import msgspec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

WRONG_USE = 2
MOST_BRANCHES = 2_000  # of a hierarchy: what has several parents stands below each of them
_BOUNDLESS = 10_000
_FRACTION = re.compile(r"\.\d+")


class Output:
    """What a command answers: a document for programs, and for people words: sentences, tables, trees, or a function
    that prints."""

    def __init__(self, document: object, *words: object) -> None:
        self._document, self._words = document, words

    def show(self, json: bool) -> None:
        if json:
            give(self._document)
            return
        for each in self._words:
            if callable(each):
                each()
            elif isinstance(each, str):
                say(each)
            else:
                console().print(each)


def console() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def give(value: object) -> None:
    """One JSON document on standard output."""
    give_bytes(msgspec.json.encode(value) + b"\n")


def give_bytes(data: bytes) -> None:
    """On standard output as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def fail(text: str, code: int = 1) -> NoReturn:
    styled = f"\x1b[1;31mtocsin: {text}\x1b[0m" if sys.stderr.isatty() else f"tocsin: {text}"
    say(styled)
    raise SystemExit(code)


@contextlib.contextmanager
def until_signalled() -> Iterator[asyncio.Event]:
    """An event that Ctrl-C or SIGTERM sets; a second one ends at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def end() -> None:
        if stop.is_set():
            raise SystemExit(130)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> "Table":
    """Without lines; the columns of those numbers are of numbers."""
    from rich.table import Table
    from rich.text import Text

    made = Table(*titles, box=None, pad_edge=False)
    for at in right:
        made.columns[at].justify = "right"
    for row in rows:
        made.add_row(*(Text(cell, overflow="fold") for cell in row))
    return made


def show_list(drawn: "Table", items: Iterable[tuple["Text", "Text"]]) -> None:
    """As a table where there is room for all of it; else a line for each item, which begins with its id that nothing
    cuts or folds, and what else there is to say."""
    from rich.measure import Measurement
    from rich.padding import Padding

    screen = console()
    if Measurement.get(screen, screen.options.update(max_width=_BOUNDLESS), drawn).maximum <= screen.width:
        screen.print(drawn)
        return
    for head, rest in items:
        screen.print(head, soft_wrap=True)
        screen.print(Padding(rest, (0, 0, 0, 4)))


def show_whole(drawn: "Table") -> None:
    """As wide as it needs to be: a terminal may break a line, but digits of one number never stand in two."""
    from rich.console import Console
    from rich.measure import Measurement

    screen = console()
    needed = Measurement.get(screen, screen.options.update(max_width=_BOUNDLESS), drawn).maximum
    Console(stderr=True, highlight=False, width=max(needed, screen.width)).print(drawn)


def hierarchy(parents: Mapping[str, Sequence[str]]) -> "Tree":
    from rich.text import Text
    from rich.tree import Tree

    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for each in above:
            children.setdefault(each, []).append(name)
    root, room = Tree("", hide_root=True), MOST_BRANCHES
    waiting = [(root, name) for name in sorted(children, reverse=True) if not parents.get(name)]
    while waiting:
        place, name = waiting.pop()
        room -= 1
        if room < 0:
            place.add(Text("..."))
            break
        branch = place.add(Text(name))
        waiting += [(branch, each) for each in sorted(children.get(name, ()), reverse=True)]
    return root


def whole_seconds(time: str) -> str:
    return _FRACTION.sub("", time)


def number(count: int) -> str:
    """Nothing for nothing: what is there is to be seen at a glance."""
    return f"{count:,}" if count else ""


def counted(count: int, name: str, many: str = "") -> str:
    return f"{count:,} {name if count == 1 else many or f'{name}s'}"
