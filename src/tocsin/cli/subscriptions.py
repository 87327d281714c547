"""`subscriptions` and `registrations`: who is told of what, and who publishes; ending, pausing and resuming that."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli.command import asking
from tocsin.cli.options import group
from tocsin.cli.output import Output, counted, number, show_list, table, whole_seconds
from tocsin.cli.resource import Collection, Limit, page_of
from tocsin.documents.registrations import RegistrationDocument
from tocsin.documents.subscriptions import SubscriptionDocument

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer()
subscriptions = typer.Typer(invoke_without_command=True)
registrations = group("Publishers that registered.", "tocsin registrations list")
application.add_typer(subscriptions, name="subscriptions")
application.add_typer(registrations, name="registrations")

Identity = Annotated[str, typer.Argument(metavar="ID", help="The subscription's id, or its address.")]
Registration = Annotated[str, typer.Argument(metavar="ID", help="The registration's id.")]
STYLES = {"paused": "yellow", "suspended": "red"}
COUNTERS = {"waiting": "waiting", "delivered": "delivered", "dead_letters": "dead letters"}
PULL_POINTS = "/broker/pullpoints/"
MAILBOX = ["any ()"]  # matches nothing by itself


async def listed(client: "Client", limit: Limit = 1000) -> Output:
    """List the subscriptions: who is told of what, until when, what waits, was delivered, or could not be."""
    page = page_of(await client.subscriptions.list(limit + 1), limit)
    found = page["items"]
    if not found:
        return Output(page, "there are no subscriptions; `tocsin subscribe --to URL` makes one")
    more = f"there are more than these {limit}: ask with a larger --limit"
    return Output(page, lambda: show_list(_table(found), _lines(found)), *([more] if page["more"] else ()))


asking(subscriptions.callback, "tocsin subscriptions --limit 20")(listed)
asking(subscriptions.command, "tocsin subscriptions list", name="list", hidden=True)(listed)


@asking(subscriptions.command, "tocsin subscriptions show 7f3a")
async def show(client: "Client", name: Identity) -> Output:
    """Tell all of one subscription."""
    found = await client.subscriptions.get(_id(name))
    grid = Table.grid(padding=(0, 2))
    parts: dict[str, Any] = msgspec.to_builtins(found)
    for key, value in (parts | {"consumer": _consumer(found), "filters": _filters(found)}).items():
        grid.add_row(Text(key.replace("_", " "), style="bold"), Text(_shown(value), overflow="fold"))
    return Output(found, grid)


@asking(subscriptions.command, "tocsin subscriptions cancel 7f3a")
async def cancel(client: "Client", name: Identity) -> Output:
    """End a subscription; its subscriber is told if it named an address for that."""
    await client.subscriptions.cancel(_id(name))
    return Output({"id": _id(name), "state": "ended"}, f"cancelled {_id(name)}")


@asking(subscriptions.command, "tocsin subscriptions pause 7f3a")
async def pause(client: "Client", name: Identity) -> Output:
    """Hold a subscription: what is published meanwhile is not for it."""
    found = await client.subscriptions.pause(_id(name))
    return Output(found, f"paused {_id(name)}; go on with `tocsin subscriptions resume {_id(name)}`")


@asking(subscriptions.command, "tocsin subscriptions resume 7f3a")
async def resume(client: "Client", name: Identity) -> Output:
    """Go on with a subscription that was paused or suspended."""
    return Output(await client.subscriptions.resume(_id(name)), f"resumed {_id(name)}")


def _id(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _table(items: Sequence[SubscriptionDocument]) -> Table:
    made = Table("id", "dialect", "state", "consumer", "filters", "expires", *COUNTERS.values())
    for column in made.columns[6:]:
        column.justify = "right"
    for each in items:
        made.add_row(
            each.id,
            each.dialect,
            _state(each) + _because(each),
            Text(_consumer(each)),
            Text(_filters(each)),
            whole_seconds(each.expires or "never"),
            *(number(getattr(each, name)) for name in COUNTERS),
        )
    return made


def _lines(items: Sequence[SubscriptionDocument]) -> Iterator[tuple[Text, Text]]:
    for each in items:
        counts = ((getattr(each, name), title.removesuffix("s"), title) for name, title in COUNTERS.items())
        told = "".join(f"  {counted(*count)}" for count in counts if count[0])
        head = Text.assemble((each.id, "bold"), "  ", _state(each), told)
        until = f"until {whole_seconds(each.expires)}" if each.expires else "never expires"
        said = "  ".join((each.dialect, _consumer(each), _filters(each), until))
        yield head, Text(said, overflow="fold") + _because(each)


def _state(each: SubscriptionDocument) -> Text:
    return Text(each.state, style=STYLES.get(each.state, ""))


def _because(each: SubscriptionDocument) -> Text:
    """Why it is suspended, on a line of its own."""
    return Text(f"\n{each.reason}" if each.state == "suspended" and each.reason else "", style="dim")


def _consumer(each: SubscriptionDocument) -> str:
    """A pull point that another subscription feeds is named by its path alone."""
    if each.consumer is None:
        return "pull point"
    return f"pull point {_id(each.consumer)}" if each.consumer.startswith(PULL_POINTS) else each.consumer


def _filters(each: SubscriptionDocument) -> str:
    if each.filters == MAILBOX:
        return "what is sent to it"
    return ", ".join(each.filters) or "everything"


def _shown(value: object) -> str:
    match value:
        case None | "" | []:
            return "none"
        case list():
            return ", ".join(map(_shown, value))
        case dict():
            return msgspec.json.encode(value).decode()
        case int():
            return f"{value:,}"
    return str(value)


def _registrations(found: Sequence[RegistrationDocument]) -> Table:
    titles = ("registration", "publisher", "topics", "on demand", "expires")
    rows = (
        (each.id, each.publisher or "", ", ".join(each.topics), each.upstream or "", whole_seconds(each.expires or ""))
        for each in found
    )
    return table(titles, rows)


_registrations_commands = Collection(registrations, "tocsin registrations", Registration, "7f3a")
_registrations_commands.add_list(
    "The publishers that registered, with their topics.",
    lambda client: client.registrations.list(),
    _registrations,
    "no publisher is registered",
)
_registrations_commands.add_show(
    "One registration.",
    lambda client, name: client.registrations.get(name),
    lambda found: _registrations([found]),
)
_registrations_commands.add_remove(
    "remove",
    "End a registration; the broker ends what it subscribed to there.",
    lambda client, name: client.registrations.remove(name),
    "no longer registered",
)
