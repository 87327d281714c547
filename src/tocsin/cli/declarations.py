"""`spaces`, `types` and `producers`: what filters refer to by name."""

from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.table import Table

from tocsin.cli.command import asking, read
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, Output, fail, hierarchy, say, table
from tocsin.cli.resource import Collection, page_of
from tocsin.documents.declarations import (
    DimensionDocument,
    ProducerDocument,
    SpaceDocument,
    SpaceRequest,
    TypesDocument,
)
from tocsin.model.space import Kind

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer()
spaces = group("Information spaces, for content topics.", "tocsin spaces list")
types = group("The hierarchy of types.", "tocsin types list")
producers = group("Producers: their categories, properties and descriptions.", "tocsin producers list")
for name, each in (("spaces", spaces), ("types", types), ("producers", producers)):
    application.add_typer(each, name=name)
SpaceName = Annotated[str, typer.Argument(help="Of the space: what stands before the colon of a content topic.")]
Address = Annotated[str, typer.Argument(metavar="ADDRESS", help="Where its notifications come from, as they say it.")]
KINDS = ("string", "number", "enumeration", "time")
EXAMPLE = "write NAME:KIND, e.g. place:string, temperature:number:-50..60 or sky:enumeration:clear|cloudy"


@asking(spaces.command, "tocsin spaces declare weather place:string temperature:number:-50..60", name="declare")
async def declare_space(
    client: "Client",
    name: SpaceName,
    dimensions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME:KIND[:BOUNDS]...",
            help="E.g. temperature:number:-50..60 (bounds may be left out), or 'sky:enumeration:clear|cloudy'.",
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help='Instead, JSON: {"dimensions": [...]}.')] = None,
) -> Output:
    """Declare a space. A box or point has one side for each dimension, in their order."""
    if (file is None) == (not dimensions):
        fail(f"name the dimensions, or a --file that does; {EXAMPLE}", WRONG_USE)
    asked = SpaceRequest([_dimension(each) for each in dimensions or ()])
    declared = await client.spaces.put(name, asked if file is None else read(file))
    sides = "/".join(each.name for each in declared.dimensions)
    return Output(declared, f"declared {name}; its content topics are {name}:{sides}")


def _dimension(text: str) -> DimensionDocument:
    name, _, rest = text.partition(":")
    kind, _, bounds = rest.partition(":")
    if name and kind and kind not in KINDS:
        fail(f"{text!r}: the kind {kind!r} is not known; choose one of {', '.join(KINDS)}; {EXAMPLE}", WRONG_USE)
    if not name or not kind:
        fail(f"{text!r} is no dimension; {EXAMPLE}", WRONG_USE)
    if kind == "enumeration" and "," in bounds:
        values = bounds.replace(",", "|")
        hint = f"write '{name}:enumeration:{values}', or declare by a --file where a value has a comma"
        fail(f"{text!r}: values are separated by |, not by commas; {hint}", WRONG_USE)
    if kind == "enumeration":
        return DimensionDocument(name, "enumeration", values=bounds.split("|") if bounds else [])
    low, dots, high = bounds.partition("..")
    if bounds and (not dots or kind == "string"):
        fail(f"{text!r} has bounds that are none; {EXAMPLE}", WRONG_USE)
    return DimensionDocument(name, cast(Kind, kind), _bound(kind, low, text), _bound(kind, high, text))


def _bound(kind: str, bound: str, text: str) -> float | str | None:
    if kind == "time" or not bound:
        return bound or None
    try:
        number = float(bound)
    except ValueError:
        number = nan
    if not isfinite(number):  # JSON has none, and the broker would be told nothing
        fail(f"{text!r}: {bound!r} is no number; leave it out for no bound; {EXAMPLE}", WRONG_USE)
    return number


def _spaces(found: Sequence[SpaceDocument]) -> Table:
    rows = ((each.name, ", ".join(f"{one.name} ({_range(one)})" for one in each.dimensions)) for each in found)
    return table(("space", "dimensions"), rows)


def _space(space: SpaceDocument) -> Table:
    rows = (
        (each.name, each.kind, _text(each.low), _text(each.high), "|".join(each.values)) for each in space.dimensions
    )
    return table(("dimension", "kind", "lowest", "highest", "values"), rows)


def _range(dimension: DimensionDocument) -> str:
    if dimension.values:
        return "|".join(dimension.values)
    low, high = _text(dimension.low), _text(dimension.high)
    return f"{dimension.kind} {low}..{high}" if low or high else dimension.kind


def _text(bound: float | str | None) -> str:
    return "" if bound is None else str(bound)


@asking(types.command, "tocsin types list", name="list")
async def list_types(client: "Client") -> Output:
    """The types that were declared, as a tree; one with several parents stands below each of them."""
    found = await client.types.get()
    none = "there is no hierarchy of types yet: tocsin types set CHILD PARENT"
    return Output(found, hierarchy(found.parents) if found.parents else none)


