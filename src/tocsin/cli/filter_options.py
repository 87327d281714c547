"""What a subscriber can ask for besides a topic, as options."""

from typing import Annotated, Any

import typer

from tocsin.cli.output import WRONG_USE, fail

# Lists, so that one that is said twice is not silently lost: `once` takes the only one.
Topic = Annotated[
    list[str] | None, typer.Option(help="A topic expression, e.g. d:earthquake//. with --namespace d=urn:x.")
]
Content = Annotated[
    list[str] | None,
    typer.Option(metavar="EXPRESSION", help="What must hold of the content, e.g. '/alert/level > 3'."),
]
ContentLanguage = Annotated[
    str,
    typer.Option(
        help="xpath, items or jsonpath of the payload, cesql of attributes, xpath-envelope, xpath-producer, sparql."
    ),
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="NAME", help="A type or a subtype of it: p:Alert, {urn:x}Alert, com.example.alert."),
]
Producers = Annotated[
    list[str] | None,
    typer.Option("--producer", metavar="ADDRESS", help="Who must have sent it: an address, or category:NAME."),
]
Box = Annotated[
    list[str] | None,
    typer.Option(metavar="SPACE:SIDES", help="A region of an information space, e.g. 'weather:*,NJ/>25/<50'."),
]
Pattern = Annotated[
    list[str] | None,
    typer.Option(
        metavar="STATEMENTS",
        help="Statement patterns of the event graph, e.g. '(_:H, ?1, (Selling, target, Computer))'.",
    ),
]
Sparql = Annotated[
    list[str] | None,
    typer.Option(metavar="QUERY", help="An ASK or SELECT over the event graph."),
]
Plain = Annotated[
    bool, typer.Option("--plain", help="With --sparql: its own meaning, where two variables may be one thing.")
]
DeliverAs = Annotated[
    str, typer.Option(metavar="SYNTAX", help="The event graph, as turtle, n-quads, json-ld or rdf-xml.")
]
Bindings = Annotated[bool, typer.Option("--bindings", help="Tell what the variables of the pattern stand for.")]


def meaning(
    pattern: list[str] | None, sparql: list[str] | None, plain: bool, deliver_as: str, bindings: bool
) -> dict[str, Any]:
    from tocsin.mediation.graph_forms import SYNTAXES

    if plain and not sparql:
        fail("--plain goes with --sparql", WRONG_USE)
    if deliver_as and deliver_as not in SYNTAXES:
        fail(f"--deliver-as {deliver_as!r} is not known; choose one of {', '.join(SYNTAXES)}", WRONG_USE)
    asked = {"pattern": once("pattern", pattern), "sparql": once("sparql", sparql)}
    return asked | {"plain": plain, "deliver_as": deliver_as, "bindings": bindings}


def once(name: str, given: list[str] | None) -> str | None:
    """None only where nothing was said, for that asks for everything."""
    if not given:
        return None
    if len(given) > 1:
        fail(f"--{name} is said {len(given)} times; say it once{JOINED[name]}", WRONG_USE)
    if not given[0].strip():
        fail(f"--{name}: the {name} filter is empty; leave it out for none", WRONG_USE)
    return given[0]


JOINED = {
    "topic": ", with | between alternatives",
    "content": ", and join the conditions by `and` (xpath, cesql) or `&&` (jsonpath)",
    "box": ", or subscribe once for each",
    "pattern": ", with all its statements one after the other",
    "sparql": ", with all its conditions in one query",
}
