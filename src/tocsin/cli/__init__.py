"""The commands: thin. JSON goes to standard output alone, words to standard error.

A command's module is imported when the command is chosen, so what is said of each in the help of all stands here; a
module has one command, several, or a group of them as `application`.
"""

import textwrap
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from tocsin import __version__
from tocsin.cli.values import read_plainly

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Run": {
        "serve": ("run", "A broker without a JVM: it matches by itself."),
        "up": ("run", "The platform: a broker, and the data pipeline on Spark."),
    },
    "Publish and subscribe": {
        "publish": ("messages", "Publish one notification."),
        "subscribe": ("subscribe", "Subscribe a consumer, or this terminal with --print."),
        "pull": ("messages", "Fetch what waits in a pull point, or in one of its own."),
        "renew": ("subscribe", "Renew a subscription or a pull point."),
        "status": ("subscribe", "Tell until when a subscription stands."),
        "pause": ("subscribe", "Hold a subscription."),
        "resume": ("subscribe", "Go on with a subscription that was paused or suspended."),
        "unsubscribe": ("subscribe", "End a subscription."),
        "reply": ("reply", "Reply to a notification that asks for it; and what replies cost."),
        "views": ("views", "The replies to what you published."),
        "mediate": ("mediate", "Print a message as another dialect would have it."),
    },
    "Meaning and interest": {
        "ontology": ("ontology", "Ontologies, for matching by meaning."),
        "match": ("match", "Tell which events match which subscriptions."),
        "spaces": ("declarations", "Information spaces, for content topics."),
        "types": ("declarations", "The hierarchy of types."),
        "producers": ("declarations", "Producers: their categories, properties and descriptions."),
        "ino": ("ino", "The graph of interests: who shares what with whom."),
        "notifiers": ("notifiers", "The notifiers of a node."),
        "interact": ("interact", "Services that ask and tell each other, by eight patterns."),
        "implicit": ("implicit", "Dry runs of implicit notification."),
    },
    "Operate": {
        "topics": ("operate", "List the topics that were seen or declared."),
        "subscriptions": ("subscriptions", "List the subscriptions: who is told of what, until when."),
        "registrations": ("subscriptions", "Publishers that registered."),
        "dead-letters": ("operate", "List the dead letters of a broker, or try them again."),
        "trace": ("trace", "Tell who wanted a notification and why."),
        "secrets": ("operate", "Secrets towards consumers."),
        "users": ("users", "Who may use the broker, and for what."),
        "ring": ("ring", "The nodes of a ring: which part each has, how much lies on it."),
        "tree": ("tree", "The neighbours of a node in its tree."),
        "config": ("run", "Print every setting in force and where it came from."),
        "doctor": ("doctor", "Check this machine, the data directory and the broker."),
    },
    "Spark": {"pipeline": ("pipeline", "The data pipeline on Spark.")},
    "Lab": {
        "overlay": ("overlay", "Simulations of a ring of nodes."),
        "lab": ("lab", "The papers' tables and figures, measured here."),
        "bench": ("lab", "Benchmarks, with their rivals in the same run."),
    },
}
_ENTRIES = {name: entry for commands in PANELS.values() for name, entry in commands.items()}
_NAMES_WIDTH = max(map(len, _ENTRIES)) + 2


class Commands(MutableMapping[str, Any]):
    """By name; a module is imported when its command is looked up."""

    def __getitem__(self, name: str) -> Any:
        found = get_group(import_module(f"tocsin.cli.{_ENTRIES[name][0]}").application)
        command = found.commands.get(name, found)
        command.name = name
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(_ENTRIES)

    def __len__(self) -> int:
        return len(_ENTRIES)

    def __setitem__(self, name: str, command: Any) -> None:
        raise TypeError(f"{name} is to be named in PANELS")

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name} is named in PANELS")


class Root(TyperGroup):
    """Draws its help by itself: importing what draws the others takes longer than all the rest."""

    def __init__(self, **told: Any) -> None:
        super().__init__(**told | {"rich_markup_mode": None})
        self.commands = Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        del ctx
        for title, commands in PANELS.items():
            rows = [line for name, (_, says) in commands.items() for line in _lines(name, says, formatter.width - 4)]
            edge = "─" * (formatter.width - len(title) - 5)
            body = "".join(f"│ {line} │\n" for line in rows)
            formatter.write(f"╭─ {title} {edge}╮\n{body}╰{'─' * (formatter.width - 2)}╯\n")


def _lines(name: str, says: str, width: int) -> Iterator[str]:
    for at, line in enumerate(textwrap.wrap(says, width - _NAMES_WIDTH)):
        yield f"{'' if at else name:<{_NAMES_WIDTH}}{line}".ljust(width)


application = typer.Typer(
    name="tocsin",
    cls=Root,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
read_plainly()


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@application.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """An event-notification platform: a mediating broker and its data pipeline on Spark.

    Each command tells more of itself, with an example: tocsin serve --help
    """
    del version


def main() -> None:
    application()
