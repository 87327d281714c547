"""A benchmark's report as a table for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tocsin.lab.bench import Report, Result

_MET = {True: ("yes", "green"), False: ("no", "bold red"), None: ("-", "")}
_NUMBERS = ("ours", "rival's", "ratio", "target", "median µs", "p99 µs")


def show(report: Report, console: Console | None = None) -> None:
    """To standard error unless told otherwise: standard output is for JSON alone."""
    console = console or _standard_error()
    for line in heading(report):
        console.print(line, highlight=False, markup=False)
    console.print(table(report))
    for result in report.results:
        if result.note:
            console.print(f"{result.case}: {result.note}", highlight=False, markup=False)


def _standard_error() -> Console:
    console = Console(stderr=True)
    # A file has no width; 80 columns would break the numbers.
    return console if console.is_terminal else Console(stderr=True, width=160)


def heading(report: Report) -> list[str]:
    libraries = ", ".join(f"{name} {version}" for name, version in report.versions.items())
    return [f"{report.name}, seed {report.seed}", str(report.machine), libraries]


def table(report: Report) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("case", "sizes", "ours", "unit", "rival", "rival's", "ratio", "target", "met", "median µs", "p99 µs"):
        is_number = name in _NUMBERS
        made.add_column(name, justify="right" if is_number else "left", no_wrap=is_number)
    for result in report.results:
        made.add_row(*_cells(result))
    return made


def _cells(result: Result) -> list[str | Text]:
    return [
        Text(result.case),
        Text(", ".join(f"{name} {size:,}" for name, size in result.sizes.items())),
        number(result.ours),
        Text(result.unit),
        Text(result.rival or "-"),
        number(result.rival_value),
        number(result.ratio),
        number(result.target),
        Text(*_MET[result.met]),
        number(result.median),
        number(result.p99),
    ]


def number(value: float | None) -> str:
    """Whole from a hundred up, three digits below; what was counted is whole anyway."""
    if value is None:
        return "-"
    if isinstance(value, int):
        return f"{value:,}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"
