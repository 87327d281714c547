"""`secrets`: what consumers are shown of the broker, by name."""

import base64
import os
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import msgspec
import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="Secrets towards consumers.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="How subscriptions name it.")]


@application.command()
@asking
def add(
    connection: Connection,
    name: Name,
    kind: Annotated[str, typer.Option(help="hmac, basic, bearer or header.")] = "hmac",
    value_file: Annotated[Path | None, typer.Option(help="Where the value is; standard input without it.")] = None,
    header: Annotated[str, typer.Option(help="Of kind header: the name of the header.")] = "",
    address: Annotated[str, typer.Option("--for", help="It goes to this address and below only.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Give one that is there another value.")] = False,
    generate: Annotated[bool, typer.Option("--generate", help="Of kind hmac: make one, and print it once.")] = False,
    json: options.Json = False,
) -> None:
    """Keep a secret: whsec_... for hmac, user:password for basic, the token or value for the others."""
    if generate and kind != "hmac":
        fail("--generate makes secrets of kind hmac only", WRONG_USE)
    value = _generated() if generate else _value(value_file)
    asked = {"name": name, "kind": kind, "value": value, "header": header, "for": address, "replace": replace}
    made = ask(connection, "POST", "/api/secrets", msgspec.json.encode(asked))
    if json:
        give(made | {"value": value} if generate else made)
        return
    say(f"{name} is kept; subscriptions name it with secret={name}")
    if generate:
        say(f"its value, which is not shown again: {value}")


@application.command("list")
@asking
def names(connection: Connection, json: options.Json = False) -> None:
    """Names and kinds; values are never shown."""
    found = ask(connection, "GET", "/api/secrets")
    if json:
        give(found)
        return
    table = Table("name", "kind", "header", "for", "since")
    for each in found["items"]:
        table.add_row(*(each[column] for column in ("name", "kind", "header", "for", "since")))
    words.print(table) if found["items"] else say("there are no secrets")


@application.command()
@asking
def remove(connection: Connection, name: Name) -> None:
    """Forget a secret that no subscription names."""
    ask(connection, "DELETE", f"/api/secrets/{quote(name, safe='')}")
    say(f"{name} is forgotten")


def _value(file: Path | None) -> str:
    """Never from an argument, which every user of the machine can read; a last line break is none of it."""
    try:
        if file is None and sys.stdin.isatty():
            return str(typer.prompt("value", hide_input=True, err=True))
        return (sys.stdin.read() if file is None else file.read_text("utf-8")).removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"the value cannot be read: {error}", WRONG_USE)


def _generated() -> str:
    return "whsec_" + base64.b64encode(os.urandom(32)).decode()
