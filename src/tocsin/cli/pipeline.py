"""`pipeline`: the Spark jobs."""

import typer

application = typer.Typer(help="The data pipeline on Spark.", no_args_is_help=True)
