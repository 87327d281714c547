"""`reply`: a receiver replies to a notification; and what replies cost."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from tocsin.cli.answers import prompt
from tocsin.cli.command import Connection, asking
from tocsin.cli.output import WRONG_USE, Output, fail, say, whole_seconds
from tocsin.cli.replies import allowed, problem_of
from tocsin.cli.reply_plans import show_plan
from tocsin.cli.reply_simulations import simulate

if TYPE_CHECKING:
    from tocsin.client.client import Client


class Replying(TyperGroup):
    """What is none of its commands is what `answer` takes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        short = args and args[0] not in (*self.commands, "--help")
        return super().parse_args(ctx, ["answer", *args] if short else args)


application = typer.Typer(
    cls=Replying,
    help="Reply to a notification that asks for it; and what replies cost.\n\n"
    "ADDRESS or TOKEN, then the reply, is short for `tocsin reply answer`.",
    epilog="Example: tocsin reply answer http://127.0.0.1:8080/api/replies/5f0c.c2lnbg.Vz8x yes",
    no_args_is_help=True,
)


@asking(
    application.command,
    "tocsin reply answer http://127.0.0.1:8080/api/replies/5f0c.c2lnbg.Vz8x yes",
    context_settings={"ignore_unknown_options": True},  # a reply may be a negative number
)
async def answer(
    client: "Client",
    connection: Connection,
    to: Annotated[
        str, typer.Argument(metavar="ADDRESS|TOKEN", help="What the notification said: replyto, or what ends it.")
    ],
    value: Annotated[str | None, typer.Argument(help="Without it, what is asked is shown, and asked here.")] = None,
) -> Output:
    """Reply to a notification, once."""
    for each in (to, value or ""):
        if each.startswith("-") and not each[1:2].isdigit():
            fail(f"{each} is no option of this command; `tocsin reply --help` has them", WRONG_USE)
    if value is None:
        asked = await client.question(to)
        if not sys.stdin.isatty():
            again = connection.api_command("reply", to, "VALUE")
            words = f"{asked.topic} asks for {allowed(asked.reply_type)}, until {whole_seconds(asked.until)}; {again}"
            return Output(asked, words)
        say(f"{asked.topic} asks for a reply until {whole_seconds(asked.until)}")
        value = _typed(asked.reply_type)
        if value is None:
            return Output({"replied": False}, "no reply")
    await client.reply(to, value)
    return Output({"replied": True, "value": value}, f"replied {value}")


def _typed(type_: str) -> str | None:
    while True:
        prompt(type_)
        value = sys.stdin.readline().strip()
        if not value:
            return None
        problem = problem_of(type_, value)
        if not problem:
            return value
        say(problem)


application.command(
    epilog="Example: tocsin reply simulate --branching 2 --height 10 --values 5 --algorithm message --json"
)(simulate)
application.command(
    "plan",
    epilog="Example: tocsin reply plan --branching 4 --height 6 --publications 100 --per-publisher 5 --values 20",
)(show_plan)
