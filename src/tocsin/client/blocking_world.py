"""`client.world` and `client.notifiers` for programs without a loop."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

from tocsin.client import world as asynchronous

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Of = TypeVar("Of")


class Loop(Protocol):
    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer: ...


class _Twin(Generic[Of]):
    def __init__(self, loop: Loop, of: Of) -> None:
        self._loop, self._of = loop, of


def _twin(
    method: Callable[Concatenate[Of, Parameters], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[_Twin[Of], Parameters], Answer]:
    def blocking(self: _Twin[Of], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return self._loop.run(method(self._of, *args, **kwargs))

    functools.update_wrapper(blocking, method)
    return blocking


class World(_Twin[asynchronous.World]):
    """`tocsin.client.world.World`, waited for."""

    version = _twin(asynchronous.World.version)
    load = _twin(asynchronous.World.load)
    save = _twin(asynchronous.World.save)
    topics = _twin(asynchronous.World.topics)
    topic = _twin(asynchronous.World.topic)
    remove_topic = _twin(asynchronous.World.remove_topic)
    categories = _twin(asynchronous.World.categories)
    category = _twin(asynchronous.World.category)
    remove_category = _twin(asynchronous.World.remove_category)
    services = _twin(asynchronous.World.services)
    service = _twin(asynchronous.World.service)
    put_service = _twin(asynchronous.World.put_service)
    change_service = _twin(asynchronous.World.change_service)
    remove_service = _twin(asynchronous.World.remove_service)
    edges = _twin(asynchronous.World.edges)
    edge = _twin(asynchronous.World.edge)
    remove_edge = _twin(asynchronous.World.remove_edge)
    vote = _twin(asynchronous.World.vote)
    rules = _twin(asynchronous.World.rules)
    put_rules = _twin(asynchronous.World.put_rules)
    neighbours = _twin(asynchronous.World.neighbours)
    history = _twin(asynchronous.World.history)


class Notifiers(_Twin[asynchronous.Notifiers]):
    """`tocsin.client.world.Notifiers`, waited for."""

    list = _twin(asynchronous.Notifiers.list)
    get = _twin(asynchronous.Notifiers.get)
    create = _twin(asynchronous.Notifiers.create)
    remove = _twin(asynchronous.Notifiers.remove)
    publish = _twin(asynchronous.Notifiers.publish)
    result = _twin(asynchronous.Notifiers.result)
    results = _twin(asynchronous.Notifiers.results)
