"""The commands: thin. JSON goes to standard output alone, words to standard error."""

from typing import Annotated

import typer

from tocsin import __version__
from tocsin.cli import benches, broker, clients, configuration, letters, mediation, pipeline

application = typer.Typer(
    name="tocsin",
    help="An event-notification platform: a mediating broker and its data pipeline on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for commands in (broker, clients, mediation, letters, configuration):
    commands.register(application)
application.add_typer(pipeline.application, name="pipeline")
application.add_typer(benches.application, name="bench")


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
