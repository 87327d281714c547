"""`dead-letters`: what could not be delivered, and another try."""

import asyncio
from typing import Annotated, Any

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.output import fail, give, say, words


def register(application: typer.Typer) -> None:
    application.command("dead-letters")(dead_letters)


def dead_letters(
    redrive: Annotated[list[int] | None, typer.Option(help="Try this one again; may be repeated.")] = None,
    redrive_all: Annotated[bool, typer.Option("--redrive-all", help="Try all of them again.")] = False,
    subscription: Annotated[str, typer.Option(help="Only those of this subscription.")] = "",
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    broker: options.Broker = options.DEFAULT_BROKER,
    json: options.Json = False,
) -> None:
    """List the dead letters of a broker, or try them again."""
    from tocsin.client.answers import ClientError
    from tocsin.client.client import Client

    async def run() -> Any:
        client = Client(broker)
        try:
            if redrive or redrive_all:
                return await client.post("/api/dead-letters/redrive", {"ids": None if redrive_all else redrive})
            of = f"&subscription={subscription}" if subscription else ""
            return await client.get(f"/api/dead-letters?limit={limit}{of}")
        finally:
            await client.close()

    try:
        found = asyncio.run(run())
    except ClientError as error:
        fail(str(error))
    if json:
        give(found)
    elif "redriven" in found:
        say(f"{found['redriven']} will be tried again")
    else:
        _show(found["items"])


def _show(items: list[dict[str, Any]]) -> None:
    if not items:
        say("there are no dead letters")
        return
    table = Table("id", "when", "notification", "consumer", "tries", "state", "reason")
    table.columns[0].justify = table.columns[4].justify = "right"
    for each in items:
        row = (each["id"], each["when"], each["notification"], each["consumer"], each["attempts"])
        table.add_row(*map(str, row), each["state"], each["reason"])
    words.print(table)
