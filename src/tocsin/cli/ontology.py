"""`ontology`: the concept model that graph patterns are about, and how other payloads are lifted to it."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import liftings, options
from tocsin.cli.api import ask, ask_bytes, asking
from tocsin.cli.connection import Connection, read
from tocsin.cli.output import WRONG_USE, fail, give, give_bytes, say, words
from tocsin.cli.semantics import DryRun, asked, tell_suspended

application = typer.Typer(help="Ontologies, for matching by meaning.", no_args_is_help=True)
application.add_typer(liftings.application, name="lifting")
Name = Annotated[str, typer.Argument(help="Of the ontology.")]
File = Annotated[Path, typer.Argument(help="Turtle, RDF/XML, N-Triples or JSON-LD; also DAML+OIL.")]
PATH = "/api/ontologies"
_COUNTED = ("classes", "properties", "statements", "individuals")


@application.command("list")
@asking
def names(connection: Connection, json: options.Json = False) -> None:
    """The ontologies that were declared, with what is in them."""
    found = ask(connection, "GET", PATH)
    if json:
        give(found)
    elif not found["items"]:
        say("there are no ontologies yet: tocsin ontology declare NAME FILE")
    else:
        words.print(_table(found["items"]))


@application.command()
@asking
def show(connection: Connection, name: Name, json: options.Json = False) -> None:
    """One ontology, as Turtle on standard output."""
    if json:
        give(ask(connection, "GET", _path(name)))
    else:
        give_bytes(ask_bytes(connection, _path(name), "text/turtle"))


@application.command()
@asking
def declare(
    connection: Connection, name: Name, file: File, dry_run: DryRun = False, json: options.Json = False
) -> None:
    """Declare an ontology, or another of that name. Subscriptions that ask for what is no more are suspended."""
    from tocsin.cli.match_files import media_type_of

    data = read(file)
    changed = ask(connection, "PUT", _path(name) + asked(dry_run), data, media_type_of(file, data))
    if json:
        give(changed)
        return
    counted = ", ".join(f"{changed[each]:,} {each}" for each in _COUNTED)
    say(f"{'would declare' if dry_run else 'declared'} {name}: {counted}")
    tell_suspended(changed)


@application.command()
@asking
def withdraw(connection: Connection, name: Name, dry_run: DryRun = False, json: options.Json = False) -> None:
    """Forget an ontology that no other builds on."""
    changed = ask(connection, "DELETE", _path(name) + asked(dry_run))
    if json:
        give(changed)
        return
    say(f"{name} {'could be' if dry_run else 'is'} withdrawn")
    tell_suspended(changed)


@application.command()
def check(files: Annotated[list[Path], typer.Argument(help="Checked together, as one model.")]) -> None:
    """Whether ontologies can be read, and are right together; needs no broker."""
    from tocsin.cli.match_files import read_ontologies

    if not files:
        fail("name at least one file", WRONG_USE)
    model = read_ontologies(files).concepts
    say(f"{len(model.classes):,} classes, {len(model.properties):,} properties, {len(model.individuals):,} individuals")


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("ontology", box=None, pad_edge=False)
    for what in _COUNTED:
        table.add_column(what, justify="right")
    for each in items:
        table.add_row(Text(each["name"]), *(f"{each[what]:,}" for what in _COUNTED))
    return table
