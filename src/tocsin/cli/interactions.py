"""`interact`: services that ask and tell each other, by the eight patterns of paper 000 s2.1."""

from typing import Annotated, Any
from urllib.parse import quote, urlencode

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask as ask_api
from tocsin.cli.api import asking, pages
from tocsin.cli.connection import Connection
from tocsin.cli.listing import show_list, whole_seconds
from tocsin.cli.output import WRONG_USE, fail, give, say, words

application = typer.Typer(help="Services that ask and tell each other, by eight patterns.", no_args_is_help=True)
PatternName = Annotated[str, typer.Argument(metavar="PATTERN", help="One of `tocsin interact patterns`.")]
Topic = Annotated[str, typer.Argument(help="A topic of the world.")]
Data = Annotated[str, typer.Argument(help="JSON, or with --media-type a text.")]
MediaType = Annotated[str, typer.Option(help="What the data is.")]
By = Annotated[str, typer.Option(metavar="SERVICE", help="Who does it.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many.")]
JSON = "application/json"


@application.command()
@asking
def patterns(connection: Connection, json: options.Json = False) -> None:
    """List the eight patterns: who begins, and what then happens."""
    found = ask_api(connection, "GET", "/api/patterns")
    if json:
        give(found)
        return
    table = Table("pattern", "begins", "figure", "what happens", box=None, pad_edge=False, header_style="bold")
    for each in found["items"]:
        table.add_row(Text(each["name"], "bold"), each["begins"], each["figure"], Text(each["says"]))
    words.print(table)


@application.command()
@asking
def ask(
    connection: Connection,
    pattern: PatternName,
    topic: Topic,
    data: Data = "null",
    *,
    by: By,
    of: Annotated[str, typer.Option(metavar="SERVICE", help="The producer that is asked.")] = "",
    category: Annotated[str, typer.Option(help="Of the producers that the broker may pick from.")] = "",
    prefer: Annotated[
        list[str] | None, typer.Option(metavar="QUALITY[:WEIGHT]", help="More of it is better; may be given again.")
    ] = None,
    avoid: Annotated[
        list[str] | None, typer.Option(metavar="QUALITY[:WEIGHT]", help="Less of it is better; may be given again.")
    ] = None,
    at_most: Annotated[list[str] | None, typer.Option(metavar="QUALITY=NUMBER", help="A bound from above.")] = None,
    at_least: Annotated[list[str] | None, typer.Option(metavar="QUALITY=NUMBER", help="A bound from below.")] = None,
    policy: Annotated[list[str] | None, typer.Option(help="What the producer must promise.")] = None,
    also: Annotated[str, typer.Option(help="Who is told too: interests, or channel.")] = "",
    channel: Annotated[str, typer.Option(metavar="TOPIC", help="On which topic, with --also channel.")] = "",
    media_type: MediaType = JSON,
    json: options.Json = False,
) -> None:
    """Ask as a consumer: a request, or with push-1:1-explicit and push-1:n-explicit a subscription."""
    asked = {
        "pattern": pattern,
        "topic": topic,
        "by": by,
        "of": of,
        "category": category,
        "profile": {
            "qualities": _qualities(prefer or [], avoid or [], at_most or [], at_least or []),
            "policies": policy or [],
        },
        "also": also,
        "channel": channel,
        **_data(data, media_type),
    }
    made = ask_api(connection, "POST", "/api/requests", msgspec.json.encode(asked))
    if json:
        give(made)
        return
    did = "subscribed at" if made["subscription"] else "asked"
    say(f"{made['by']} {did} {made['of']}: request {made['id']}")
    if made["chosen_because"]:
        _show_choice(made["chosen_because"])


@application.command()
@asking
def answer(
    connection: Connection,
    request: Annotated[str, typer.Argument(help="The id of the request.")],
    data: Data = "null",
    *,
    by: By,
    media_type: MediaType = JSON,
    json: options.Json = False,
) -> None:
    """Answer as the producer that was asked."""
    said = msgspec.json.encode({"by": by, **_data(data, media_type)})
    _show_told(ask_api(connection, "POST", f"/api/requests/{quote(request, safe='')}/answer", said), by, json=json)


@application.command()
@asking
def tell(
    connection: Connection,
    pattern: PatternName,
    topic: Topic,
    data: Data = "null",
    *,
    by: By,
    protocol: Annotated[str, typer.Option(help="Of push-1:n-implicit: bin, cin, din, hin or hin-din.")] = "",
    media_type: MediaType = JSON,
    json: options.Json = False,
) -> None:
    """Tell as a producer, by a push pattern."""
    said = {"pattern": pattern, "topic": topic, "by": by, "protocol": protocol, **_data(data, media_type)}
    _show_told(ask_api(connection, "POST", "/api/interactions", msgspec.json.encode(said)), by, json=json)


