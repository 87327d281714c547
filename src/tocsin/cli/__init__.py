"""The commands: thin. JSON goes to standard output alone, words to standard error."""

from typing import Annotated

import typer

from tocsin import __version__
from tocsin.cli import (
    benches,
    broker,
    clients,
    configuration,
    doctor,
    implicit,
    ino,
    interactions,
    lab,
    match,
    mediation,
    notifiers,
    ontology,
    pipeline,
    producers,
    secrets,
    spaces,
    subscriptions,
    topics,
    trace,
    types,
    users,
)
from tocsin.cli import dead_letters as letters

application = typer.Typer(
    name="tocsin",
    help="An event-notification platform: a mediating broker and its data pipeline on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for commands in (broker, clients, mediation, match, letters, trace, configuration, doctor):
    commands.register(application)
application.add_typer(pipeline.application, name="pipeline")
application.add_typer(benches.application, name="bench")
application.add_typer(lab.application, name="lab")
application.add_typer(implicit.application, name="implicit")
application.add_typer(ino.application, name="ino")
application.add_typer(notifiers.application, name="notifiers")
application.add_typer(interactions.application, name="interact")
application.add_typer(secrets.application, name="secrets")
application.add_typer(users.application, name="users")
application.add_typer(subscriptions.application, name="subscriptions")
application.add_typer(topics.application, name="topics")
application.add_typer(spaces.application, name="spaces")
application.add_typer(types.application, name="types")
application.add_typer(producers.application, name="producers")
application.add_typer(ontology.application, name="ontology")


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@application.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    del version


def main() -> None:
    application()
