"""`secrets`: what consumers are shown of the broker, by name."""

import asyncio
import base64
import os
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="Secrets towards consumers.", no_args_is_help=True)
LONGEST_ANSWER = 1 << 20
JSON = (("Content-Type", "application/json"),)
Name = Annotated[str, typer.Argument(help="How subscriptions name it.")]


@application.command()
def add(
    name: Name,
    kind: Annotated[str, typer.Option(help="hmac, basic, bearer or header.")] = "hmac",
    value_file: Annotated[Path | None, typer.Option(help="Where the value is; standard input without it.")] = None,
    header: Annotated[str, typer.Option(help="Of kind header: the name of the header.")] = "",
    address: Annotated[str, typer.Option("--for", help="It goes to this address and below only.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Give one that is there another value.")] = False,
    generate: Annotated[bool, typer.Option("--generate", help="Of kind hmac: make one, and print it once.")] = False,
    broker: options.Broker = options.DEFAULT_BROKER,
    json: options.Json = False,
) -> None:
    """Keep a secret: whsec_... for hmac, user:password for basic, the token or value for the others."""
    if generate and kind != "hmac":
        fail("--generate makes secrets of kind hmac only", WRONG_USE)
    value = _generated() if generate else _value(value_file)
    asked = {"name": name, "kind": kind, "value": value, "header": header, "for": address, "replace": replace}
    made = _call(broker, "POST", "/api/secrets", asked)
    if json:
        give(made | {"value": value} if generate else made)
        return
    say(f"{name} is kept; subscriptions name it with secret={name}")
    if generate:
        say(f"its value, which is not shown again: {value}")


@application.command("list")
def names(broker: options.Broker = options.DEFAULT_BROKER, json: options.Json = False) -> None:
    """Names and kinds; values are never shown."""
    found = _call(broker, "GET", "/api/secrets")
    if json:
        give(found)
        return
    table = Table("name", "kind", "header", "for", "since")
    for each in found["items"]:
        table.add_row(*(each[column] for column in ("name", "kind", "header", "for", "since")))
    words.print(table) if found["items"] else say("there are no secrets")


@application.command()
def remove(name: Name, broker: options.Broker = options.DEFAULT_BROKER) -> None:
    """Forget a secret that no subscription names."""
    _call(broker, "DELETE", f"/api/secrets/{quote(name, safe='')}")
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


def _call(broker: str, method: str, path: str, body: object = None) -> Any:
    """What the broker answers; what it refuses ends the command."""
    import msgspec

    from tocsin.client.answers import problem_of
    from tocsin.wire.http_client import HttpClient

    async def run() -> Any:
        http, said = HttpClient(max_body=LONGEST_ANSWER), b"" if body is None else msgspec.json.encode(body)
        try:
            return await http.request(method, broker.rstrip("/") + path, JSON, said)
        finally:
            await http.close()

    answer = asyncio.run(run())
    if not 200 <= answer.status < 300:
        fail(problem_of(answer))
    return msgspec.json.decode(answer.body) if answer.body else None
