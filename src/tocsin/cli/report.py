"""A report on the tables, for eyes: its sections one below the other, and where the page of plots is."""

from pathlib import Path

from rich.text import Text

from tocsin.cli.output import console, fail, give, say, show_whole, table
from tocsin.cli.progress import spark_bar
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.report.job import ReportSettings, report, time_named
from tocsin.pipeline.report.tables import NOTHING_YET, Grid, sections, span
from tocsin.pipeline.report.values import Report
from tocsin.pipeline.session import SparkSettings
from tocsin.pipeline.tables.storage import Storage


def run_report(
    data: Path,
    storage: Storage,
    between: tuple[str | None, str | None],
    top: int,
    spark: SparkSettings,
    *,
    out: Path | None,
    json: bool,
) -> None:
    try:
        start, stop = (None if text is None else time_named(text) for text in between)
        with spark_bar("summing up") as bar:
            found = report(ReportSettings(data, storage, start, stop, top, spark), bar.step, bar.tell)
    except PipelineError as problem:
        fail(str(problem))
    written = None if out is None else _write(found, out)
    if json:
        give(found)
        return
    show(found)
    say("--out DIR writes a page of plots" if written is None else f"written: {written}")


def _write(found: Report, out: Path) -> Path:
    from tocsin.pipeline.report.page import write

    try:
        return write(found, out)
    except OSError as problem:
        fail(f"the page cannot be written: {problem}")


def show(found: Report) -> None:
    say(f"A report on {span(found)}.")
    if found.is_empty:
        say(NOTHING_YET)
    for section in sections(found):
        console().print(Text(f"\n{section.title}", style="bold"))
        for grid in section.grids:
            _show(grid)
        for note in section.notes:
            say(note)


def _show(grid: Grid) -> None:
    columns = grid.columns if any(grid.columns) else (grid.title, *grid.columns[1:])
    show_whole(table(columns, grid.rows, right=range(grid.names, len(columns))))
    say("")
