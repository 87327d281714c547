"""`trace`: who was told of a notification, who was not, and why."""

from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import UNSET
from msgspec.structs import replace
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.command import asking
from tocsin.cli.output import WRONG_USE, Output, fail, whole_seconds
from tocsin.documents.traces import AccountDocument, PartDocument, TracedDocument, TraceDocument

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer()
PAGE, MOST_PAGES = 1000, 100
MARKS: dict[str, tuple[str, str]] = {
    "yes": ("✓", "green"),
    "no": ("✗", "red"),
    "undecided": ("?", "yellow"),
    "does not apply": ("✗", "red"),
}
WANTED = {True: "yes", False: "no", None: "undecided"}
DECIDES = "  ← decides"
FAILED = "could not be evaluated: "


@asking(application.command, "tocsin trace urn:uuid:6ba7b810 --all")
async def trace(
    client: "Client",
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Its id, or its cause.")] = "",
    subscription: Annotated[str, typer.Option(help="Why this one wanted it or did not; its id or address.")] = "",
    offset: Annotated[int | None, typer.Option(help="By its record, instead of MESSAGE.", min=0)] = None,
    index: Annotated[int | None, typer.Option(help="Which of those that came in one record.", min=0)] = None,
    every: Annotated[bool, typer.Option("--all", help="Also the subscriptions that did not want it.")] = False,
    limit: Annotated[int | None, typer.Option(help="Of how many at most.", min=1)] = None,
) -> Output:
    """Tell who wanted a notification and why, and what became of it.

    With --subscription alone, tell why the newest did or did not arrive.
    """
    name = subscription.rstrip("/").rpartition("/")[2]
    if message and offset is not None:
        fail("name MESSAGE or --offset, not both", WRONG_USE)
    if not message and offset is None:
        if not name:
            fail("name a MESSAGE by its id or cause, or a --subscription to see what of the newest it wants", WRONG_USE)
        return await _newest(client, name, limit or 10)
    most = limit or 100
    first = await client.traces.get(
        message, offset=offset, index=index, subscription=name, every=every, limit=min(most, PAGE)
    )
    found = await _whole(client, first, every, most)
    more = f"there are more than these {len(found.items)}: ask with a larger --limit, or for one --subscription"
    return Output(found, tree_of(found, every or bool(name)), *([more] if found.next is not None else ()))


async def _whole(client: "Client", found: TraceDocument, every: bool, limit: int) -> TraceDocument:
    """Page after page: each looks at some subscriptions, and may find none of them concerned."""
    at = found.notification
    for _ in range(MOST_PAGES):
        left = limit - len(found.items)
        if found.next is None or left <= 0:
            break
        place: dict[str, Any] = {"offset": at.offset, "index": at.index} if at.node is UNSET else {"message": at.id}
        page = await client.traces.get(**place, every=every, after=found.next, limit=min(left, PAGE))
        found = replace(page, items=found.items + page.items)
    return found


async def _newest(client: "Client", subscription: str, limit: int) -> Output:
    found = await client.subscriptions.explain(subscription, limit)
    if not found.items:
        return Output(found, "nothing was published yet that could have been for it")
    tree = Tree(Text.assemble("the newest before ", (subscription, "bold")))
    for each in found.items:
        (account,) = each.items
        _grow(tree.add(_headed(account, _named(each.notification))), account, account.wanted is not True)
    cut = f"there was no time or room for more than these {len(found.items)}; name one MESSAGE"
    return Output(found, tree, *([cut] if found.cut else ()))


def tree_of(found: TraceDocument, every: bool) -> Tree:
    tree = Tree(_named(found.notification))
    notification = found.notification
    kind, size = notification.type or "no type", notification.bytes
    parts = [
        f"record {notification.offset}",
        f"accepted {whole_seconds(notification.when)} {_from(notification)}",
        notification.dialect,
        f"from {notification.producer or 'an unnamed producer'}",
        f"{kind}, {notification.media_type or 'of no kind'}, {size:,} byte{'' if size == 1 else 's'}",
    ]
    if notification.content_topic:
        parts.append(notification.content_topic)
    if notification.of > 1:
        parts.append(f"number {notification.index} of {notification.of} in its record")
    tree.add(Text(", ".join(parts), style="dim"))
    for each in found.items:
        at = "" if each.node is UNSET else f"  at {each.node}"
        shown = Text.assemble((each.subscription, "bold"), f"  {each.consumer or 'pull point'}{at}")
        _grow(tree.add(_headed(each, shown)), each, each.wanted is not True)
    if not found.items:
        hint = "" if every else "; --all tells why not, for each"
        tree.add(Text(f"no subscription {'stands' if every else 'wanted it'}{hint}", style="yellow"))
    return tree


def _from(notification: TracedDocument) -> str:
    if notification.node is not UNSET and notification.path:
        return f"from {' by '.join(notification.path)} to {notification.node}"
    return f"at {notification.door}" if notification.by is None else f"from the node {notification.by}"


def _named(notification: TracedDocument) -> Text:
    return Text.assemble((notification.id, "bold"), f"  on {notification.topic}")


def _headed(account: AccountDocument, named: Text) -> Text:
    """The mark, what it is about, and the sentence that says it all, unless the only part does."""
    mark, style = MARKS[WANTED[account.wanted]]
    outcome = f"  {account.outcome}" if account.outcome else ""
    parts, detail = account.parts, account.detail
    because = account.because if len(parts) != 1 or parts[0].parts else ""
    reason = detail.partition(FAILED)[2] if account.wanted is None else ""
    if reason and any(each.why.endswith(reason) for each in parts):
        detail = ""  # the dead letter has no other reason than its filter
    words = "; ".join(text for text in (because, detail, account.remark) if text)
    return Text.assemble((f"{mark} ", style), named, (outcome, "cyan"), (f"\n{words}" if words else "", "dim"))


def _grow(branch: Tree, of: AccountDocument | PartDocument, marked: bool) -> None:
    """The one that decided is marked, and in it the one that decided that."""
    for each in of.parts:
        mark, style = MARKS[each.verdict]
        decides = marked and each.decides
        label = Text.assemble((f"{mark} ", style), each.what, (f"  {each.why}", "dim"))
        label.append(DECIDES if decides else "", style="bold")
        _grow(branch.add(label), each, decides)
    if of.more:
        branch.add(Text(f"and {of.more:,} more", style="dim"))
