"""`users`: who may use the broker. It works on the data directory, whether or not a broker runs there."""

import contextlib
import getpass
import secrets
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.table import Table

from tocsin.cli import options
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, console, fail, give, say

application = group("Who may use the broker, and for what.", "tocsin users list --data ./data")

Name = Annotated[str, typer.Argument(help="The user's name; the common name in a client certificate.")]
Action = Annotated[str, typer.Argument(help="publish, subscribe or manage.")]
Topic = Annotated[
    str | None, typer.Option(help="A topic expression of the full dialect, e.g. flood//.; every topic without it.")
]
LONGEST_PASSWORD = 1024


@application.command(epilog="Example: tocsin users add ann --grant publish --grant subscribe=flood//.")
def add(
    name: Name,
    rights: Annotated[
        list[str] | None, typer.Option("--grant", metavar="ACTION[=TOPIC]", help="A right; may be repeated.")
    ] = None,
    no_password: Annotated[bool, typer.Option("--no-password", help="For tokens and certificates only.")] = False,
    namespace: options.Namespace = None,
    data: options.Data = None,
    config: options.Config = None,
) -> None:
    """Add a user. The password is asked for, or read from standard input."""
    prefixes = options.pairs(namespace)
    granted = tuple(_right(action, topic or None, prefixes) for action, _, topic in _split(rights))
    password = None if no_password else _password()
    with _users(data, config, new=True) as users:
        users.add(name, password, granted)
    say(f"added {name}" + ("" if granted else "; it has no rights yet: `tocsin users grant`"))


@application.command("list", epilog="Example: tocsin users list")
def listing(data: options.Data = None, config: options.Config = None, json: options.Json = False) -> None:
    """Who there is, and what each may do."""
    with _users(data, config) as users:
        found = [_shown(account) for account in users.all()]
    if json:
        give({"items": found})
    elif not found:
        say("there are no users; `tocsin users add` makes one")
    else:
        table = Table("name", "password", "tokens", "may")
        for each in found:
            rights = ", ".join(f"{right['action']} {right['topics'] or 'everything'}" for right in each["rights"])
            table.add_row(each["name"], "yes" if each["password"] else "no", str(each["tokens"]), rights or "nothing")
        console().print(table)


@application.command(epilog="Example: tocsin users remove ann")
def remove(name: Name, data: options.Data = None, config: options.Config = None) -> None:
    """Remove a user; its subscriptions end."""
    with _users(data, config) as users:
        users.remove(name)
    say(f"removed {name}")


@application.command(epilog="Example: tocsin users password ann")
def password(name: Name, data: options.Data = None, config: options.Config = None) -> None:
    """Set another password, from the prompt or standard input."""
    given = _password()
    with _users(data, config) as users:
        users.set_password(name, given)
    say(f"{name} has another password")


@application.command(epilog="Example: tocsin users grant ann publish --topic flood//.")
def grant(
    name: Name,
    action: Action,
    topic: Topic = None,
    namespace: options.Namespace = None,
    data: options.Data = None,
    config: options.Config = None,
) -> None:
    """Give a right: on the topics of an expression, or on every topic."""
    right = _right(action, topic, options.pairs(namespace))
    with _users(data, config) as users:
        users.grant(name, right)
    say(f"{name} may {action} {topic or 'everything'}")


@application.command(epilog="Example: tocsin users revoke ann publish --topic flood//.")
def revoke(
    name: Name,
    action: Action,
    topic: Topic = None,
    namespace: options.Namespace = None,
    data: options.Data = None,
    config: options.Config = None,
) -> None:
    """Take a right away that was given just so; subscriptions that needed it end."""
    right = _right(action, topic, options.pairs(namespace))
    with _users(data, config) as users:
        held = users.revoke(name, right)
    if not held:
        fail(f"{name} was not granted {action} on {topic or 'everything'}; `tocsin users list` shows what was")
    say(f"{name} may no longer {action} {topic or 'everything'}")


@application.command(epilog="Example: tocsin users token ann")
def token(
    name: Name,
    revoke_all: Annotated[bool, typer.Option("--revoke", help="Make all its tokens worthless instead.")] = False,
    data: options.Data = None,
    config: options.Config = None,
) -> None:
    """Print a new bearer token, this once: only its hash is kept."""
    with _users(data, config) as users:
        if revoke_all:
            say(f"{users.revoke_tokens(name)} tokens of {name} are worthless now")
            return
        made = f"tocsin_{secrets.token_urlsafe(32)}"
        users.add_token(name, made)
    sys.stdout.write(f"{made}\n")


@contextlib.contextmanager
def _users(data: Any, config: Any, *, new: bool = False) -> Iterator[Any]:
    from tocsin.model.refusal import Refusal
    from tocsin.store.database import Store
    from tocsin.store.errors import StoreError

    path = options.settings_of(data=data, config=config).places.database
    if not new and not path.exists():
        fail(f"{path.parent} is not a data directory; `tocsin users add` makes one, or name another with --data")
    try:
        store = Store.open(path)
        try:
            yield store.users
        finally:
            store.close()
    except (StoreError, OSError) as error:
        fail(str(error))
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)


def _password() -> str:
    """Never from the command line, which everybody on the machine can read."""
    if sys.stdin.isatty():
        given = getpass.getpass("password: ")
        if given != getpass.getpass("again: "):
            fail("the two are not the same", WRONG_USE)
    else:
        given = sys.stdin.readline().rstrip("\r\n")
    if not given or len(given) > LONGEST_PASSWORD:
        fail(f"a password has 1 to {LONGEST_PASSWORD} characters; write it on standard input", WRONG_USE)
    return given


def _split(rights: list[str] | None) -> Iterator[tuple[str, str, str]]:
    for each in rights or ():
        yield each.partition("=")


def _right(action: str, topic: str | None, namespaces: dict[str, str]) -> Any:
    from tocsin.model.access import ACTIONS, Right
    from tocsin.model.refusal import Refusal
    from tocsin.model.topics import parse_topic_expression

    known = next((each for each in ACTIONS if each == action), None)
    if known is None:
        fail(f"{action!r} is not a right; {', '.join(ACTIONS)} are", WRONG_USE)
    try:
        return Right(known, None if topic is None else parse_topic_expression(topic, "full", namespaces))
    except Refusal as refusal:
        fail(refusal.text, WRONG_USE)


def _shown(account: Any) -> dict[str, Any]:
    from tocsin.matching.explain.wording import topic_text

    rights = [
        {"action": each.action, "topics": None if each.topics is None else topic_text(each.topics)}
        for each in account.principal.rights
    ]
    return {
        "name": account.principal.name,
        "password": account.password is not None,
        "tokens": len(account.tokens),
        "rights": rights,
    }
