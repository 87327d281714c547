"""The lists of CONTRIBUTING.md name files that are there, and as many as they say; a resource is built by its list."""

import asyncio
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from msgspec import Struct
from typer.testing import CliRunner

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
from tocsin.doors.api import api, openapi
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


service = Bells()  # a field of the node, were it no test
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
    for module in (api, openapi):
        if hasattr(module, "RESOURCES"):
            monkeypatch.setattr(module, "RESOURCES", (*module.RESOURCES, bells))
    return load({"data": str(tmp_path), "listen": "127.0.0.1:0", "engine": "embedded"}, {})


async def test_a_resource_is_served_described_and_called(settings: Any) -> None:
    async with serving(settings, lambda _: None) as node, AsyncClient(node.base_url) as client:
        connection: Connection = client._connection
        calls: BellCalls[None] = BellCalls(connection, None)
        assert await calls.strike("great") == BellDocument("great", 1)
        assert list(await calls.list()) == [BellDocument("great", 1)]
        with pytest.raises(ClientError, match="cracked"):
            await calls.strike("cracked")
        said = await asyncio.to_thread(CliRunner().invoke, application, ["great", "--broker", node.base_url])
        assert said.output.strip() == "2"
        answer = await connection.request("GET", f"{node.base_url}/api/openapi.json", (), b"")
        assert b"/api/bells/{name}/strike" in answer.body


def test_a_handler_without_a_caller_is_refused() -> None:
    with pytest.raises(TypeError, match="caller"):
        Resource("/api/open").get(says="Everything")(lambda node: None)
