"""The flags by which a command reaches a broker as a client, said once for all of them."""

import asyncio
import inspect
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, fail
from tocsin.mediation.dialects import NAMES

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.client.connection import Access

_PANEL = "The broker, and who you are"
_NOT_KNOWN = 401


@dataclass(frozen=True)
class Connection:
    dialect: str
    broker: str
    user: str
    password: str
    token: str
    digest: bool
    ca_file: Path | None
    client_cert: Path | None
    client_key: Path | None
    flags: tuple[str, ...] = ()

    @property
    def access(self) -> "Access":
        return {
            "user": self.user,
            "password": self.password,
            "token": self.token,
            "digest": self.digest,
            "ca_file": self.ca_file,
            "client_cert": self.client_cert,
            "client_key": self.client_key,
        }

    def command(self, *words: str, dialect: str = "") -> str:
        """A command for the same broker as the same person, to be copied."""
        digest = ("--digest",) if self.digest and not dialect else ()
        return f"`{shlex.join(('tocsin', *words, '--as', dialect or self.dialect, *self.flags, *digest))}`"

    def api_command(self, *words: str) -> str:
        """Likewise, of a command that speaks no dialect; where the broker usually is goes without saying."""
        flags = self.flags[2:] if self.broker == options.DEFAULT_BROKER else self.flags
        return f"`{shlex.join(('tocsin', *words, *flags))}`"

    def run(self, work: "Callable[[Client], Awaitable[None]]") -> None:
        """With a client that is closed afterwards; whatever goes wrong ends the command in a sentence."""
        from tocsin.client.errors import ClientError

        try:
            asyncio.run(self._run(work))
        except ClientError as error:
            fail(f"{error}{self._hint(error)}")

    async def _run(self, work: "Callable[[Client], Awaitable[None]]") -> None:
        from tocsin.client.client import Client

        async with Client(self.broker, self.dialect, **self.access) as client:
            await work(client)

    def _hint(self, error: Exception) -> str:
        from tocsin.client.errors import ClientError, Unreachable

        if isinstance(error, Unreachable):
            return f"; is one running at {self.broker}? start it with `tocsin serve`, or name it with --broker URL"
        if isinstance(error, ClientError) and error.status == _NOT_KNOWN:
            return "; say who you are with --user and --password-file, or with --token-file"
        return ""


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """The command takes a `Connection` first; people see the flags it is made of, after the command's own."""
    own = list(inspect.signature(command).parameters.values())[1:]
    added = inspect.signature(_connection).parameters

    def run(**given: Any) -> None:
        connection = _connection(**{name: given.pop(name) for name in added})
        command(connection, **given)

    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *added.values())]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=_PANEL)


def _connection(
    dialect: Annotated[
        str, _option("--as", help=f"{', '.join(NAMES[:-1])} or {NAMES[-1]}.", metavar="DIALECT")
    ] = "cloudevents",
    broker: Annotated[str, _option(help="The broker's address.", metavar="URL")] = options.DEFAULT_BROKER,
    user: Annotated[str, _option(help="Who you are to the broker.", metavar="NAME")] = "",
    password_file: Annotated[Path | None, _option(help="Where the password is.")] = None,
    digest: Annotated[bool, _option("--digest", help="Show it as WS-Security does, not as HTTP Basic.")] = False,
    token_file: Annotated[Path | None, _option(help="Where a bearer token is, instead.")] = None,
    ca_file: Annotated[Path | None, _option(help="The authorities to believe over TLS, in PEM.")] = None,
    client_cert: Annotated[Path | None, _option(help="A certificate to show, in PEM.")] = None,
    client_key: Annotated[Path | None, _option(help="Its key, where that is another file.")] = None,
) -> Connection:
    if bool(user) != (password_file is not None):
        fail("--user and --password-file go together", WRONG_USE)
    if dialect not in NAMES:
        fail(f"--as {dialect!r} is not a dialect; choose one of {', '.join(NAMES)}", WRONG_USE)
    if not broker.startswith(("http://", "https://")):
        fail(f"--broker {broker!r} must begin with http:// or https://, e.g. {options.DEFAULT_BROKER}", WRONG_USE)
    given = {
        "--broker": broker.rstrip("/"),
        "--user": user,
        "--password-file": password_file,
        "--token-file": token_file,
        "--ca-file": ca_file,
        "--client-cert": client_cert,
        "--client-key": client_key,
    }
    return Connection(
        dialect,
        broker.rstrip("/"),
        user,
        _first_line(password_file),
        _first_line(token_file),
        digest,
        ca_file,
        client_cert,
        client_key,
        _flags(given),
    )


def _flags(given: dict[str, str | Path | None]) -> tuple[str, ...]:
    return tuple(word for name, value in given.items() if value for word in (name, str(value)))


def _first_line(path: Path | None) -> str:
    return "" if path is None else read(path).decode().partition("\n")[0].rstrip("\r")


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}", WRONG_USE)
