"""Calls that a program with a loop awaits, and one without a loop waits for; each is written once, as a coroutine.

What has a `Loop` of its own is for programs without one: its calls may be made from any thread.
"""

import asyncio
import contextlib
import functools
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from tocsin.client.errors import ClientError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Given = TypeVar("Given")
Own = TypeVar("Own", covariant=True)
Handler = Callable[[Given], object]  # plain or async; what it returns may be the reply
_END: Any = object()


class Loop:
    """A running loop in a thread of its own, and one more thread in which handlers may wait and call us."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tocsin-client", daemon=True)
        self._handlers = ThreadPoolExecutor(1, "tocsin-handler")
        self._thread.start()
        self._closed = False

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        if self._closed or threading.current_thread() is self._thread:
            work.close()
            raise ClientError("it was closed" if self._closed else "it cannot be waited for inside its own loop")
        waiting = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()
            raise

    @contextlib.contextmanager
    def entered(self, manager: AbstractAsyncContextManager[Result]) -> Iterator[Result]:
        found = self.run(_enter(manager))
        try:
            yield found
        finally:
            self.run(_leave(manager))

    def in_thread(self, handler: Handler[Given] | None) -> Handler[Given] | None:
        """Called in the thread of handlers: one after the other, in the order they came."""
        if handler is None:
            return None

        async def handled(given: Given) -> object:
            answer = await self._loop.run_in_executor(self._handlers, handler, given)
            return await answer if inspect.isawaitable(answer) else answer

        return handled

    def each(self, found: AsyncGenerator[Result]) -> Iterator[Result]:
        """What comes, one after the other, each waited for."""
        try:
            while (one := self.run(_next(found))) is not _END:
                yield one
        finally:
            self.run(found.aclose())

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._handlers.shutdown()


async def _enter(manager: AbstractAsyncContextManager[Result]) -> Result:
    return await manager.__aenter__()


async def _leave(manager: AbstractAsyncContextManager[Any]) -> None:
    await manager.__aexit__(None, None, None)


async def _next(found: AsyncGenerator[Result]) -> Result:
    return await anext(found, _END)


async def result_of(handler: Handler[Given], given: Given) -> object:
    answer = handler(given)
    return await answer if inspect.isawaitable(answer) else answer


class HasLoop(Protocol[Own]):
    """`_loop` is a `Loop`, or None in programs that have a loop themselves."""

    @property
    def _loop(self) -> Own: ...


class call(Generic[Parameters, Result]):  # noqa: N801 - a decorator
    """A method whose result is awaited, or waited for where its object has a `Loop`."""

    def __init__(self, method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Result]]) -> None:
        @functools.wraps(method)
        def wait(own: HasLoop[Loop], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            return own._loop.run(method(own, *args, **kwargs))

        self._method, self._wait = method, wait

    @overload
    def __get__(self, own: HasLoop[None], owner: type) -> Callable[Parameters, Coroutine[Any, Any, Result]]: ...

    @overload
    def __get__(self, own: HasLoop[Loop], owner: type) -> Callable[Parameters, Result]: ...

    def __get__(self, own: HasLoop[Any] | None, owner: type) -> Any:
        if own is None:
            return self._method
        return MethodType(self._method if own._loop is None else self._wait, own)


class context(Generic[Parameters, Result]):  # noqa: N801 - a decorator
    """Likewise of what is entered and left: `async with`, or `with` where its object has a `Loop`."""

    def __init__(self, method: Callable[Concatenate[Any, Parameters], AsyncIterator[Result]]) -> None:
        manager = contextlib.asynccontextmanager(method)

        @functools.wraps(method)
        def wait(
            own: HasLoop[Loop], *args: Parameters.args, **kwargs: Parameters.kwargs
        ) -> AbstractContextManager[Result]:
            return own._loop.entered(manager(own, *args, **kwargs))

        self._manager, self._wait = manager, wait

    @overload
    def __get__(self, own: HasLoop[None], owner: type) -> Callable[Parameters, AbstractAsyncContextManager[Result]]: ...

    @overload
    def __get__(self, own: HasLoop[Loop], owner: type) -> Callable[Parameters, AbstractContextManager[Result]]: ...

    def __get__(self, own: HasLoop[Any] | None, owner: type) -> Any:
        if own is None:
            return self._manager
        return MethodType(self._manager if own._loop is None else self._wait, own)


class series(Generic[Parameters, Result]):  # noqa: N801 - a decorator
    """Likewise of what comes one after the other: `async for`, or `for` where its object has a `Loop`."""

    def __init__(self, method: Callable[Concatenate[Any, Parameters], AsyncGenerator[Result]]) -> None:
        @functools.wraps(method)
        def wait(own: HasLoop[Loop], *args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Result]:
            return own._loop.each(method(own, *args, **kwargs))

        self._method, self._wait = method, wait

    @overload
    def __get__(self, own: HasLoop[None], owner: type) -> Callable[Parameters, AsyncGenerator[Result]]: ...

    @overload
    def __get__(self, own: HasLoop[Loop], owner: type) -> Callable[Parameters, Iterator[Result]]: ...

    def __get__(self, own: HasLoop[Any] | None, owner: type) -> Any:
        if own is None:
            return self._method
        return MethodType(self._method if own._loop is None else self._wait, own)


Awaited = TypeVar("Awaited")
Waited = TypeVar("Waited")


class either(Generic[Awaited, Waited]):  # noqa: N801 - a decorator
    """A `call` whose result is of another type by what it is given: how it looks awaited, and waited for."""

    def __init__(self, method: Callable[..., Coroutine[Any, Any, Any]]) -> None:
        self._call = call(method)

    @overload
    def __get__(self, own: HasLoop[None], owner: type) -> Awaited: ...

    @overload
    def __get__(self, own: HasLoop[Loop], owner: type) -> Waited: ...

    def __get__(self, own: HasLoop[Any] | None, owner: type) -> Any:
        return self._call.__get__(own, owner)  # type: ignore[arg-type]
