"""`ino`: the world of implicit notification, and the graph of interests in it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.command import Connection, asking, read
from tocsin.cli.disseminations import GUIDE
from tocsin.cli.implicit import Inherit
from tocsin.cli.output import (
    WRONG_USE,
    Output,
    console,
    counted,
    fail,
    give_bytes,
    number,
    say,
    show_list,
    table,
    whole_seconds,
)
from tocsin.documents.world import CategoryDocument, EdgeDocument, RulesDocument
from tocsin.semantics.interest.ino import Service

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer(invoke_without_command=True)
Source = Annotated[str, typer.Argument(metavar="FROM", help="The category whose services tell.")]
Topic = Annotated[str, typer.Argument(help="A topic of the world.")]
Target = Annotated[str, typer.Argument(metavar="TO", help="The category whose services are told.")]
By = Annotated[str, typer.Option(help="Who says so, where nobody has to show it.", metavar="NAME")]
Note = Annotated[str, typer.Option(help="Why, in words.")]
Row = Sequence[str]
TABLES = ("edges", "services", "taxonomies")
TABULAR = ("text/csv", "text/tab-separated-values")
EMPTY = "the world is empty: `tocsin ino load FILE` describes one, `tocsin ino demo` loads one to try"
MOST_SERVICES = 8  # named under one category
LINE = "\n"


@asking(application.callback, "tocsin ino --tables")
async def ino(
    client: "Client", tables: Annotated[bool, typer.Option("--tables", help="Services and edges as tables.")] = False
) -> Output:
    """The graph of interests: who shares what with whom.

    Without a command it is shown: categories as a tree, their services, and the edges that leave them.
    """
    world = client.world
    categories, edges, services = await world.categories(), await world.edges(), await world.services()
    parts = {"topics": await world.topics(), "categories": categories, "services": services, "edges": edges}
    document = {"version": await world.version(), "rules": await world.rules(), **parts}

    def show() -> None:
        if not categories:
            say(EMPTY)
        elif tables:
            _show_services(services)
            say("")
            _show_edges(edges)
        else:
            screen = console()
            screen.print(_graph(categories, edges, screen.width))
            waiting = sum(not each.counts for each in edges)
            idle = f", {waiting:,} {'does' if waiting == 1 else 'do'} not count" if waiting else ""
            say(f"{counted(len(services), 'service')}, {counted(len(edges), 'edge')}{idle}")

    return Output(document, show)


@asking(application.command, "tocsin ino load world.json --by ann")
async def load(
    client: "Client",
    file: Annotated[Path, typer.Argument(help="JSON, CSV, Turtle or RDF/XML, as its name ends.")],
    create: Annotated[bool, typer.Option("--create", help="Make names that it uses and nowhere declares.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="What it does not name goes.")] = False,
    form: Annotated[str, typer.Option(help="The media type, where the name does not say it.")] = "",
    by: By = "",
) -> Output:
    """Add what a file describes to the world: all of it, or nothing."""
    kind, document = _media_type(form or file.name), read(file)
    now = await client.world.load(document, kind, create=create, replace=replace, by=by)
    parts = ((now.topics, "topic"), (now.services, "service"), (now.edges, "edge"))
    there = ", ".join(counted(size, name) for size, name in parts)
    made, categories = counted(now.changed, "change"), counted(now.categories, "category", "categories")
    return Output(now, f"{made} made; now {there}, {categories}")


@asking(application.command, "tocsin ino save world.ttl")
async def save(
    client: "Client",
    file: Annotated[Path, typer.Argument(help="Where to; its ending says in which form. - for standard output.")],
    form: Annotated[str, typer.Option(help="json, ttl, rdf, csv or tsv, where the name does not say it.")] = "",
    table: Annotated[str, typer.Option(help="Of CSV: edges, services or taxonomies.")] = "",
) -> None:
    """Write the world into a file."""
    chosen = form or (file.suffix or ".json" if file != Path("-") else "json")
    is_table = _media_type(chosen) in TABULAR
    body = await client.world.save(chosen, table=table)
    if file == Path("-"):
        give_bytes(body)
        return
    try:
        file.write_bytes(body)
    except OSError as error:
        fail(f"{file}: {error.strerror}", WRONG_USE)
    say(f"wrote {len(body):,} bytes to {file}{_left_out(table) if is_table else ''}")


@asking(application.command, "tocsin ino add Media Earthquake Research --by ann")
async def add(client: "Client", source: Source, topic: Topic, target: Target, by: By = "", note: Note = "") -> Output:
    """Add an edge; with --by it is a proposal, which counts when enough confirm it."""
    return _edge(await client.world.edge(source, topic, target, by=by, note=note))


@asking(application.command, "tocsin ino remove Media Earthquake Research")
async def remove(client: "Client", source: Source, topic: Topic, target: Target, by: By = "") -> Output:
    """Remove an edge."""
    await client.world.remove_edge(source, topic, target, by=by)
    document = {"source": source, "topic": topic, "target": target, "removed": True}
    return Output(document, f"removed {source} -{topic}-> {target}")


def _add_vote(agrees: bool, name: str, help: str) -> None:
    @asking(application.command, f"tocsin ino {name} Media Earthquake Research --by bob", name=name, help=help)
    async def vote(
        client: "Client",
        connection: Connection,
        source: Source,
        topic: Topic,
        target: Target,
        by: By = "",
        note: Note = "",
    ) -> Output:
        if not (by or connection.user or connection.token_file or connection.client_cert):
            fail("say who you are with --by NAME: each has one vote", WRONG_USE)
        return _edge(await client.world.vote(source, topic, target, agrees=agrees, by=by, note=note))


_add_vote(True, "confirm", "Say that an edge is right. The owner of its first category decides; else a quorum does.")
_add_vote(False, "dispute", "Say that an edge is wrong.")


@asking(application.command, "tocsin ino neighbours IDER 'Disaster Info'")
async def neighbours(
    client: "Client", service: Annotated[str, typer.Argument(help="The service that would tell.")], topic: Topic
) -> Output:
    """Whom a service tells of a topic, and along which edges."""
    found = await client.world.neighbours(service, topic)
    none = f"{service} tells nobody of {topic}: no edge on it or a topic below it leaves its categories"
    rows = ((each.name, ", ".join(each.categories), "\n".join(each.edges)) for each in found)
    shown = table(("service", "categories", "along"), rows) if found else none
    return Output({"service": service, "topic": topic, "items": found}, shown)


@asking(application.command, "tocsin ino history --after 40")
async def history(
    client: "Client",
    after: Annotated[int, typer.Option(help="From the version behind this on.", min=0)] = 0,
    limit: Annotated[int, typer.Option(help="How many at most.", min=1)] = 1000,
) -> Output:
    """Who changed what, and when."""
    found = await client.world.history(after=after, limit=limit)
    if not found:
        return Output({"items": found}, "nothing has been changed" + (f" after version {after}" if after else ""))
    rows = ((str(each.version), whole_seconds(each.when or ""), each.by, each.said) for each in found)
    drawn = table(("version", "when", "by", "what"), rows, right=(0,))
    drawn.columns[1].no_wrap = True
    return Output({"items": found}, drawn)


@asking(application.command, "tocsin ino own Media dora")
async def own(
    client: "Client",
    category: Annotated[str, typer.Argument(help="A category.")],
    owner: Annotated[str, typer.Argument(help="Who maintains the edges that leave it; - for nobody.")],
    by: By = "",
) -> Output:
    """Give a category an owner, whose word on its edges counts."""
    whose = None if owner == "-" else owner
    if not any(each.name == category for each in await client.world.categories()):
        fail(f"there is no category {category!r}; `tocsin ino` shows those there are")
    made = await client.world.category(category, owner=whose, by=by)
    return Output(made, f"{category} is owned by {whose or 'nobody'}")


@asking(application.command, "tocsin ino rules --quorum 5 --inherit topics")
async def rules(
    client: "Client",
    quorum: Annotated[int | None, typer.Option(help="How many votes decide over an edge.", min=1)] = None,
    inherit: Annotated[
        list[Inherit] | None, typer.Option(help="Edges hold for topics or categories below theirs, too.")
    ] = None,
    alone: Annotated[bool, typer.Option("--no-inherit", help="Edges hold for their own names only.")] = False,
    by: By = "",
) -> Output:
    """Show the rules of the world, or change them."""
    now = await client.world.rules()
    if quorum is None and not inherit and not alone:
        return _rules(now)
    named = inherit or ()
    return _rules(
        await client.world.put_rules(
            quorum=quorum or now.quorum,
            inherit_topics=Inherit.TOPICS in named or (now.inherit_topics and not alone),
            inherit_categories=Inherit.CATEGORIES in named or (now.inherit_categories and not alone),
            by=by,
        )
    )


@asking(application.command, "tocsin ino demo")
async def demo(client: "Client", connection: Connection) -> Output:
    """Load the disaster world that ships with Tocsin, and create its twenty notifiers."""
    from tocsin.semantics.interest import world_forms, world_json

    await client.world.load(world_json.write(world_forms.demo()), by="demo")
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
    example = ("publish", "IDER", "--topic", "Disaster Info", "--data", "an earthquake off Chile")
    return Output(
        {"notifiers": [each.name for each in services]},
        f"loaded the disaster world, and created {counted(len(services), 'notifier')}; try",
        f"  {connection.api_command('notifiers', *example).strip('`')}",
    )


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


def _edge(edge: EdgeDocument) -> Output:
    state = "counts" if edge.counts else "does not count"
    return Output(edge, f"{edge.source} -{edge.topic}-> {edge.target} {state}: {edge.why}")


def _rules(found: RulesDocument) -> Output:
    inherited = [
        name for name, on in (("topics", found.inherit_topics), ("categories", found.inherit_categories)) if on
    ]
    words = f"a quorum of {found.quorum} decides over an edge; {' and '.join(inherited) or 'nothing'} inherited"
    return Output(found, words)


def _graph(categories: Sequence[CategoryDocument], edges: Sequence[EdgeDocument], width: int) -> Tree:
    leaving: dict[str, list[EdgeDocument]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    by_name = {each.name: each for each in categories}
    tree = Tree("world", hide_root=True)
    waiting = [(tree, each, width) for each in categories if each.parent is None]
    while waiting:
        above, category, room = waiting.pop(0)
        branch = above.add(_category_label(category, room))
        for edge in leaving.get(category.name, ()):
            label = Text(f"-{edge.topic}-> {edge.target}", style="" if edge.counts else "dim")
            branch.add(label if edge.counts else label.append(f"  does not count: {edge.brief}", style="dim"))
        below = (by_name[name] for name in sorted(category.children) if name in by_name)
        waiting += [(branch, each, room - GUIDE) for each in below]
    return tree


def _category_label(category: CategoryDocument, room: int) -> Text:
    label = Text(category.name, style="bold")
    if category.owner:
        label.append(f"  owned by {category.owner}", style="not bold dim")
    if category.services:
        label.append(f"  {_some(sorted(category.services), room - label.cell_len - 2)}", style="not bold")
    return label


def _some(names: Sequence[str], room: int) -> str:
    """As many as there is room for in the line."""
    for most in range(min(len(names), MOST_SERVICES), 0, -1):
        more = f" and {len(names) - most:,} more" if len(names) > most else ""
        if cell_len(said := ", ".join(names[:most]) + more) <= room:
            return said
    return counted(len(names), "service")


def _show_edges(edges: Sequence[EdgeDocument]) -> None:
    titles = ("from", "topic", "to", "counts", "for", "against", "why")
    rows = [
        (e.source, e.topic, e.target, "yes" if e.counts else "no", number(e.agree), number(e.disagree), e.brief)
        for e in edges
    ]
    _show_table(titles, rows, ["" if each.counts else "dim" for each in edges])


def _show_services(services: Sequence[Service]) -> None:
    """Of a notifier the node that runs it, once if that is the same for all; the whole address of somebody else's."""
    titles = ("service", "categories", "runs at", "told at", "qualities", "policies")
    nodes = {each.node for each in services}
    together = len(nodes) == 1 and "" not in nodes
    _show_table(titles, [_service(each, placed=not together) for each in services], [""] * len(services))
    if together:
        say(f"all run at {nodes.pop()}")


def _service(service: Service, *, placed: bool) -> Row:
    address = f"{service.address} {service.dialect}".strip()
    qualities = ", ".join(f"{name} {value:g}" for name, value in service.qualities.items())
    place = (service.node or service.notifier) if placed else ""
    return service.name, "\n".join(service.categories), place, address, qualities, "\n".join(service.policies)


def _show_table(titles: Row, rows: Sequence[Row], styles: Sequence[str]) -> None:
    """Without the columns that are empty in every row."""
    used = [at for at, title in enumerate(titles) if at == 0 or any(row[at] for row in rows)]
    drawn = Table(*(titles[at] for at in used), box=None, pad_edge=False, header_style="bold")
    items: list[tuple[Text, Text]] = []
    for row, style in zip(rows, styles, strict=True):
        drawn.add_row(*(Text(row[at], style=style, overflow="fold") for at in used))
        items.append((Text(row[0], style=style), _rest(titles, row, style)))
    show_list(drawn, items)


def _rest(titles: Row, row: Row, style: str) -> Text:
    parts = (f"{title}: {cell.replace(LINE, ', ')}" for title, cell in zip(titles[1:], row[1:], strict=True) if cell)
    return Text("  ".join(parts), style=style)
