"""`views`: the replies to what was published, looked at later or as they come."""

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.command import asking
from tocsin.cli.options import Json
from tocsin.cli.output import Output, console, give, say, show_list, table, until_signalled, whole_seconds
from tocsin.cli.replies import drawing, figures, show_view

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.client.replies import ReplyView
    from tocsin.documents.replies import ViewDocument

application = typer.Typer(invoke_without_command=True)
Id = Annotated[str, typer.Argument(metavar="ID", help="The id or the address of the view.")]
NONE = "you have no views here; `tocsin publish FILE --topic T --reply-type enum:yes,no` asks for replies"


async def listed(client: "Client") -> Output:
    """The replies to what you published: views of them, to be looked at and terminated.

    Without a command they are listed.
    """
    from rich.text import Text

    found = await client.views()
    if not found:
        return Output({"items": found}, NONE)
    rows = [(each.id, each.topic, each.reply_type, figures(each), _until(each)) for each in found]
    lines = [(Text(name), Text("; ".join(rest))) for name, *rest in rows]
    drawn = table(("view", "topic", "asks for", "replies", "until"), rows)
    return Output({"items": found}, lambda: show_list(drawn, lines))


asking(application.callback, "tocsin views")(listed)
asking(application.command, "tocsin views list", name="list", help="List them.")(listed)


def _until(view: "ViewDocument") -> str:
    return view.ended or f"open until {whole_seconds(view.until)}"


@asking(application.command, "tocsin views show 5f0c8a --watch")
async def show(
    client: "Client",
    name: Id,
    watch: Annotated[bool, typer.Option("--watch", help="Go on while it changes, until it ends or Ctrl-C.")] = False,
    look: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long other nodes are asked for what they have.", min=0.0)
    ] = 0.0,
    json: Json = False,
) -> None:
    """Show the replies to a publication, as they are or as they come; with --json and --watch a document a line."""
    view = client.view(name)
    if not watch:
        found = await view.look(look)
        Output(found, lambda: show_view(found)).show(json)
        return
    last: list[ViewDocument] = []
    with until_signalled() as stop:
        watching = asyncio.ensure_future(_watch(view, json, last))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait({watching, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not watching.done():
            watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watching
    if last and not json:
        show_view(last[-1])


async def _watch(view: "ReplyView[None]", json: bool, last: "list[ViewDocument]") -> None:
    """A drawing that is drawn again for eyes, a line for each change elsewhere."""
    from rich.live import Live

    screen = console()
    live = Live(console=screen, refresh_per_second=8, transient=True) if screen.is_terminal and not json else None
    with live or contextlib.nullcontext():
        async for found in view.stream():
            last[:] = [found]
            if live is not None:
                live.update(drawing(found))
            elif json:
                give(found)
            else:
                say(figures(found))


@asking(application.command, "tocsin views terminate 5f0c8a")
async def terminate(
    client: "Client",
    name: Id,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long other nodes are waited for.", min=0.0, max=20.0)
    ] = 2.0,
) -> Output:
    """Terminate a view: what comes later does not count."""
    found = await client.view(name).terminate(grace)
    return Output(found, lambda: show_view(found))
