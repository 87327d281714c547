"""`config`: what is in force, and where each value came from."""

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.output import give, words


def register(application: typer.Typer) -> None:
    application.command("config")(configuration)


def configuration(config: options.Config = None, extra: options.Setting = None, json: options.Json = False) -> None:
    """Print every setting in force and where it came from: a flag, the environment, the file or the default."""
    from tocsin.broker.settings import rows

    found = rows(options.settings_of(extra, config=config))
    if json:
        give({name: {"value": value, "origin": origin} for name, value, origin in found})
        return
    table = Table("setting", "value", "from")
    for name, value, origin in found:
        table.add_row(name, value, origin, style=None if origin == "default" else "bold")
    words.print(table)
