"""`/api` over a node that keeps a world and nothing else: asked as HTTP asks it, without a socket."""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.doors.api.api import api
from tocsin.doors.gate import Gate
from tocsin.model.identity import Instant
from tocsin.routing.implicit.services import Changes, Running
from tocsin.semantics.interest.changes import Change, Changing
from tocsin.semantics.interest.world import World
from tocsin.wire.asgi import Message

BASE = "http://broker.example"


class Keeper:
    """The world, and what became of it."""

    def __init__(self, changes: Sequence[Change] = ()) -> None:
        self.kept = World.of(changes)
        self.history: list[Changing] = []
        self.running: list[Running] = []

    def world(self, caller: Caller) -> World:
        return self.kept

    async def change_world(self, caller: Caller, changes: Changes, by: str) -> int:
        tried = World.of(self.kept.changes())
        made = changes(self.kept) if callable(changes) else changes
        for change in made:
            tried.apply(change)
        for change in made:
            self.kept.apply(change)
            self.history.append(Changing(self.kept.version, Instant(10**18), by, change))
        return self.kept.version

    def notifiers(self, caller: Caller) -> Sequence[Running]:
        return self.running

    async def world_history(self, caller: Caller, after: int, limit: int) -> Sequence[Changing]:
        return [each for each in self.history if each.version > after][:limit]


class FakeNode:
    """The part of a node that is asked here."""

    base_url, body_limit = BASE, 1 << 20

    def __init__(self, keeper: Keeper) -> None:
        self.implicit, self.ring = keeper, None

    def now(self) -> Instant:
        return Instant(10**18)


class Said(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def version(self) -> int:
        return int(self.headers["etag"].strip('"'))


class Door:
    def __init__(self, keeper: Keeper) -> None:
        self.keeper = keeper
        self._application = api(Gate(cast(Node, FakeNode(keeper))))

    async def __call__(self, method: str, path: str, body: object = b"", **headers: str) -> Said:
        """`body` is sent as JSON unless it is bytes."""
        sent = body if isinstance(body, bytes) else msgspec.json.encode(body)
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        answered: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": sent, "more_body": False}

        async def send(message: Message) -> None:
            answered.append(message)

        await self._application(scope, receive, send)
        start, *rest = answered
        told = {name.decode(): value.decode() for name, value in start["headers"]}
        return Said(start["status"], told, b"".join(each.get("body", b"") for each in rest))
