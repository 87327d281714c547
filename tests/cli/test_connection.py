"""Commands that are told to be copied: for the same broker, as the same person."""

import pytest
from typer import Typer
from typer.testing import CliRunner

from tocsin.cli.command import Connection, asking


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "`tocsin notifiers result 'a b'`"),
        (("--broker", "http://127.0.0.1:8080/"), "`tocsin notifiers result 'a b'`"),
        (("--broker", "http://two:1"), "`tocsin notifiers result 'a b' --broker http://two:1`"),
    ],
)
def test_a_command_names_the_broker_unless_it_is_where_it_usually_is(flags: tuple[str, ...], told: str) -> None:
    application = Typer()

    @asking(application.command, "tocsin show")
    async def show(connection: Connection) -> None:
        print(connection.api_command("notifiers", "result", "a b"))

    done = CliRunner().invoke(application, list(flags), env={"TOCSIN_BROKER": None})
    assert done.stdout == f"{told}\n", done.output
