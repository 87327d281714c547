"""`topics`: what is published about, who wants it, and what was declared."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.cli import options
from tocsin.cli.api import ask, asking, joined
from tocsin.cli.connection import Connection, read
from tocsin.cli.listing import whole_seconds
from tocsin.cli.output import give, say, words

application = typer.Typer(help="The topics of a broker.", invoke_without_command=True)


@application.callback()
@asking
def topics(
    connection: Connection,
    context: typer.Context,
    tree: Annotated[bool, typer.Option("--tree", help="As a tree.")] = False,
    json: options.Json = False,
) -> None:
    """List the topics that were seen or declared: how many notifications, when the last, how many want them."""
    context.obj = connection
    if context.invoked_subcommand is not None:
        return
    found = ask(connection, "GET", "/api/topics")
    if json:
        give(found)
    elif not found["items"]:
        say("there are no topics yet: publish something, or declare topics with `tocsin topics load FILE`")
    else:
        words.print(_tree(found["items"]) if tree else _table(found["items"]))


@application.command()
@asking
def load(
    connection: Connection,
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A wstop:TopicNamespace document of WS-Topics 1.3.")],
    json: options.Json = False,
) -> None:
    """Declare the topics of a namespace; what was declared under it before is replaced."""
    declared = ask(joined(connection, context), "PUT", "/api/topics/namespaces", read(file), "application/xml")
    if json:
        give(declared)
    else:
        say(f"declared {len(declared['topics'])} topics of {declared['namespace']}")


def _table(items: list[dict[str, Any]]) -> Table:
    table = Table("topic", "notifications", "last", "subscriptions", "declared", box=None, pad_edge=False)
    table.columns[2].no_wrap = True
    table.columns[1].justify = table.columns[3].justify = "right"
    for each in items:
        table.add_row(
            Text(each["topic"], overflow="fold"),
            f"{each['notifications']:,}",
            whole_seconds(each["last"] or "never"),
            f"{each['subscriptions']:,}",
            "yes" if each["declared"] else "",
        )
    return table


def _tree(items: list[dict[str, Any]]) -> Tree:
    """A namespace is written once: at the topic it begins with."""
    from tocsin.model.names import Topic, topic

    root = Tree("topics", hide_root=True)
    branches: dict[Topic, Tree] = {}

    def branch(of: Topic) -> Tree:
        if of not in branches:
            above = branch(Topic(of.steps[:-1])) if len(of.steps) > 1 else root
            branches[of] = above.add(Text(str(of.steps[-1])))
        return branches[of]

    for each in items:
        found = topic(each["topic"])
        if found is None:  # too long to be kept whole
            root.add(Text(f"{each['topic']}...  {_counts(each)}"))
        else:
            branch(found).label = Text(f"{found.steps[-1]}  ").append(_counts(each), style="dim")
    return root


def _counts(each: dict[str, Any]) -> str:
    wanted = f"{each['subscriptions']:,} want it" if each["subscriptions"] else "nobody wants it"
    return f"{each['notifications']:,} notifications, {wanted}"
