"""`topics`, `dead-letters` and `secrets`: what a broker was told of, could not deliver, and shows to consumers."""

import base64
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import msgspec
import typer
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.command import asking, read
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, Output, counted, fail, show_list, table, whole_seconds
from tocsin.cli.resource import Collection, Limit
from tocsin.documents.consumers import SecretDocument
from tocsin.documents.subscriptions import DeadLetterDocument, Page
from tocsin.documents.topics import TopicDocument
from tocsin.model.access import SecretKind
from tocsin.model.names import Topic, topic

if TYPE_CHECKING:
    from tocsin.client.client import Client

application = typer.Typer()
topics = typer.Typer(invoke_without_command=True)
secrets = group("Secrets towards consumers.", "tocsin secrets list")
application.add_typer(topics, name="topics")
application.add_typer(secrets, name="secrets")
SecretName = Annotated[str, typer.Argument(help="How subscriptions name it.")]


@asking(topics.callback, "tocsin topics --tree")
async def list_topics(
    client: "Client", tree: Annotated[bool, typer.Option("--tree", help="As a tree.")] = False
) -> Output:
    """List the topics that were seen or declared: how many notifications, when the last, how many want them."""
    found = await client.topics.list()
    none = "there are no topics yet: publish something, or declare topics with `tocsin topics load FILE`"
    return Output(Page([*found], None), (_tree if tree else _topics)(found) if found else none)


@asking(topics.command, "tocsin topics load disasters.xml")
async def load(
    client: "Client", file: Annotated[Path, typer.Argument(help="A wstop:TopicNamespace document of WS-Topics 1.3.")]
) -> Output:
    """Declare the topics of a namespace; what was declared under it before is replaced."""
    declared = await client.topics.declare(read(file))
    return Output(declared, f"declared {len(declared.topics)} topics of {declared.namespace}")


def _topics(items: Sequence[TopicDocument]) -> Table:
    rows = (
        (
            each.topic,
            f"{each.notifications:,}",
            whole_seconds(each.last or "never"),
            f"{each.subscriptions:,}",
            "yes" if each.declared else "",
        )
        for each in items
    )
    made = table(("topic", "notifications", "last", "subscriptions", "declared"), rows, right=(1, 3))
    made.columns[2].no_wrap = True
    return made


def _tree(items: Sequence[TopicDocument]) -> Tree:
    """A namespace is written once: at the topic it begins with."""
    root = Tree("topics", hide_root=True)
    branches: dict[Topic, Tree] = {}

    def branch(of: Topic) -> Tree:
        if of not in branches:
            above = branch(Topic(of.steps[:-1])) if len(of.steps) > 1 else root
            branches[of] = above.add(Text(str(of.steps[-1])))
        return branches[of]

    for each in items:
        found = topic(each.topic)
        if found is None:  # too long to be kept whole
            root.add(Text(f"{each.topic}...  {_counts(each)}"))
        else:
            branch(found).label = Text(f"{found.steps[-1]}  ").append(_counts(each), style="dim")
    return root


def _counts(each: TopicDocument) -> str:
    wanted = f"{each.subscriptions:,} want it" if each.subscriptions else "nobody wants it"
    return f"{each.notifications:,} notifications, {wanted}"


@asking(application.command, "tocsin dead-letters --redrive 17")
async def dead_letters(
    client: "Client",
    redrive: Annotated[list[str] | None, typer.Option(help="Try this one again; may be repeated.")] = None,
    redrive_all: Annotated[bool, typer.Option("--redrive-all", help="Try all of them again.")] = False,
    subscription: Annotated[str, typer.Option(help="Only those of this subscription.")] = "",
    limit: Limit = 100,
) -> Output:
    """List the dead letters of a broker, or try them again."""
    if redrive or redrive_all:
        return await _redrive(client, None if redrive_all else list(dict.fromkeys(map(_letter, redrive or ()))))
    found = await client.dead_letters.list(subscription=subscription, limit=limit)
    if not found.items:
        return Output(found, "there are no dead letters")
    more = f"there are more than these {len(found.items)}: ask with a larger --limit"
    drawn = Table("id", "when", "notification", "subscription", "consumer", "tries", "state", "reason")
    drawn.columns[0].justify = drawn.columns[5].justify = "right"
    for each in found.items:
        named = (each.notification, each.subscription, each.consumer, f"{each.attempts:,}")
        drawn.add_row(*map(Text, (str(each.id), whole_seconds(each.when), *named, each.state, each.reason)))
    return Output(found, lambda: show_list(drawn, _lines(found.items)), *([more] if found.next is not None else ()))


