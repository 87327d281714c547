"""`doctor`: what stands in the way of a broker that runs well, and what to do about it."""

import asyncio
import os
from typing import Annotated

import typer
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.output import give, say, words

MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "problem": ("problem", "bold red")}


def register(application: typer.Typer) -> None:
    application.command("doctor")(doctor)


def doctor(
    broker: Annotated[str | None, typer.Option(help="The broker's address; where the settings put it without.")] = None,
    data: options.Data = None,
    config: options.Config = None,
    extra: options.Setting = None,
    json: options.Json = False,
) -> None:
    """Check this machine, the data directory and the broker; ends with 1 when there is a problem."""
    from tocsin.app.doctor import examine

    settings = options.settings_of(extra, data=data, config=config)
    found = asyncio.run(examine(settings, os.environ, broker))
    count = {state: sum(each.state == state for each in found) for state in MARKS}
    if json:
        give({"healthy": not count["problem"], **count, "findings": found})
    else:
        for each in found:
            _show(each.check, each.state, each.text, each.advice)
        say(_summary(count))
    raise typer.Exit(1 if count["problem"] else 0)


def _show(check: str, state: str, text: str, advice: str) -> None:
    mark, style = MARKS[state]
    line = Text(f"{mark:>8}", style=style)
    line.append(f"  {check:<18}  ", style="bold").append(text, style="not bold default")
    words.print(line, soft_wrap=True)
    if advice:
        words.print(Text(f"{'':>30}{advice}", style="dim"), soft_wrap=True)


def _summary(count: dict[str, int]) -> str:
    if not count["problem"] and not count["warning"]:
        return "all is well"
    return f"{_number(count['problem'], 'problem')}, {_number(count['warning'], 'warning')}"


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
