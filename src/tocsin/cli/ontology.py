"""`ontology`: the concept model that graph patterns are about, and how other payloads are lifted to it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli.command import asking, read
from tocsin.cli.options import Json, group
from tocsin.cli.output import WRONG_USE, Output, fail, give, give_bytes, say, table
from tocsin.cli.resource import Collection
from tocsin.documents.semantics import LiftingSummary, MeaningChange, OntologySummary

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = group("Ontologies, for matching by meaning.", "tocsin ontology list")
liftings = group("Liftings: how XML and JSON become event graphs.", "tocsin ontology lifting list")
application.add_typer(liftings, name="lifting")
Name = Annotated[str, typer.Argument(help="Of the ontology.")]
LiftingName = Annotated[str, typer.Argument(help="Of the lifting.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say which subscriptions would be suspended.")]
_COUNTED = ("classes", "properties", "statements", "individuals")


@asking(application.command, "tocsin ontology show auction")
async def show(client: "Client", name: Name, json: Json = False) -> None:
    """One ontology, as Turtle on standard output."""
    give(await client.ontologies.get(name)) if json else give_bytes(await client.ontologies.turtle(name))


@asking(application.command, "tocsin ontology declare auction auction.ttl --dry-run")
async def declare(
    client: "Client",
    name: Name,
    file: Annotated[Path, typer.Argument(help="Turtle, RDF/XML, N-Triples or JSON-LD; also DAML+OIL.")],
    dry_run: DryRun = False,
) -> Output:
    """Declare an ontology, or another of that name. Subscriptions that ask for what is no more are suspended."""
    from tocsin.cli.match import media_type_of

    data = read(file)
    changed = await client.ontologies.put(name, data, media_type_of(file, data), dry_run=dry_run)
    counts = ", ".join(f"{getattr(changed, each):,} {each}" for each in _COUNTED)
    return _changed(changed, f"{_declared(dry_run)} {name}: {counts}")


@asking(application.command, "tocsin ontology withdraw auction")
async def withdraw(client: "Client", name: Name, dry_run: DryRun = False) -> Output:
    """Forget an ontology that no other builds on."""
    return _changed(await client.ontologies.remove(name, dry_run=dry_run), f"{name} {_withdrawn(dry_run)}")


@application.command(epilog="Example: tocsin ontology check auction.ttl money.ttl")
def check(files: Annotated[list[Path], typer.Argument(help="Checked together, as one model.")]) -> None:
    """Whether ontologies can be read, and are right together; needs no broker."""
    from tocsin.cli.match import read_ontologies

    if not files:
        fail("name at least one file", WRONG_USE)
    model = read_ontologies(files).concepts
    say(f"{len(model.classes):,} classes, {len(model.properties):,} properties, {len(model.individuals):,} individuals")


@asking(liftings.command, "tocsin ontology lifting declare offers offers.json", name="declare")
async def declare_lifting(
    client: "Client",
    name: LiftingName,
    file: Annotated[Path, typer.Argument(help="JSON: a path to a class, and paths to its properties.")],
    dry_run: DryRun = False,
) -> Output:
    """Declare a lifting, or another of that name."""
    return _changed(await client.liftings.put(name, read(file), dry_run=dry_run), f"{_declared(dry_run)} {name}")


@asking(liftings.command, "tocsin ontology lifting withdraw offers", name="withdraw")
async def withdraw_lifting(client: "Client", name: LiftingName, dry_run: DryRun = False) -> Output:
    """Forget a lifting; what it was for has no event graph from then on."""
    return _changed(await client.liftings.remove(name, dry_run=dry_run), f"{name} {_withdrawn(dry_run)}")


@liftings.command("check", epilog="Example: tocsin ontology lifting check offers.json --ontology auction.ttl")
def check_file(
    file: Annotated[Path, typer.Argument(help="The lifting.")],
    ontology: Annotated[list[Path] | None, typer.Option(help="Whose classes and properties it uses.")] = None,
) -> None:
    """Whether a lifting can be read, and says what the ontologies allow; needs no broker."""
    from tocsin.cli.match import read_ontologies
    from tocsin.model.refusal import Refusal
    from tocsin.semantics.events.lifting import check_lifting
    from tocsin.semantics.events.lifting_json import lifting_of_json

    known = read_ontologies(ontology or ())
    try:
        found = lifting_of_json(read(file), file.stem, known.concepts.prefixes)
        if known.ontologies:
            check_lifting(found, known.concepts)
    except Refusal as refusal:
        fail(f"{file}: {refusal.text}", WRONG_USE)
    say(f"{file} lifts {found.syntax} of {', '.join(found.types) or 'any type'}")
    if not known.ontologies:
        say("its paths, classes and properties were not looked at: name the ontologies it uses with --ontology FILE")


def _declared(dry_run: bool) -> str:
    return "would declare" if dry_run else "declared"


def _withdrawn(dry_run: bool) -> str:
    return "could be withdrawn" if dry_run else "is withdrawn"


def _changed(changed: MeaningChange, words: str) -> Output:
    """With the subscriptions that are suspended, each with the term that it asks for and that is no more."""
    if not changed.suspended:
        return Output(changed, words)
    many, would = len(changed.suspended), "would be" if changed.dry_run else ""
    one = f"a subscription {would or 'is'} suspended:"
    suspended = table(("subscription", "why"), ())
    for each in changed.suspended:
        suspended.add_row(Text(each.id, no_wrap=True), Text(each.reason, overflow="fold"))
    several = f"{many:,} subscriptions {would or 'are'} suspended:"
    return Output(changed, words, several if many > 1 else one, suspended)


def _ontologies(items: Sequence[OntologySummary]) -> Table:
    rows = ((each.name, *(f"{getattr(each, what):,}" for what in _COUNTED)) for each in items)
    return table(("ontology", *_COUNTED), rows, right=(1, 2, 3, 4))


def _liftings(items: Sequence[LiftingSummary]) -> Table:
    rows = ((each.name, each.syntax, " ".join(each.types) or "any", "yes" if each.strict else "") for each in items)
    return table(("lifting", "of", "types", "strict"), rows)


@asking(liftings.command, "tocsin ontology lifting show offers", name="show")
async def show_lifting(client: "Client", name: LiftingName) -> None:
    """One lifting, as JSON on standard output."""
    give(await client.liftings.get(name))


Collection(application, "tocsin ontology", Name, "auction").add_list(
    "The ontologies that were declared, with what is in them.",
    lambda client: client.ontologies.list(),
    _ontologies,
    "there are no ontologies yet: tocsin ontology declare NAME FILE",
)
Collection(liftings, "tocsin ontology lifting", LiftingName, "offers").add_list(
    "The liftings that were declared.",
    lambda client: client.liftings.list(),
    _liftings,
    "there are no liftings yet: tocsin ontology lifting declare NAME FILE",
)
