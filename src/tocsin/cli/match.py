"""`match`: a dry run of semantic matching."""

from collections.abc import Callable
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail, give, say, words

if TYPE_CHECKING:
    from tocsin.cli.match_files import Asked
    from tocsin.matching.catalogue import Catalogue
    from tocsin.semantics.concepts.concept_model import ConceptModel
    from tocsin.semantics.events.event_graph import EventGraph

DEMO = ("auction.ttl", "auction-subscriptions.jsonl", "auction-events.nq")
_WORTH_AN_INDEX = 64  # subscriptions
_EVERY = 1_000  # events, between two words of progress
_Matched = tuple[list[str], list[str]]  # those that match, those of which it cannot be told


def register(application: typer.Typer) -> None:
    application.command()(match)


def match(
    ontology: Annotated[
        list[Path] | None, typer.Option(help="Turtle, RDF/XML, N-Triples or JSON-LD; several are one model.")
    ] = None,
    subscriptions: Annotated[
        Path | None, typer.Option(help='JSON lines: {"id", "pattern"} or {"id", "sparql"}.')
    ] = None,
    events: Annotated[Path | None, typer.Option(help="N-Quads: one named graph an event, home vertex _:H.")] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the mapping of each pair, or how far it gets and what fails.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="With the auction of the paper.")] = False,
    json: options.Json = False,
) -> None:
    """Tell which events match which subscriptions: JSON lines {"event", "subscriptions"} on standard output."""
    given = (ontology, subscriptions, events)
    if demo and any(given):
        fail("--demo brings its own --ontology, --subscriptions and --events", WRONG_USE)
    if not demo and not all(given):
        fail("name --ontology, --subscriptions and --events, or see --demo", WRONG_USE)
    with ExitStack() as stack:
        if demo:
            folder = files("tocsin.semantics") / "demo"
            paths = [stack.enter_context(as_file(folder / name)) for name in DEMO]
            _run(paths[:1], paths[1], paths[2], explain, json)
        elif ontology and subscriptions and events:
            _run(ontology, subscriptions, events, explain, json)


def _run(ontologies: list[Path], subscriptions: Path, events: Path, explain: bool, json: bool) -> None:
    from tocsin.cli.disseminations import counted
    from tocsin.cli.match_files import read_events, read_ontologies, read_subscriptions

    known = read_ontologies(ontologies)
    model = known.concepts
    asked = read_subscriptions(subscriptions, known)
    classes, properties = (_count(known, kind) for kind in ("classes", "properties"))
    say(f"{classes:,} classes, {properties:,} properties, {counted(len(asked), 'subscription')}")
    matched, count, pairs = _matcher(asked, model), 0, 0
    for name, event in read_events(events, model):
        found, undecided = matched(event)
        line: dict[str, Any] = {"event": name, "subscriptions": found}
        line |= {"undecided": undecided} if undecided else {}
        line |= {"explained": _documents(asked, event, model)} if explain and json else {}
        give(line)
        if explain and not json:
            _show(name, asked, event, model)
        count, pairs = count + 1, pairs + len(found)
        if count % _EVERY == 0:
            say(f"{count:,} events")
    say(f"{counted(count, 'event')}, {counted(pairs, 'match', 'matches')}")


def _count(known: "Catalogue", kind: str) -> int:
    """Without those that every model has."""
    return len({name for each in known.ontologies.values() for name, _ in getattr(each, kind)})


def _matcher(asked: "list[Asked]", model: "ConceptModel") -> "Callable[[EventGraph], _Matched]":
    """With the index of the broker, whose kernels take seconds to be ready, where that is worth it."""
    return _by_index(asked, model) if len(asked) >= _WORTH_AN_INDEX else _one_by_one(asked, model)


def _by_index(asked: "list[Asked]", model: "ConceptModel") -> "Callable[[EventGraph], _Matched]":
    say("making the index ready; the first time on a machine it is compiled")
    from tocsin.matching.graphs.index import GraphIndex

    index = GraphIndex()
    for number, each in enumerate(asked):
        index.add(number, each.query)
    index.pack()

    def matched(event: "EventGraph") -> _Matched:
        found = index.match(event, model)
        return [asked[at].id for at in sorted(found.atoms)], [asked[at].id for at in sorted(found.undecided)]

    return matched


def _one_by_one(asked: "list[Asked]", model: "ConceptModel") -> "Callable[[EventGraph], _Matched]":
    from tocsin.matching.graphs.search import find
    from tocsin.matching.judge import Undecided

    def matched(event: "EventGraph") -> _Matched:
        found: list[str] = []
        undecided: list[str] = []
        for each in asked:
            try:
                if find(each.query, event, model) is not None:
                    found.append(each.id)
            except Undecided:
                undecided.append(each.id)
        return found, undecided

    return matched


def _documents(asked: "list[Asked]", event: "EventGraph", model: "ConceptModel") -> list[dict[str, Any]]:
    from tocsin.cli.match_shown import Explained

    return [Explained(each, event, model).document() for each in asked]


def _show(name: str, asked: "list[Asked]", event: "EventGraph", model: "ConceptModel") -> None:
    from rich.text import Text
    from rich.tree import Tree

    from tocsin.cli.match_shown import Explained

    tree = Tree(Text(name or "the event without a name", style="bold"))
    for each in asked:
        tree.children.append(Explained(each, event, model).tree())
    words.print(tree)
