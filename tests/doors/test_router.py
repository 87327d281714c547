"""What a handler does not get is refused before it is called."""

import asyncio
from types import SimpleNamespace
from typing import Annotated

import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import Response

from tocsin.broker.caller import NODE, Caller
from tocsin.doors.api.parameters import Header, Query, whole_number
from tocsin.doors.api.router import Resource, routes

bells = Resource("/api/bells")


@bells.get(says="Ring")
def ring(
    caller: Caller,
    bell: Annotated[str, Query("Which bell")],
    times: Annotated[int, Query("How often", whole_number)],
    hand: Annotated[str, Header("Whose hand", "x-hand")],
    tone: Annotated[str, Query("How high")] = "a",
) -> dict[str, str]:
    del caller
    return {"bell": bell * times, "hand": hand, "tone": tone}


def answer(query: str, headers: tuple[tuple[bytes, bytes], ...] = ()) -> Response:
    gate = SimpleNamespace(node=None, caller=lambda scope: NODE)
    app = SimpleNamespace(state=SimpleNamespace(gate=gate))
    scope = {"type": "http", "method": "GET", "path": "/api/bells", "query_string": query.encode(), "headers": headers}
    (route,) = routes([bells])
    found: Response = asyncio.run(route.endpoint(Request({**scope, "app": app})))
    return found


@pytest.mark.parametrize(
    ("query", "headers", "missing"),
    [
        ("times=2", ((b"x-hand", b"left"),), "bell is missing; add ?bell="),
        ("bell=ding", ((b"x-hand", b"left"),), "times is missing; add ?times="),
        ("bell=ding&times=2", (), "x-hand is missing; send that header"),
    ],
)
def test_what_has_no_default_must_be_said(query: str, headers: tuple[tuple[bytes, bytes], ...], missing: str) -> None:
    refused = answer(query, headers)
    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert missing in msgspec.json.decode(refused.body)["detail"]


def test_what_is_said_is_read() -> None:
    told = answer("bell=ding&times=2", ((b"x-hand", b"left"),))
    assert msgspec.json.decode(told.body) == {"bell": "dingding", "hand": "left", "tone": "a"}


def test_what_has_no_default_is_described_as_required() -> None:
    (operation,) = bells.operations
    required = {name for name, each in operation.signature.parameters.items() if getattr(each, "required", True)}
    assert required == {"bell", "times", "x-hand"}
