"""`ino`: the world of implicit notification, and the graph of interests in it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import asking, joined, through
from tocsin.cli.connection import Connection, read
from tocsin.cli.disseminations import counted
from tocsin.cli.implicit import Inherit
from tocsin.cli.listing import whole_seconds
from tocsin.cli.output import WRONG_USE, fail, give, say, words
from tocsin.cli.world_shown import graph, show_edges, show_services

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.documents.world import EdgeDocument, RulesDocument

application = typer.Typer(
    help="The graph of interests: which services share what with whom.", invoke_without_command=True
)
Source = Annotated[str, typer.Argument(metavar="FROM", help="The category whose services tell.")]
Topic = Annotated[str, typer.Argument(help="A topic of the world.")]
Target = Annotated[str, typer.Argument(metavar="TO", help="The category whose services are told.")]
By = Annotated[str, typer.Option(help="Who says so, where nobody has to show it.", metavar="NAME")]
Note = Annotated[str, typer.Option(help="Why, in words.")]
TABLES = ("edges", "services", "taxonomies")
TABULAR = ("text/csv", "text/tab-separated-values")
EMPTY = "the world is empty: `tocsin ino load FILE` describes one, `tocsin ino demo` loads one to try"


@application.callback()
@asking
def ino(
    connection: Connection,
    context: typer.Context,
    tables: Annotated[bool, typer.Option("--tables", help="Services and edges as tables.")] = False,
    json: options.Json = False,
) -> None:
    """Show the world: categories as a tree, their services, and the edges that leave them."""
    context.obj = connection
    if context.invoked_subcommand is not None:
        return

    async def work(client: "Client") -> None:
        world = client.world
        categories, edges, services = await world.categories(), await world.edges(), await world.services()
        if json:
            rules, topics = await world.rules(), await world.topics()
            parts = {"topics": topics, "categories": categories, "services": services, "edges": edges}
            give({"version": await world.version(), "rules": rules, **parts})
        elif not categories:
            say(EMPTY)
        elif tables:
            show_services(services)
            words.print()
            show_edges(edges)
        else:
            words.print(graph(categories, edges, words.width))
            waiting = sum(not each.counts for each in edges)
            idle = f", {waiting:,} {'does' if waiting == 1 else 'do'} not count" if waiting else ""
            say(f"{counted(len(services), 'service')}, {counted(len(edges), 'edge')}{idle}")

    through(connection, work)


@application.command()
@asking
def load(
    connection: Connection,
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="JSON, CSV, Turtle or RDF/XML, as its name ends.")],
    create: Annotated[bool, typer.Option("--create", help="Make names that it uses and nowhere declares.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="What it does not name goes.")] = False,
    form: Annotated[str, typer.Option(help="The media type, where the name does not say it.")] = "",
    by: By = "",
    json: options.Json = False,
) -> None:
    """Add what a file describes to the world: all of it, or nothing."""
    kind, document = _media_type(form or file.name), read(file)
    told = through(
        joined(connection, context),
        lambda client: client.world.load(document, kind, create=create, replace=replace, by=by),
    )
    if json:
        give(told)
        return
    parts = ((told.topics, "topic"), (told.services, "service"), (told.edges, "edge"))
    there = ", ".join(counted(number, name) for number, name in parts)
    say(f"{counted(told.changed, 'change')} made; now {there}, {counted(told.categories, 'category', 'categories')}")


@application.command()
@asking
def save(
    connection: Connection,
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Where to; its ending says in which form. - for standard output.")],
    form: Annotated[str, typer.Option(help="json, ttl, rdf, csv or tsv, where the name does not say it.")] = "",
    table: Annotated[str, typer.Option(help="Of CSV: edges, services or taxonomies.")] = "",
) -> None:
    """Write the world into a file."""
    chosen = form or (file.suffix or ".json" if file != Path("-") else "json")
    is_table = _media_type(chosen) in TABULAR
    body = through(joined(connection, context), lambda client: client.world.save(chosen, table=table))
    if file == Path("-"):
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return
    try:
        file.write_bytes(body)
    except OSError as error:
        fail(f"{file}: {error.strerror}", WRONG_USE)
    say(f"wrote {len(body):,} bytes to {file}{_left_out(table) if is_table else ''}")


@application.command()
@asking
def add(
    connection: Connection,
    context: typer.Context,
    source: Source,
    topic: Topic,
    target: Target,
    by: By = "",
    note: Note = "",
    json: options.Json = False,
) -> None:
    """Add an edge; with --by it is a proposal, which counts when enough confirm it."""
    made = through(
        joined(connection, context), lambda client: client.world.edge(source, topic, target, by=by, note=note)
    )
    _show_edge(made, json)


@application.command()
@asking
def remove(
    connection: Connection,
    context: typer.Context,
    source: Source,
    topic: Topic,
    target: Target,
    by: By = "",
    json: options.Json = False,
) -> None:
    """Remove an edge."""
    through(joined(connection, context), lambda client: client.world.remove_edge(source, topic, target, by=by))
    named = {"source": source, "topic": topic, "target": target}
    give(named | {"removed": True}) if json else say(f"removed {source} -{topic}-> {target}")


def _voting(agrees: bool) -> Callable[..., None]:
    @asking
    def vote(
        connection: Connection,
        context: typer.Context,
        source: Source,
        topic: Topic,
        target: Target,
        by: By = "",
        note: Note = "",
        json: options.Json = False,
    ) -> None:
        asked = joined(connection, context)
        if not (by or asked.user or asked.token or asked.client_cert):
            fail("say who you are with --by NAME: each has one vote", WRONG_USE)
        told = through(asked, lambda client: client.world.vote(source, topic, target, agrees=agrees, by=by, note=note))
        _show_edge(told, json)

    return vote


_CONFIRM = "Say that an edge is right. The owner of its first category decides; else a quorum does."
application.command("confirm", help=_CONFIRM)(_voting(True))
application.command("dispute", help="Say that an edge is wrong.")(_voting(False))


@application.command()
@asking
def neighbours(
    connection: Connection,
    context: typer.Context,
    service: Annotated[str, typer.Argument(help="The service that would tell.")],
    topic: Topic,
    json: options.Json = False,
) -> None:
    """Whom a service tells of a topic, and along which edges."""
    found = through(joined(connection, context), lambda client: client.world.neighbours(service, topic))
    if json:
        give({"service": service, "topic": topic, "items": found})
    elif not found:
        say(f"{service} tells nobody of {topic}: no edge on it or a topic below it leaves its categories")
    else:
        table = Table("service", "categories", "along", box=None, pad_edge=False, header_style="bold")
        for each in found:
            table.add_row(*(Text(part) for part in (each.name, ", ".join(each.categories), "\n".join(each.edges))))
        words.print(table)


@application.command()
@asking
def history(
    connection: Connection,
    context: typer.Context,
    after: Annotated[int, typer.Option(help="From the version behind this on.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
    json: options.Json = False,
) -> None:
    """Who changed what, and when."""
    found = through(joined(connection, context), lambda client: client.world.history(after=after, limit=limit))
    if json:
        give({"items": found})
        return
    table = Table("version", "when", "by", "what", box=None, pad_edge=False, header_style="bold")
    table.columns[0].justify, table.columns[1].no_wrap = "right", True
    for each in found:
        table.add_row(str(each.version), whole_seconds(each.when or ""), Text(each.by), Text(each.said))
    words.print(table) if found else say("nothing has been changed" + (f" after version {after}" if after else ""))


@application.command()
@asking
def own(
    connection: Connection,
    context: typer.Context,
    category: Annotated[str, typer.Argument(help="A category.")],
    owner: Annotated[str, typer.Argument(help="Who maintains the edges that leave it; - for nobody.")],
    by: By = "",
    json: options.Json = False,
) -> None:
    """Give a category an owner, whose word on its edges counts."""
    whose = None if owner == "-" else owner

    async def work(client: "Client") -> object:
        if not any(each.name == category for each in await client.world.categories()):
            fail(f"there is no category {category!r}; `tocsin ino` shows those there are")
        return await client.world.category(category, owner=whose, by=by)

    made = through(joined(connection, context), work)
    give(made) if json else say(f"{category} is owned by {whose or 'nobody'}")


@application.command()
@asking
def rules(
    connection: Connection,
    context: typer.Context,
    quorum: Annotated[int | None, typer.Option(help="How many votes decide over an edge.", min=1)] = None,
    inherit: Annotated[
        list[Inherit] | None, typer.Option(help="Edges hold for topics or categories below theirs, too.")
    ] = None,
    alone: Annotated[bool, typer.Option("--no-inherit", help="Edges hold for their own names only.")] = False,
    by: By = "",
    json: options.Json = False,
) -> None:
    """Show the rules of the world, or change them."""

    async def work(client: "Client") -> "RulesDocument":
        now = await client.world.rules()
        if quorum is None and not inherit and not alone:
            return now
        named = inherit or ()
        return await client.world.put_rules(
            quorum=quorum or now.quorum,
            inherit_topics=Inherit.TOPICS in named or (now.inherit_topics and not alone),
            inherit_categories=Inherit.CATEGORIES in named or (now.inherit_categories and not alone),
            by=by,
        )

    found = through(joined(connection, context), work)
    if json:
        give(found)
        return
    inherited = [
        name for name, on in (("topics", found.inherit_topics), ("categories", found.inherit_categories)) if on
    ]
    say(f"a quorum of {found.quorum} decides over an edge; {' and '.join(inherited) or 'nothing'} inherited")


@application.command()
@asking
def demo(connection: Connection, context: typer.Context, json: options.Json = False) -> None:
    """Load the disaster world that ships with Tocsin, and create its twenty notifiers."""
    from tocsin.semantics.interest import world_forms as demo_world
    from tocsin.semantics.interest import world_json

    world = world_json.write(demo_world.demo())

    async def work(client: "Client") -> Sequence[str]:
        await client.world.load(world, by="demo")
        running = {each.name for each in await client.notifiers.list()}
        services = [each for each in await client.world.services() if each.name not in running and not each.node]
        for each in services:
            await client.notifiers.create(
                each.name,
                each.categories,
                address=each.address,
                dialect=each.dialect,
                qualities=each.qualities,
                policies=each.policies,
                tells=each.tells,
                by="demo",
            )
        return [each.name for each in services]

    connection = joined(connection, context)
    made = through(connection, work)
    if json:
        give({"notifiers": made})
        return
    say(f"loaded the disaster world, and created {counted(len(made), 'notifier')}; try")
    example = ("publish", "IDER", "--topic", "Disaster Info", "--data", "an earthquake off Chile")
    say(f"  {connection.api_command('notifiers', *example).strip('`')}")


def _media_type(form: str) -> str:
    from tocsin.model.refusal import Refusal
    from tocsin.semantics.interest.world_forms import media_type

    try:
        return media_type(form)
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)


def _left_out(table: str) -> str:
    written = table.lower() or TABLES[0]
    others = " and ".join(f"--table {each}" for each in TABLES if each != written)
    return f": the {written} only; {others} write the rest, or a name that ends in .json or .ttl all of it"


def _show_edge(edge: "EdgeDocument", json: bool) -> None:
    if json:
        give(edge)
        return
    state = "counts" if edge.counts else "does not count"
    say(f"{edge.source} -{edge.topic}-> {edge.target} {state}: {edge.why}")
