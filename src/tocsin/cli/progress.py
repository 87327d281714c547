"""A bar that moves with Spark's own progress, where somebody looks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


class Bar:
    """Counts the tasks of a job. Before the first is known, Spark is starting."""

    def __init__(self, drawn: Progress, doing: str) -> None:
        self._drawn, self._doing = drawn, doing
        self._task = drawn.add_task("starting Spark", total=None)

    def tell(self, done: int, total: int) -> None:
        if total:
            self._drawn.update(self._task, description=self._doing, completed=done, total=total)

    def step(self, name: str) -> None:
        self._doing = name
        self._drawn.update(self._task, description=name)


@contextmanager
def spark_bar(doing: str, *, json: bool = False) -> Iterator[Bar]:
    """On standard error if that is a terminal, and gone afterwards; none for whoever asks for JSON."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), "tasks"
    # a copy, for while the JVM starts standard error is a file that it inherits
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as kept:
        screen = Console(file=kept, highlight=False)
        shown = screen.is_terminal and not json
        with Progress(*columns, TimeElapsedColumn(), console=screen, transient=True, disable=not shown) as drawn:
            yield Bar(drawn, doing)
