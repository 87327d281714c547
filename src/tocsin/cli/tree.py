"""`tree`: the neighbours of a node, and taking one out that does not come back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tocsin.cli.command import asking
from tocsin.cli.output import Output, show_list, table, whole_seconds
from tocsin.documents.tree import TreeDocument, TreeNeighbourDocument

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer(invoke_without_command=True)
ALONE = "this node is in no tree: it has no parent and no children; `tocsin serve --parent URL` starts one below it"


@asking(application.callback, "tocsin tree")
async def tree(client: "Client") -> Output:
    """The neighbours of a node in its tree: who is joined, what each asks for, and what goes to it."""
    found = await client.tree.get()
    if found.parent is None and not found.children and not found.leaving:
        return Output(found, ALONE)
    rows = list(_rows(found))
    names = ("", "node", "asks for", "joined", "heard", "waiting", "delivered")
    drawn = table(names, rows, right=(5, 6))
    lines = [(Text(f"{row[0]} {row[1]}"), Text(_line(row))) for row in rows]
    return Output(found, lambda: show_list(drawn, lines), *_words(found))


@asking(application.command, "tocsin tree remove http://127.0.0.1:8081")
async def remove(
    client: "Client", node: Annotated[str, typer.Argument(help="Its address, as `tocsin tree` shows it.")]
) -> Output:
    """Take out a child that does not come back; what waits for it is dropped. Or a former parent that does not."""
    await client.tree.remove(node)
    return Output({"node": node, "removed": True}, f"{node} is taken out; started again it joins again")


def _rows(found: TreeDocument) -> Iterator[tuple[str, ...]]:
    if found.parent is not None:
        yield _row("parent", found.parent)
    for each in found.children:
        yield _row("child", each)


def _row(what: str, each: TreeNeighbourDocument) -> tuple[str, ...]:
    since, heard = (whole_seconds(when) if when else "" for when in (each.since, each.heard))
    asks = "everything" if each.asks is None else f"{each.asks:,} filter{'' if each.asks == 1 else 's'}"
    return what, each.node, asks, since or "not yet", heard, f"{each.waiting:,}", f"{each.delivered:,}"


def _line(row: tuple[str, ...]) -> str:
    _, _, asks, since, _, waiting, delivered = row
    return f"asks for {asks}; joined {since}; {waiting} waiting; {delivered} delivered"


def _words(found: TreeDocument) -> Iterator[str]:
    """What is not as it should be, and what this node asks for."""
    if found.parent is not None:
        asks = "everything" if found.asks is None else f"{found.asks:,} filters"
        why = ": what is asked for here and below is too much to be told one by one" if found.too_much else ""
        told = "" if found.told else ", which the parent does not know yet"
        yield f"this node asks its parent for {asks}{why}{told}"
        if found.parent.trouble:
            yield found.parent.trouble
    for each in found.leaving:
        yield f"{each} was the parent before, and is to be told so; `tocsin tree remove {each}` gives it up"
