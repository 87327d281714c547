"""`ring`: the nodes that are one broker together; how one leaves them, and is put out when it does not come back."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from tocsin.cli.command import asking
from tocsin.cli.output import Output, show_list, table
from tocsin.documents.ring import MemberDocument, RingDocument

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer(invoke_without_command=True)
ALONE = "this node is a ring of one: it has all of it; `tocsin serve --join HOST:PORT` starts another beside it"
COUNTS = ("share", "load", "subscriptions", "accepted", "passed on", "left", "delivered")
NAMES = ("node", "doors", *COUNTS, "copies at", "")


@asking(application.callback, "tocsin ring")
async def ring(client: "Client") -> Output:
    """The nodes of a ring: which part each has, how much lies on it, and where copies of that are."""
    found = await client.ring.get()
    rows = [_row(each, found.node) for each in found.members]
    drawn = table(NAMES, rows, right=range(2, 2 + len(COUNTS)))
    lines = [(Text(row[0]), Text(_line(row))) for row in rows]
    return Output(found, lambda: show_list(drawn, lines), *_words(found))


@asking(application.command, "tocsin ring leave --broker http://127.0.0.1:8081")
async def leave(client: "Client") -> Output:
    """Take the node that is asked out of its ring for good. It hands over what it has, and ends when the others go on
    for it; it says so where it runs."""
    await client.ring.leave()
    return Output({"leaves": True}, "it hands over what it has, and ends; `tocsin ring` at another node shows the rest")


@asking(application.command, "tocsin ring remove node-1f2e3d4c")
async def remove(
    client: "Client", node: Annotated[str, typer.Argument(help="Its name, as `tocsin ring` shows it.")]
) -> Output:
    """Put out a node that does not come back, when so many are gone that the others cannot agree on it. Only when it
    surely runs no more: else there are two rings."""
    await client.ring.remove(node)
    return Output({"node": node, "removed": True}, f"{node} is put out; started again it enters again")


def _row(each: MemberDocument, here: str) -> tuple[str, ...]:
    counts = (each.subscriptions, each.accepted, each.relayed, each.left, each.delivered)
    told = ("" if count is None else f"{count:,}" for count in counts)
    state = each.trouble or ("" if each.ready else "fetches its part") or ("this one" if each.node == here else "")
    load = "" if each.load is None else f"{each.load:.2f}"
    return each.node, each.url or "none", f"{each.share:.1%}", load, *told, ", ".join(each.keepers or ()), state


def _line(row: tuple[str, ...]) -> str:
    _, doors, share, load, subscriptions, accepted, relayed, left, delivered, copies, state = row
    said = f"doors {doors}; {share} of the circle{f', {load} times the mean to do' if load else ''}; {subscriptions}"
    said = f"{said} subscriptions; {accepted} accepted, {relayed} passed on, {left} left, {delivered} delivered; copies"
    return f"{said} at {copies or 'none'}{'; ' if state else ''}{state}"


def _words(found: RingDocument) -> Iterator[str]:
    if len(found.members) == 1:
        yield ALONE
    if found.standing == "alone":
        yield "this node does not reach the most of its ring: it acknowledges nothing until it does"
    loads = [each.load for each in found.members if each.load is not None]
    if len(loads) > 1:
        yield f"roster {found.roster}; the most loaded has {max(loads):.1f} times the mean to do"
