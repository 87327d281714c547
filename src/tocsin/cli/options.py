"""Flags that several commands share, and settings made of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.output import WRONG_USE, fail

if TYPE_CHECKING:
    from tocsin.broker.settings import Settings

Config = Annotated[Path | None, typer.Option(help="The configuration file; tocsin.toml here if there is one.")]
Data = Annotated[Path | None, typer.Option(help="Where the log, the store and the tables are kept.")]
Directories = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="Where the log, the store and the tables are kept; again for each node that is read besides.",
    ),
]
Port = Annotated[int | None, typer.Option(help="Where to listen.")]
Setting = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting, e.g. delivery-attempts=3.")
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Namespace = Annotated[
    list[str] | None, typer.Option(metavar="PREFIX=URI", help="A prefix that the topic or another filter uses.")
]
SharedLog = Annotated[
    str | None, typer.Option(metavar="kafka://HOST:PORT/NAME", help="A log in Kafka that several nodes share.")
]
DEFAULT_BROKER = "http://127.0.0.1:8080"


def group(help: str, example: str) -> typer.Typer:
    return typer.Typer(help=help, epilog=f"Example: {example}", no_args_is_help=True)


def settings_of(extra: list[str] | None = None, **flags: object) -> "Settings":
    """From flags, environment and file; what is wrong is told whole, and the command ends with 2."""
    from tocsin.broker.settings import SettingsError, load_here

    given = {name.replace("_", "-"): str(value) for name, value in flags.items() if value is not None}
    for each in extra or ():
        name, equals, value = each.partition("=")
        if not equals:
            fail(f"--set {each!r} is not NAME=VALUE", WRONG_USE)
        given[name.replace(".", "-").replace("_", "-")] = value
    try:
        return load_here(given, os.environ, Path.cwd())
    except SettingsError as error:
        fail(str(error), WRONG_USE)


def pairs(given: list[str] | None, option: str = "--namespace", form: str = "PREFIX=URI") -> dict[str, str]:
    found: dict[str, str] = {}
    for each in given or ():
        name, equals, value = each.partition("=")
        if not (name and equals and value):
            fail(f"{option} {each!r} is not {form}", WRONG_USE)
        found[name] = value
    return found
