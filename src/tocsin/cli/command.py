"""Commands that ask a broker: the flags by which it is reached, said once for all of them."""

import asyncio
import inspect
import shlex
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli.options import DEFAULT_BROKER, Json
from tocsin.cli.output import WRONG_USE, Output, fail, say
from tocsin.mediation.dialects import NAMES

if TYPE_CHECKING:
    from tocsin.client.connection import Access

Command = Callable[..., Any]
_NOT_KNOWN = 401
_OF_DIALECTS = ("dialect", "digest")
_option = partial(typer.Option, rich_help_panel="The broker, and who you are")


@dataclass(frozen=True)
class Connection:
    """Each field is a flag."""

    dialect: Annotated[str, _option("--as", help=f"{', '.join(NAMES[:-1])} or {NAMES[-1]}.", metavar="DIALECT")] = (
        "cloudevents"
    )
    broker: Annotated[str, _option(help="The broker's address.", metavar="URL")] = DEFAULT_BROKER
    user: Annotated[str, _option(help="Who you are to the broker.", metavar="NAME")] = ""
    password_file: Annotated[Path | None, _option(help="Where the password is.")] = None
    digest: Annotated[bool, _option("--digest", help="Show it as WS-Security does, not as HTTP Basic.")] = False
    token_file: Annotated[Path | None, _option(help="Where a bearer token is, instead.")] = None
    ca_file: Annotated[Path | None, _option(help="The authorities to believe over TLS, in PEM.")] = None
    client_cert: Annotated[Path | None, _option(help="A certificate to show, in PEM.")] = None
    client_key: Annotated[Path | None, _option(help="Its key, where that is another file.")] = None

    def checked(self) -> "Connection":
        if bool(self.user) != (self.password_file is not None):
            fail("--user and --password-file go together", WRONG_USE)
        if self.dialect not in NAMES:
            fail(f"--as {self.dialect!r} is not a dialect; choose one of {', '.join(NAMES)}", WRONG_USE)
        if not self.broker.startswith(("http://", "https://")):
            fail(f"--broker {self.broker!r} must begin with http:// or https://, e.g. {DEFAULT_BROKER}", WRONG_USE)
        return replace(self, broker=self.broker.rstrip("/"))

    def over(self, before: object) -> "Connection":
        """Flags may stand before a subcommand too; those after it are the nearer ones."""
        if not isinstance(before, Connection):
            return self
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(before, **{name: value for name, value in said.items() if value != getattr(Connection, name)})

    def command(self, *words: str, dialect: str = "") -> str:
        """A command for the same broker as the same person, to be copied."""
        digest = ("--digest",) if self.digest and not dialect else ()
        spoken = ("--as", dialect or self.dialect, "--broker", self.broker)
        return f"`{shlex.join(('tocsin', *words, *spoken, *self._flags(), *digest))}`"

    def api_command(self, *words: str) -> str:
        """Likewise, of a command that speaks no dialect; where the broker usually is goes without saying."""
        place = () if self.broker == DEFAULT_BROKER else ("--broker", self.broker)
        return f"`{shlex.join(('tocsin', *words, *place, *self._flags()))}`"

    def access(self) -> "Access":
        return {
            "user": self.user,
            "password": _first_line(self.password_file),
            "token": _first_line(self.token_file),
            "digest": self.digest,
            "ca_file": self.ca_file,
            "client_cert": self.client_cert,
            "client_key": self.client_key,
        }

    async def run(self, command: Command, given: dict[str, Any]) -> Any:
        """With a client that is closed afterwards, where the command takes one."""
        from tocsin.client.client import Client

        taken = inspect.signature(command).parameters
        if "connection" in taken:
            given["connection"] = self
        if "client" not in taken:
            return await command(**given)
        async with Client(self.broker, self.dialect, **self.access()) as client:
            answered = await command(client=client, **given)
            if client.missing:
                say(f"{', '.join(client.missing)} did not answer: what only they know is not in this")
            return answered

    def hint(self, error: Exception) -> str:
        from tocsin.client.errors import ClientError, Unreachable

        if isinstance(error, Unreachable):
            return f"; is one running at {self.broker}? start it with `tocsin serve`, or name it with --broker URL"
        if isinstance(error, ClientError) and error.status == _NOT_KNOWN:
            return "; say who you are with --user and --password-file, or with --token-file"
        return ""

    def _flags(self) -> tuple[str, ...]:
        names = ("user", "password_file", "token_file", "ca_file", "client_cert", "client_key")
        given = ((f"--{name.replace('_', '-')}", getattr(self, name)) for name in names)
        return tuple(word for flag, value in given if value for word in (flag, str(value)))


def asking(
    register: Callable[..., Any], example: str, *, dialects: bool = False, **told: Any
) -> Callable[[Command], Command]:
    """Makes a coroutine function that takes `client`, `connection` or both a command, and registers it with what else
    typer is told. A parameter that is a dataclass stands for a flag a field; the flags of the connection come last, and
    --json before them when it returns an `Output`.
    """

    def made(command: Command) -> Command:
        register(epilog=f"Example: {example}", **told)(_connected(command, dialects))
        return command

    return made


speaking = partial(asking, dialects=True)  # likewise, with the flags about dialects, which the API does not have


def _connected(command: Command, dialects: bool) -> Command:
    signature = inspect.signature(command)
    own = {name: each for name, each in signature.parameters.items() if name not in ("client", "connection")}
    groups = {name: each.annotation for name, each in own.items() if _flags_of(each.annotation)}
    answers = signature.return_annotation is Output
    shown = [flag for each in own.values() for flag in _flags_of(each.annotation) or (each,)]
    shown += [_parameter("json", Json, False)] if answers else []
    flags = [each for each in _flags_of(Connection) if dialects or each.name not in _OF_DIALECTS]

    def run(**given: Any) -> None:
        context: typer.Context = given["context"] if "context" in own else given.pop("context")
        json = given.pop("json") if answers else False
        for name, kind in ({"connection": Connection} | groups).items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind) if each.name in given})
        context.obj = connection = given.pop("connection").over(context.obj)
        if context.invoked_subcommand is None:
            _run(command, connection.checked(), given, json)

    _show(run, command, [*shown, *flags, *([] if "context" in own else [_parameter("context", typer.Context)])])
    return run


def _flags_of(kind: Any) -> list[inspect.Parameter]:
    """None where it is no dataclass."""
    return [*inspect.signature(kind).parameters.values()] if hasattr(kind, "__dataclass_fields__") else []


def _show(run: Command, command: Command, parameters: list[inspect.Parameter]) -> None:
    """`run` as typer is to see it."""
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]


def _run(command: Command, connection: Connection, given: dict[str, Any], json: bool) -> None:
    from tocsin.client.errors import ClientError

    try:
        output = asyncio.run(connection.run(command, given))
    except ClientError as error:
        fail(f"{error}{connection.hint(error)}")
    if output is not None:
        output.show(json)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _first_line(path: Path | None) -> str:
    return "" if path is None else read(path).decode().partition("\n")[0].rstrip("\r")


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        fail(f"{path}: {error.strerror}", WRONG_USE)
