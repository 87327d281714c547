"""`ontology lifting`: how XML and JSON become event graphs."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.api import ask, asking
from tocsin.cli.connection import Connection, read
from tocsin.cli.output import WRONG_USE, fail, give, say, words
from tocsin.cli.semantics import DryRun, asked, tell_suspended

application = typer.Typer(help="Liftings: how XML and JSON become event graphs.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Of the lifting.")]
PATH = "/api/liftings"


@application.command("list")
@asking
def names(connection: Connection, json: options.Json = False) -> None:
    """The liftings that were declared."""
    found = ask(connection, "GET", PATH)
    if json:
        give(found)
    elif not found["items"]:
        say("there are no liftings yet: tocsin ontology lifting declare NAME FILE")
    else:
        words.print(_table(found["items"]))


@application.command()
@asking
def show(connection: Connection, name: Name) -> None:
    """One lifting, as JSON on standard output."""
    give(ask(connection, "GET", _path(name)))


@application.command()
@asking
def declare(
    connection: Connection,
    name: Name,
    file: Annotated[Path, typer.Argument(help="JSON: a path to a class, and paths to its properties.")],
    dry_run: DryRun = False,
    json: options.Json = False,
) -> None:
    """Declare a lifting, or another of that name."""
    changed = ask(connection, "PUT", _path(name) + asked(dry_run), read(file))
    _tell(changed, json, f"{'would declare' if dry_run else 'declared'} {name}")


@application.command()
@asking
def withdraw(connection: Connection, name: Name, dry_run: DryRun = False, json: options.Json = False) -> None:
    """Forget a lifting; what it was for has no event graph from then on."""
    changed = ask(connection, "DELETE", _path(name) + asked(dry_run))
    _tell(changed, json, f"{name} {'could be' if dry_run else 'is'} withdrawn")


@application.command()
def check(
    file: Annotated[Path, typer.Argument(help="The lifting.")],
    ontology: Annotated[list[Path] | None, typer.Option(help="Whose classes and properties it uses.")] = None,
) -> None:
    """Whether a lifting can be read, and says what the ontologies allow; needs no broker."""
    from tocsin.cli.match_files import read_ontologies
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


def _tell(changed: dict[str, Any], json: bool, words_: str) -> None:
    if json:
        give(changed)
    else:
        say(words_)
        tell_suspended(changed)


def _path(name: str) -> str:
    return f"{PATH}/{quote(name, safe='')}"


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("lifting", "of", "types", "strict", box=None, pad_edge=False)
    for each in items:
        types = Text(" ".join(each["types"]) or "any", overflow="fold")
        table.add_row(Text(each["name"]), each["syntax"], types, "yes" if each["strict"] else "")
    return table