@asking(types.command, "tocsin types declare types.json", name="declare")
async def declare_types(
    client: "Client", file: Annotated[Path, typer.Argument(help='JSON: {"parents": {"{urn:x}flood": ["alert"]}}.')]
) -> Output:
    """Declare the whole hierarchy; the one before is replaced."""
    declared = await client.types.put(read(file))
    return Output(declared, f"declared {len(declared.parents)} types with their parents")


@asking(types.command, "tocsin types set com.example.flood com.example.alert", name="set")
async def set_type(
    client: "Client",
    child: Annotated[str, typer.Argument(help="{namespace}local of an element, or a type of CloudEvents.")],
    parents: Annotated[list[str] | None, typer.Argument(help="What it is a kind of; nothing without.")] = None,
) -> Output:
    """Give one type other parents; all else stays."""
    known = (await client.types.get()).parents
    declared = await client.types.put(TypesDocument(known | {child: parents or []}))
    return Output(declared, f"{child} is a kind of {', '.join(parents) if parents else 'nothing else'}")


@asking(producers.command, "tocsin producers list --limit 20", name="list")
async def list_producers(
    client: "Client", limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 1000
) -> Output:
    """The producers that were declared, and the services of the world."""
    page = page_of(await client.producers.list(limit + 1), limit)
    if not page["items"]:
        return Output(page, "there are no producers yet: tocsin producers declare ADDRESS")
    more = [f"there are more than {limit}; --limit shows more"] if page["more"] else []
    rows = (
        (each.address, ", ".join(each.categories), _yes(each.properties), _yes(each.description), _yes(each.of_world))
        for each in page["items"]
    )
    return Output(page, table(("producer", "categories", "properties", "description", "of the world"), rows), *more)


@asking(producers.command, "tocsin producers declare http://sensor.example/7 --category hospital", name="declare")
async def declare_producer(
    client: "Client",
    address: Address,
    category: Annotated[list[str] | None, typer.Option(help="One of its categories; may be said again.")] = None,
    properties: Annotated[Path | None, typer.Option(help="XML: what it can do, promises and implements.")] = None,
    description: Annotated[Path | None, typer.Option(help="RDF: Turtle, N-Triples or RDF/XML.")] = None,
) -> Output:
    """Say what a producer is; what was said of it before is replaced."""
    declared = await client.producers.put(
        address, category or (), properties=_utf8(properties), description=_utf8(description)
    )
    return Output(declared, f"declared {address}: {', '.join(declared.categories) or 'of no category'}")


@asking(producers.command, "tocsin producers categories categories.json")
async def categories(
    client: "Client",
    file: Annotated[Path | None, typer.Argument(help='Declare these: {"parents": {"hospital": ["care"]}}.')] = None,
) -> Output:
    """The categories of producers, as a tree."""
    found = await (client.categories.get() if file is None else client.categories.put(read(file)))
    if not found.parents:
        return Output(found, "no category is below another yet")
    elsewhere = ["they are those of the world; `tocsin ino` changes them"] if found.of_world else []
    return Output(found, hierarchy(found.parents), *elsewhere)


def _utf8(file: Path | None) -> str:
    try:
        return "" if file is None else read(file).decode()
    except UnicodeDecodeError as problem:
        fail(f"{file} is not in UTF-8: {problem}", WRONG_USE)


def _yes(value: object) -> str:
    return "yes" if value else ""


def _producer(found: ProducerDocument) -> object:
    def show() -> None:
        say(f"{found.address}{'  (a service of the world)' if found.of_world else ''}")
        parts = {"categories": ", ".join(found.categories)}
        parts |= {"properties": found.properties.strip(), "description": found.description.strip()}
        for name, text in parts.items():
            say(f"{name}:{chr(10) if chr(10) in text else ' '}{text}") if text else None

    return show


_spaces_commands = Collection(spaces, "tocsin spaces", SpaceName, "weather")
_spaces_commands.add_list(
    "The spaces that were declared, with their dimensions.",
    lambda client: client.spaces.list(),
    _spaces,
    "there are no information spaces yet: tocsin spaces declare weather place:string temperature:number",
)
_spaces_commands.add_show("One space.", lambda client, name: client.spaces.get(name), _space)
_spaces_commands.add_remove(
    "withdraw",
    "Forget a space in which no subscription asks for anything.",
    lambda client, name: client.spaces.remove(name),
    "withdrawn",
)
_producers_commands = Collection(producers, "tocsin producers", Address, "http://sensor.example/7")
_producers_commands.add_show("One producer, whole.", lambda client, name: client.producers.get(name), _producer)
_producers_commands.add_remove(
    "withdraw",
    "Forget what was declared of a producer.",
    lambda client, name: client.producers.remove(name),
    "withdrawn",
)