@application.command()
@asking
def end(
    connection: Connection,
    request: Annotated[str, typer.Argument(help="The id of the request.")],
    by: Annotated[str, typer.Option(metavar="SERVICE", help="Who asked.")] = "",
) -> None:
    """End a request as its consumer."""
    query = f"?{urlencode({'by': by})}" if by else ""
    ask_api(connection, "DELETE", f"/api/requests/{quote(request, safe='')}{query}")
    say(f"request {request} is ended")


@application.command(name="list")
@asking
def list_(
    connection: Connection,
    state: Annotated[str, typer.Option(help="open, answered or ended.")] = "",
    service: Annotated[str, typer.Option(help="Those in which it has a part.")] = "",
    limit: Limit = 100,
    json: options.Json = False,
) -> None:
    """List what services asked of each other."""
    found, more = pages(connection, "/api/requests", limit, state=state, service=service)
    if json:
        give({"items": found, "more": more})
    elif not found:
        say("nothing was asked yet: see `tocsin interact ask --help`")
    else:
        table = Table("request", "pattern", "who asked", "whom", "topic", "state", "answers", box=None, pad_edge=False)
        for each in found:
            row = (each["pattern"], each["by"], each["of"], each["topic"], each["state"], str(each["answers"]))
            table.add_row(each["id"], *map(Text, row))
        show_list(table, ((Text(each["id"]), _line(each)) for each in found))


@application.command()
@asking
def record(
    connection: Connection,
    request: Annotated[str, typer.Option(help="What became of this request.")] = "",
    service: Annotated[str, typer.Option(help="In which it has a part.")] = "",
    limit: Limit = 100,
    json: options.Json = False,
) -> None:
    """List who asked, who answered, and who was told."""
    found, more = pages(connection, "/api/interactions", limit, request=request, service=service)
    if json:
        give({"items": found, "more": more})
        return
    for each in found:
        say(f"{whole_seconds(each['when'])}  {each['pattern']}  {_act(each)}")


def _act(each: dict[str, Any]) -> str:
    """The producer is named once; who subscribed there told nobody."""
    of = f" of {each['of']}" if each["of"] and each["of"] not in (each["by"], *each["told"]) else ""
    told = f" -> {', '.join(each['told'])}" if each["told"] else ""
    return f"{each['by']} {each['act']} {each['topic']!r}{of}{told}"


def _data(text: str, media_type: str) -> dict[str, Any]:
    if media_type != JSON and not media_type.endswith("+json"):
        return {"data": text, "media_type": media_type}
    try:
        return {"data": msgspec.Raw(msgspec.json.encode(msgspec.json.decode(text))), "media_type": media_type}
    except msgspec.DecodeError as problem:
        fail(f"{text[:80]!r} is not JSON ({problem}); quote a text twice, or say --media-type text/plain", WRONG_USE)


def _qualities(prefer: list[str], avoid: list[str], at_most: list[str], at_least: list[str]) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    for better, given in (("higher", prefer), ("lower", avoid)):
        for each in given:
            name, _, weight = each.partition(":")
            found.setdefault(name, {}).update(better=better, weight=_number(each, weight or "1"))
    for bound, given in (("at_most", at_most), ("at_least", at_least)):
        for each in given:
            name, _, value = each.partition("=")
            found.setdefault(name, {"weight": 0})[bound] = _number(each, value)
    return found


def _number(given: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        fail(f"{given!r} has no number where one is needed: price:2 is a weight, price=400 a bound", WRONG_USE)


def _show_told(done: dict[str, Any], by: str, *, json: bool) -> None:
    if json:
        give(done)
        return
    say(f"{by} told {', '.join(done['told']) or 'nobody'}: message {done['message']}")
    for each in done["closed"]:
        say(f"request {each} is answered")


def _show_choice(why: dict[str, Any]) -> None:
    names = list(why["scored"][0]["parts"])
    table = Table("producer", "score", *names, box=None, pad_edge=False, header_style="bold")
    for each in why["scored"]:
        parts = (f"{each['parts'][name]:.2f}" for name in names)
        table.add_row(Text(each["service"]), f"{each['score']:.3f}", *parts)
    words.print(table)
    for condition, count in why["excluded"].items():
        say(f"{count} excluded: {condition}")


def _line(each: dict[str, Any]) -> Text:
    return Text(f"{each['pattern']}: {each['by']} asked {each['of']} about {each['topic']!r}, {each['state']}")
