"""`interact`: services that ask and tell each other, by the eight patterns of paper 000 s2.1."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli.command import asking
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, Output, fail, show_list, table, whole_seconds
from tocsin.cli.resource import page_of
from tocsin.documents.interactions import InteractionDocument, PatternDocument, RequestDocument, ToldDocument
from tocsin.documents.subscriptions import Page
from tocsin.model.interactions import Also, Choice, Preference

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = group("Services that ask and tell each other, by eight patterns.", "tocsin interact patterns")
PatternName = Annotated[str, typer.Argument(metavar="PATTERN", help="One of `tocsin interact patterns`.")]
Topic = Annotated[str, typer.Argument(help="A topic of the world.")]
Data = Annotated[str, typer.Argument(help="JSON, or with --media-type a text.")]
MediaType = Annotated[str, typer.Option(help="What the data is.")]
By = Annotated[str, typer.Option(metavar="SERVICE", help="Who does it.")]
Limit = Annotated[int, typer.Option(min=1, help="At most so many.")]
RequestName = Annotated[str, typer.Argument(help="The id of the request.")]
JSON = "application/json"


@asking(application.command, "tocsin interact patterns")
async def patterns(client: "Client") -> Output:
    """List the eight patterns: who begins, and what then happens."""
    found = await client.patterns()
    return Output(Page([*found], None), _patterns(found))


def _patterns(found: Sequence[PatternDocument]) -> Table:
    made = table(("pattern", "begins", "figure", "what happens"), ())
    for each in found:
        made.add_row(Text(each.name, "bold"), each.begins, each.figure, Text(each.says))
    return made


@asking(
    application.command, "tocsin interact ask pull-1:1-implicit Beds --by Desk --category Hospitals --avoid distance"
)
async def ask(
    client: "Client",
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
) -> Output:
    """Ask as a consumer: a request, or with push-1:1-explicit and push-1:n-explicit a subscription."""
    made = await client.ask(
        pattern,
        topic,
        _data(data, media_type),
        by=by,
        of=of,
        category=category,
        qualities=_qualities(prefer or [], avoid or [], at_most or [], at_least or []),
        policies=policy or (),
        also=cast(Also, also),
        channel=channel,
        media_type=media_type,
    )
    words = f"{made.by} {'subscribed at' if made.subscription else 'asked'} {made.of}: request {made.id}"
    return Output(made, words, *(_choice(made.chosen_because) if made.chosen_because else ()))


@asking(application.command, "tocsin interact answer 7f3a '{\"free\": 12}' --by Anna")
async def answer(
    client: "Client", request: RequestName, data: Data = "null", *, by: By, media_type: MediaType = JSON
) -> Output:
    """Answer as the producer that was asked."""
    return _told(await client.answer(request, _data(data, media_type), by=by, media_type=media_type), by)


@asking(application.command, "tocsin interact tell push-1:n-implicit Beds 12 --by Anna")
async def tell(
    client: "Client",
    pattern: PatternName,
    topic: Topic,
    data: Data = "null",
    *,
    by: By,
    protocol: Annotated[str, typer.Option(help="Of push-1:n-implicit: bin, cin, din, hin, dht-cin or hin-din.")] = "",
    media_type: MediaType = JSON,
) -> Output:
    """Tell as a producer, by a push pattern."""
    content = _data(data, media_type)
    return _told(await client.tell(pattern, topic, content, by=by, protocol=protocol, media_type=media_type), by)


@asking(application.command, "tocsin interact end 7f3a --by Desk")
async def end(
    client: "Client",
    request: RequestName,
    by: Annotated[str, typer.Option(metavar="SERVICE", help="Who asked.")] = "",
) -> Output:
    """End a request as its consumer."""
    await client.end_request(request, by=by)
    return Output({"id": request, "state": "ended"}, f"request {request} is ended")


@asking(application.command, "tocsin interact list --state open", name="list")
async def list_(
    client: "Client",
    state: Annotated[str, typer.Option(help="open, answered or ended.")] = "",
    service: Annotated[str, typer.Option(help="Those in which it has a part.")] = "",
    limit: Limit = 100,
) -> Output:
    """List what services asked of each other."""
    page = page_of(await client.requests(state=state, service=service, limit=limit + 1), limit)
    found: Sequence[RequestDocument] = page["items"]
    if not found:
        return Output(page, "nothing was asked yet: see `tocsin interact ask --help`")
    titles = ("request", "pattern", "who asked", "whom", "topic", "state", "answers")
    drawn = table(titles, ((e.id, e.pattern, e.by, e.of, e.topic, e.state, str(e.answers)) for e in found))
    return Output(page, lambda: show_list(drawn, ((Text(each.id), _line(each)) for each in found)))


@asking(application.command, "tocsin interact record --service Anna")
async def record(
    client: "Client",
    request: Annotated[str, typer.Option(help="What became of this request.")] = "",
    service: Annotated[str, typer.Option(help="In which it has a part.")] = "",
    limit: Limit = 100,
) -> Output:
    """List who asked, who answered, and who was told."""
    page = page_of(await client.interactions(request=request, service=service, limit=limit + 1), limit)
    return Output(page, *(f"{whole_seconds(each.when)}  {each.pattern}  {_act(each)}" for each in page["items"]))


def _act(each: InteractionDocument) -> str:
    """The producer is named once; who subscribed there told nobody."""
    of = f" of {each.of}" if each.of and each.of not in (each.by, *each.told) else ""
    told = f" -> {', '.join(each.told)}" if each.told else ""
    return f"{each.by} {each.act} {each.topic!r}{of}{told}"


def _data(text: str, media_type: str) -> object:
    if media_type != JSON and not media_type.endswith("+json"):
        return text
    try:
        return msgspec.Raw(msgspec.json.encode(msgspec.json.decode(text)))
    except msgspec.DecodeError as problem:
        fail(f"{text[:80]!r} is not JSON ({problem}); quote a text twice, or say --media-type text/plain", WRONG_USE)


def _qualities(prefer: list[str], avoid: list[str], at_most: list[str], at_least: list[str]) -> dict[str, Preference]:
    found: dict[str, dict[str, Any]] = {}
    for better, given in (("higher", prefer), ("lower", avoid)):
        for each in given:
            name, _, weight = each.partition(":")
            found.setdefault(name, {}).update(better=better, weight=_number(each, weight or "1"))
    for bound, given in (("at_most", at_most), ("at_least", at_least)):
        for each in given:
            name, _, value = each.partition("=")
            found.setdefault(name, {"weight": 0})[bound] = _number(each, value)
    return {name: Preference(**each) for name, each in found.items()}


def _number(given: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        fail(f"{given!r} has no number where one is needed: price:2 is a weight, price=400 a bound", WRONG_USE)


def _told(done: ToldDocument, by: str) -> Output:
    answered = (f"request {each} is answered" for each in done.closed)
    return Output(done, f"{by} told {', '.join(done.told) or 'nobody'}: message {done.message}", *answered)


def _choice(why: Choice) -> tuple[object, ...]:
    names = list(why.scored[0].parts)
    rows = ((each.service, f"{each.score:.3f}", *(f"{each.parts[name]:.2f}" for name in names)) for each in why.scored)
    excluded = (f"{count} excluded: {condition}" for condition, count in why.excluded.items())
    return table(("producer", "score", *names), rows), *excluded


def _line(each: RequestDocument) -> Text:
    return Text(f"{each.pattern}: {each.by} asked {each.of} about {each.topic!r}, {each.state}")
