"""`doctor`: what stands in the way of a broker that runs well, and what to do about it."""

import os

import typer
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.command import Connection, asking
from tocsin.cli.output import WRONG_USE, console, counted, fail, give, say

MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "problem": ("problem", "bold red")}


application = typer.Typer()


@asking(application.command, "tocsin doctor --data ./data")
async def doctor(
    connection: Connection,
    context: typer.Context,
    data: options.Data = None,
    config: options.Config = None,
    extra: options.Setting = None,
    json: options.Json = False,
) -> None:
    """Check this machine, the data directory and the broker; ends with 1 when there is a problem.

    Without --broker it is looked for where the settings put it.
    """
    from tocsin.client.connection import trust_of
    from tocsin.platform.doctor import examine
    from tocsin.wire.tls import BadTrust

    settings = options.settings_of(extra, data=data, config=config)
    trust = trust_of(connection.ca_file, connection.client_cert, connection.client_key)
    try:
        trust.check()
    except BadTrust as problem:
        fail(str(problem), WRONG_USE)
    broker = connection.broker if _was_given(context, "broker") else None
    found = await examine(settings, os.environ, broker, trust)
    count = {state: sum(each.state == state for each in found) for state in MARKS}
    if json:
        give({"healthy": not count["problem"], **count, "findings": found})
    else:
        for each in found:
            _show(each.check, each.state, each.text, each.advice)
        say(_summary(count))
    raise typer.Exit(1 if count["problem"] else 0)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _show(check: str, state: str, text: str, advice: str) -> None:
    mark, style = MARKS[state]
    line = Text(f"{mark:>8}", style=style)
    line.append(f"  {check:<18}  ", style="bold").append(text, style="not bold default")
    console().print(line, soft_wrap=True)
    if advice:
        console().print(Text(f"{'':>30}{advice}", style="dim"), soft_wrap=True)


def _summary(count: dict[str, int]) -> str:
    if not count["problem"] and not count["warning"]:
        return "all is well"
    return ", ".join(counted(count[name], name).replace("0 ", "no ", 1) for name in ("problem", "warning"))
