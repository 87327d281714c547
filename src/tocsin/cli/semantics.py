"""What changing the meaning of patterns does to those who ask by them, as commands tell it."""

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tocsin.cli.output import say, words

DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say which subscriptions would be suspended.")]


def asked(dry_run: bool) -> str:
    return "?dry-run=true" if dry_run else ""


def tell_suspended(changed: dict[str, Any]) -> None:
    """Each with the term that it asks for and that is no more."""
    if not changed["suspended"]:
        return
    many, verb = len(changed["suspended"]), "would be" if changed["dry_run"] else "are"
    say(f"{many:,} subscriptions {verb} suspended:" if many > 1 else f"a subscription {_ONE[verb]} suspended:")
    table = Table("subscription", "why", box=None, pad_edge=False)
    for each in changed["suspended"]:
        table.add_row(Text(each["id"], no_wrap=True), Text(each["reason"], overflow="fold"))
    words.print(table)


_ONE = {"would be": "would be", "are": "is"}
