"""The lists of CONTRIBUTING.md name files that are there, and as many as they say; a resource is built by its list."""

import ast
import asyncio
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from msgspec import Struct
from typer.testing import CliRunner

from tocsin import cli
from tocsin.blocking import Client
from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.broker.settings import load
from tocsin.client.api import Collection, Way, below
from tocsin.client.calls import call
from tocsin.client.client import Client as AsyncClient
from tocsin.client.connection import Connection
from tocsin.client.errors import ClientError
from tocsin.documents.subscriptions import Page
from tocsin.doors import api
from tocsin.doors.api.router import Resource
from tocsin.model.refusal import Refusal
from tocsin.platform.serving import serving

TOP = Path(__file__).parents[2]
PAGE = (TOP / "CONTRIBUTING.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## (Add .+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))


@pytest.mark.parametrize("title", SECTIONS)
def test_a_list_names_what_is_there(title: str) -> None:
    files = re.findall(r"^\d+\. `([^`]+)`", SECTIONS[title], re.M)
    assert SECTIONS[title].startswith(f"{len(files)} source files")
    for name in files:
        assert list(TOP.glob(name.replace("<name>", "*"))), f"{title}: there is no {name}"


def names(tree: ast.AST) -> set[str]:
    """Of attributes, keywords, parameters and annotated fields."""
    found = set()
    for each in ast.walk(tree):
        match each:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.arg(arg=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


def test_a_field_of_a_subscription_is_in_few_files() -> None:
    """`thin` is refused beside graphs, and decides what is matched: a field cannot touch much more."""
    sources = {str(each.relative_to(TOP)): each for each in (TOP / "src").rglob("*.py")}
    files = {name for name, each in sources.items() if "thin" in names(ast.parse(each.read_text("utf-8")))}
    files.add("src/tocsin/flow/thin.py")
    listed = set(re.findall(r"^\d+\. `([^`]+)`", SECTIONS["Add a field to a subscription"], re.M))
    assert listed <= files
    assert len(files) <= 8


# A resource by its list: documents, a service, handlers, a client, a command.


class BellDocument(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    strikes: int = 0


class Bells:
    def __init__(self) -> None:
        self._strikes: dict[str, int] = {}

    def all(self, caller: Caller) -> list[BellDocument]:
        caller.anybody()
        return [BellDocument(*each) for each in sorted(self._strikes.items())]

    def strike(self, caller: Caller, name: str) -> BellDocument:
        caller.must_manage_everything("strike bells")
        if name == "cracked":
            raise Refusal("malformed", "a cracked bell is not struck")
        self._strikes[name] = self._strikes.get(name, 0) + 1
        return BellDocument(name, self._strikes[name])


service = Bells()  # an attribute of the node, were it no test
bells = Resource("/api/bells")


@bells.get(says="The bells")
def list_bells(node: Node, caller: Caller) -> Page[BellDocument]:
    return Page(service.all(caller), None)


@bells.post("/{name}/strike", says="Strike a bell", status=201)
def strike_bell(node: Node, caller: Caller, name: str) -> BellDocument:
    return service.strike(caller, name)


class BellCalls(Collection[Way, BellDocument]):
    _path, _kind = "/api/bells", BellDocument

    @call
    async def strike(self, name: str) -> BellDocument:
        return await self._ask(BellDocument, "POST", below(self._path, name, "strike"))


application = typer.Typer()


@application.command()
def strike(name: str, broker: Annotated[str, typer.Option()]) -> None:
    with Client(broker) as client:
        typer.echo(BellCalls(client._connection, client._loop).strike(name).strikes)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for package, told in ((api, "bells"), (cli, "application")):
        place = tmp_path / package.__name__
        place.mkdir()
        (place / "bells.py").write_text(f"from {__name__} import {told}\n", "utf-8")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(place)])
    monkeypatch.setitem(cli._ENTRIES, "bells", ("bells", "Bells, and how often they were struck."))
    return load({"data": str(tmp_path), "listen": "127.0.0.1:0", "engine": "embedded"}, {})


async def test_a_resource_is_served_described_and_called(settings: Any) -> None:
    async with serving(settings, lambda _: None) as node, AsyncClient(node.base_url) as client:
        connection: Connection = client._connection
        calls: BellCalls[None] = BellCalls(connection, None)
        assert await calls.strike("great") == BellDocument("great", 1)
        assert list(await calls.list()) == [BellDocument("great", 1)]
        with pytest.raises(ClientError, match="cracked"):
            await calls.strike("cracked")
        words = ["bells", "strike", "great", "--broker", node.base_url]
        said = await asyncio.to_thread(CliRunner().invoke, cli.application, words)
        assert said.output.strip() == "2"
        answer = await connection.request("GET", f"{node.base_url}/api/openapi.json", (), b"")
        assert b"/api/bells/{name}/strike" in answer.body


def test_a_handler_without_a_caller_is_refused() -> None:
    with pytest.raises(TypeError, match="caller"):
        Resource("/api/open").get(says="Everything")(lambda node: None)
