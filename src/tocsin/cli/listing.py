"""Lists in a terminal: a table where there is room for all of it, else a few lines for each item."""

import re
from collections.abc import Iterable

from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tocsin.cli.output import words

BOUNDLESS = 10_000
_FRACTION = re.compile(r"\.\d+")


def show_list(table: Table, items: Iterable[tuple[Text, Text]]) -> None:
    """Each item is a line that begins with its id, which nothing cuts or folds, and what else there is to say."""
    if _width(table) <= words.width:
        words.print(table)
        return
    for head, rest in items:
        words.print(head, soft_wrap=True)
        words.print(Padding(rest, (0, 0, 0, 4)))


def whole_seconds(time: str) -> str:
    return _FRACTION.sub("", time)


def number(count: int) -> str:
    """Nothing for nothing: what is there is to be seen at a glance."""
    return f"{count:,}" if count else ""


def _width(table: Table) -> int:
    return Measurement.get(words, words.options.update(max_width=BOUNDLESS), table).maximum
