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
def spark_bar(doing: str) -> Iterator[Bar]:
    """On standard error if that is a terminal, and gone before anything is given: JSON is not disturbed by it."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), "tasks"
    # a copy, for while the JVM starts standard error is a file that it inherits
    with os.fdopen(os.dup(2), "w", encoding="utf-8") as kept:
        screen = Console(file=kept, highlight=False)
        with Progress(
            *columns, TimeElapsedColumn(), console=screen, transient=True, disable=not screen.is_terminal
        ) as drawn:
            yield Bar(drawn, doing)
