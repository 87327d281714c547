"""`trace`: who was told of a notification, who was not, and why."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer
from rich.text import Text
from rich.tree import Tree

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection
from tocsin.cli.listing import whole_seconds
from tocsin.cli.output import WRONG_USE, fail, give, say, words

MOST_PAGES = 100
MARKS: dict[str, tuple[str, str]] = {
    "yes": ("✓", "green"),
    "no": ("✗", "red"),
    "undecided": ("?", "yellow"),
    "does not apply": ("✗", "red"),
}
WANTED = {True: "yes", False: "no", None: "undecided"}
DECIDES = "  ← decides"
FAILED = "could not be evaluated: "


def register(application: typer.Typer) -> None:
    application.command("trace")(asking(trace))


def trace(
    connection: Connection,
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="Its id, or its cause.")] = "",
    subscription: Annotated[str, typer.Option(help="Why this one wanted it or did not; its id or address.")] = "",
    offset: Annotated[int | None, typer.Option(help="By its record, instead of MESSAGE.", min=0)] = None,
    index: Annotated[int | None, typer.Option(help="Which of those that came in one record.", min=0)] = None,
    every: Annotated[bool, typer.Option("--all", help="Also the subscriptions that did not want it.")] = False,
    limit: Annotated[int | None, typer.Option(help="Of how many at most.", min=1)] = None,
    json: options.Json = False,
) -> None:
    """Tell who wanted a notification and why; with --subscription alone, why the newest did or did not arrive."""
    name = subscription.rstrip("/").rpartition("/")[2]
    if message and offset is not None:
        fail("name MESSAGE or --offset, not both", WRONG_USE)
    if not message and offset is None:
        if not name:
            fail("name a MESSAGE by its id or cause, or a --subscription to see what of the newest it wants", WRONG_USE)
        _newest(connection, name, limit or 10, json)
        return
    sought = {"offset": offset, "index": index, "subscription": name}
    found = _found(connection, message, sought, every, limit or 100)
    if json:
        give(found)
        return
    words.print(tree_of(found, every or bool(name)))
    if found["next"] is not None:
        say(f"there are more than these {len(found['items'])}: ask with a larger --limit, or for one --subscription")


def _found(connection: Connection, message: str, sought: dict[str, Any], every: bool, limit: int) -> Any:
    """Page after page: each looks at some subscriptions, and may find none of them concerned."""
    asked = {name: value for name, value in sought.items() if value not in ("", None)}
    asked["all"] = "true" if every else "false"
    path = f"/api/trace/{quote(message, safe='')}" if message else "/api/trace"
    found = ask(connection, "GET", f"{path}?{urlencode(asked | {'limit': min(limit, 1000)})}")
    place = {name: found["notification"][name] for name in ("offset", "index")}
    for _ in range(MOST_PAGES):
        left = limit - len(found["items"])
        if found["next"] is None or left <= 0:
            break
        more = place | {"all": asked["all"], "limit": min(left, 1000), "after": found["next"]}
        page = ask(connection, "GET", f"/api/trace?{urlencode(more)}")
        found = page | {"items": found["items"] + page["items"]}
    return found


def _newest(connection: Connection, subscription: str, limit: int, json: bool) -> None:
    path = f"/api/subscriptions/{quote(subscription, safe='')}/explain?limit={limit}"
    found = ask(connection, "GET", path)
    if json:
        give(found)
        return
    if not found["items"]:
        say("nothing was published yet that could have been for it")
        return
    tree = Tree(Text.assemble("the newest before ", (subscription, "bold")))
    for each in found["items"]:
        (account,) = each["items"]
        branch = tree.add(_headed(account, _named(each["notification"])))
        _grow(branch, account, account["wanted"] is not True)
    words.print(tree)
    if found["cut"]:
        say(f"there was no time or room for more than these {len(found['items'])}; name one MESSAGE")


def tree_of(found: dict[str, Any], every: bool) -> Tree:
    notification = found["notification"]
    tree = Tree(_named(notification))
    tree.add(Text(_origin(notification), style="dim"))
    for each in found["items"]:
        shown = Text.assemble((each["subscription"], "bold"), f"  {each['consumer'] or 'pull point'}")
        _grow(tree.add(_headed(each, shown)), each, each["wanted"] is not True)
    if not found["items"]:
        hint = "" if every else "; --all tells why not, for each"
        tree.add(Text(f"no subscription {'stands' if every else 'wanted it'}{hint}", style="yellow"))
    return tree


def _named(notification: dict[str, Any]) -> Text:
    return Text.assemble((notification["id"], "bold"), f"  on {notification['topic']}")


def _origin(notification: dict[str, Any]) -> str:
    kind, size = notification["type"] or "no type", notification["bytes"]
    parts = [
        f"record {notification['offset']}",
        f"accepted {whole_seconds(notification['when'])} at {notification['door']}",
        notification["dialect"],
        f"from {notification['producer'] or 'an unnamed producer'}",
        f"{kind}, {notification['media_type'] or 'of no kind'}, {size:,} byte{'' if size == 1 else 's'}",
    ]
    if notification["content_topic"]:
        parts.append(notification["content_topic"])
    if notification["of"] > 1:
        parts.append(f"number {notification['index']} of {notification['of']} in its record")
    return ", ".join(parts)


def _headed(account: dict[str, Any], named: Text) -> Text:
    """The mark, what it is about, and the sentence that says it all, unless the only part does."""
    mark, style = MARKS[WANTED[account["wanted"]]]
    outcome = f"  {account['outcome']}" if account["outcome"] else ""
    parts, detail = account["parts"], account["detail"]
    because = account["because"] if len(parts) != 1 or parts[0]["parts"] else ""
    reason = detail.partition(FAILED)[2] if account["wanted"] is None else ""
    if reason and any(each["why"].endswith(reason) for each in parts):
        detail = ""  # the dead letter has no other reason than its filter
    said = "; ".join(text for text in (because, detail, account["remark"]) if text)
    return Text.assemble((f"{mark} ", style), named, (outcome, "cyan"), (f"\n{said}" if said else "", "dim"))


def _grow(branch: Tree, told: dict[str, Any], marked: bool) -> None:
    """The one that decided is marked, and in it the one that decided that."""
    for each in told["parts"]:
        mark, style = MARKS[each["verdict"]]
        decides = marked and each["decides"]
        said = Text.assemble((f"{mark} ", style), each["what"], (f"  {each['why']}", "dim"))
        said.append(DECIDES if decides else "", style="bold")
        _grow(branch.add(said), each, decides)
    if told["more"]:
        branch.add(Text(f"and {told['more']:,} more", style="dim"))
