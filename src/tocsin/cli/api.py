"""The broker's JSON API, asked from a command."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import typer

from tocsin.cli.connection import Connection, connected
from tocsin.model.identity import Pairs

if TYPE_CHECKING:
    from tocsin.client.client import Client

PAGE = 1000
Found = TypeVar("Found")
_OF_DIALECTS = ("dialect", "digest")


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """As `connected`, but without the flags about dialects: the API has none."""
    whole = connected(command)
    parameters = dict(inspect.signature(whole).parameters)
    unsaid = {name: parameters.pop(name).default for name in _OF_DIALECTS}

    def run(**given: Any) -> None:
        whole(**unsaid, **given)

    run.__name__, run.__doc__ = whole.__name__, whole.__doc__
    run.__annotations__ = {name: each.annotation for name, each in parameters.items()}
    run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
    return run


def joined(connection: Connection, context: typer.Context) -> Connection:
    """Flags may stand before a subcommand too; those after it are the nearer ones."""
    before = context.obj
    if not isinstance(before, Connection):
        return connection
    blank = _blank()
    names = [each.name for each in fields(Connection)]
    unsaid = {name: getattr(before, name) for name in names if getattr(connection, name) == getattr(blank, name)}
    return replace(connection, **unsaid)


def ask(connection: Connection, method: str, path: str, body: bytes = b"", kind: str = "application/json") -> Any:
    """The document that is answered, None for an empty one; whatever goes wrong ends the command in a sentence."""
    found: list[object] = []

    async def work(_: "Client") -> None:
        found.append(await _asked(connection, method, path, body, kind))

    connection.run(work)
    return found[0]


def ask_bytes(connection: Connection, path: str, accept: str) -> bytes:
    """A document that is no JSON, as it is."""
    found: list[bytes] = []

    async def work(_: "Client") -> None:
        found.append(await _requested(connection, "GET", path, (("Accept", accept),), b""))

    connection.run(work)
    return found[0]


def through(connection: Connection, work: "Callable[[Client], Awaitable[Found]]") -> Found:
    """What comes of work with a client; whatever goes wrong ends the command in a sentence."""
    found: list[Found] = []

    async def run(client: "Client") -> None:
        found.append(await work(client))

    connection.run(run)
    return found[0]


def pages(connection: Connection, path: str, limit: int, **query: str) -> tuple[list[dict[str, Any]], bool]:
    """Up to so many items, and whether there are more."""
    found: list[dict[str, Any]] = []
    more = "".join(f"&{name}={quote(value, safe='')}" for name, value in query.items() if value)
    after: str | None = ""
    while after is not None and len(found) < limit:
        begin = f"&after={quote(after, safe='')}" if after else ""
        page = ask(connection, "GET", f"{path}?limit={min(PAGE, limit - len(found))}{begin}{more}")
        found += page["items"]
        after = page["next"]
    return found, after is not None


async def _asked(connection: Connection, method: str, path: str, body: bytes, kind: str) -> object:
    from tocsin.client.answers import decoded

    answer = await _requested(connection, method, path, (("Content-Type", kind),), body)
    return decoded(answer, object) if answer else None


async def _requested(connection: Connection, method: str, path: str, headers: Pairs, body: bytes) -> bytes:
    """`Client` has GET and POST of documents only, and here is a namespace to PUT, and what to DELETE."""
    from tocsin.client.connection import Connection as Reached

    reached = Reached(connection.broker, connection.access)
    try:
        answer = await reached.request(method, connection.broker + path, headers, body)
    finally:
        await reached.close()
    return answer.body


def _blank() -> Connection:
    """What a command gets that is told nothing."""
    made: list[Connection] = []

    def told(connection: Connection) -> None:
        made.append(connection)

    run = connected(told)
    run(**{name: each.default for name, each in inspect.signature(run).parameters.items()})
    return made[0]