def _letter(text: str) -> int | str:
    """A number; in a ring with the node at which it is."""
    number, at, node = text.partition("@")
    if not number.isdecimal() or not 0 < int(number) < 2**63 or bool(at) != bool(node):
        fail(f"{text!r} is no dead letter: `tocsin dead-letters` lists them with their ids", WRONG_USE)
    return text if node else int(number)


async def _redrive(client: "Client", ids: Sequence[int | str] | None) -> Output:
    if unknown := [str(each) for each in ids or () if not await _is_there(client, each)]:
        fail(f"there is no dead letter {', '.join(unknown)}, and none is tried again; `tocsin dead-letters` lists them")
    count = await client.dead_letters.redrive(ids)
    words = f"{count:,} will be tried again"
    if ids and not count:
        words = f"{'they wait' if len(ids) > 1 else 'it waits'} for another try already"
    return Output({"redriven": count}, words)


async def _is_there(client: "Client", name: int | str) -> bool:
    number, at, node = str(name).partition("@")
    found = (await client.dead_letters.list(limit=1, after=f"{int(number) - 1}{at}{node}")).items
    return bool(found) and found[0].id == name


def _lines(items: Sequence[DeadLetterDocument]) -> Iterator[tuple[Text, Text]]:
    for each in items:
        tries = counted(each.attempts, "try", "tries")
        head = Text.assemble((str(each.id), "bold"), f"  {each.state} after {tries}  {each.notification}")
        rest = (f"of {each.subscription}", f"to {each.consumer}", whole_seconds(each.when), each.reason)
        yield head, Text("  ".join(rest), overflow="fold")


@asking(secrets.command, "tocsin secrets add siren --generate")
async def add(
    client: "Client",
    name: SecretName,
    kind: Annotated[str, typer.Option(help="hmac, basic, bearer or header.")] = "hmac",
    value_file: Annotated[Path | None, typer.Option(help="Where the value is; standard input without it.")] = None,
    header: Annotated[str, typer.Option(help="Of kind header: the name of the header.")] = "",
    address: Annotated[str, typer.Option("--for", help="It goes to this address and below only.")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Give one that is there another value.")] = False,
    generate: Annotated[bool, typer.Option("--generate", help="Of kind hmac: make one, and print it once.")] = False,
) -> Output:
    """Keep a secret: whsec_... for hmac, user:password for basic, the token or value for the others."""
    if generate and kind != "hmac":
        fail("--generate makes secrets of kind hmac only", WRONG_USE)
    value = "whsec_" + base64.b64encode(os.urandom(32)).decode() if generate else _value(value_file)
    made = await client.secrets.add(
        name, cast(SecretKind, kind), value, header=header, address=address, replace=replace
    )
    document = msgspec.to_builtins(made) | ({"value": value} if generate else {})
    kept = f"{name} is kept; subscriptions name it with secret={name}"
    return Output(document, kept, *([f"its value, which is not shown again: {value}"] if generate else ()))


def _value(file: Path | None) -> str:
    """Never from an argument, which every user of the machine can read; a last line break is none of it."""
    try:
        if file is None and sys.stdin.isatty():
            return str(typer.prompt("value", hide_input=True, err=True))
        return (sys.stdin.read() if file is None else file.read_text("utf-8")).removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        fail(f"the value cannot be read: {error}", WRONG_USE)


def _secrets(found: Sequence[SecretDocument]) -> Table:
    made = Table("name", "kind", "header", "for", "since")
    for each in found:
        made.add_row(each.name, each.kind, each.header, each.address, each.since)
    return made


_secrets_commands = Collection(secrets, "tocsin secrets", SecretName, "siren")
_secrets_commands.add_list(
    "Names and kinds; values are never shown.",
    lambda client: client.secrets.list(),
    _secrets,
    "there are no secrets",
)
_secrets_commands.add_remove(
    "remove",
    "Forget a secret that no subscription names.",
    lambda client, name: client.secrets.remove(name),
    "forgotten",
)
