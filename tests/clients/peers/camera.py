"""onvif-zeep-async: it takes the broker for a camera, by a pull point and by a web hook. It has no way to publish."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from onvif import ONVIFCamera
from tests.clients.peers.peer import Event
from tests.whole.sink import Sink

_LEASE = timedelta(minutes=5)
_NOW = {"Timeout": timedelta(0), "MessageLimit": 100}


def _events(messages: Iterable[Any]) -> list[Event]:
    return [Event.of(each.Topic._value_1, each.Message._value_1) for each in messages]


@asynccontextmanager
async def _camera(broker: str) -> AsyncIterator[Any]:
    made = ONVIFCamera("127.0.0.1", urlsplit(broker).port, "home", "homehome", no_cache=True)
    try:
        await made.update_xaddrs()
        yield made
    finally:
        await made.close()


class _Pulling:
    def __init__(self, manager: Any) -> None:
        self._manager, self._heard = manager, list[Event]()

    async def heard(self) -> list[Event]:
        answer = await self._manager.get_service().PullMessages(_NOW)
        self._heard += _events(answer.NotificationMessage)
        return self._heard


class _Hooked:
    def __init__(self, manager: Any, sink: Sink) -> None:
        self._manager, self._sink = manager, sink

    async def heard(self) -> list[Event]:
        answers = (self._manager.process(each.body) for each in self._sink.at("hook"))
        return [event for answer in answers for event in _events(answer.NotificationMessage)]


@asynccontextmanager
async def by_pull_point(broker: str, topic: str) -> AsyncIterator[_Pulling]:
    """Its managers have no place for a filter."""
    async with _camera(broker) as camera:
        manager = await camera.create_pullpoint_manager(_LEASE, lambda: None)
        yield _Pulling(manager)
        await manager.shutdown()


@asynccontextmanager
async def by_web_hook(broker: str, topic: str) -> AsyncIterator[_Hooked]:
    async with Sink().open() as sink, _camera(broker) as camera:
        manager = await camera.create_notification_manager(sink.url("hook"), _LEASE, lambda: None)
        yield _Hooked(manager, sink)
        await manager.shutdown()
