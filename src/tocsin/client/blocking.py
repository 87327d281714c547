"""The blocking twins: the same calls for programs without a loop.

The loop runs in a thread of its own for each client or consumer; what is called here waits for it, from any thread.
"""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack

from tocsin.client import client as asynchronous
from tocsin.client.answers import ClientError
from tocsin.client.blocking_world import Notifiers, World
from tocsin.client.consumer import Consumer as AsyncConsumer
from tocsin.client.consumer import Received
from tocsin.client.values import Ended, Lease, Options
from tocsin.mediation.ce import cloudevents
from tocsin.model.notification import Notification

__all__ = ["Client", "Consumer"]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")
Given = TypeVar("Given")
Handler = Callable[[Notification], None]
Told = Callable[[Ended], None]
Whole = Callable[[Received], None]


class _Loop:
    """A running loop in a thread of its own, and one more thread in which handlers may wait and call us."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tocsin-client", daemon=True)
        self._handlers = ThreadPoolExecutor(1, "tocsin-handler")
        self._thread.start()
        self._closed = False

    def run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
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
    def entered(self, context: AbstractAsyncContextManager[Answer]) -> Iterator[Answer]:
        found = self.run(_entering(context))
        try:
            yield found
        finally:
            self.run(_leaving(context))

    def in_thread(self, handler: Callable[[Given], None] | None) -> Callable[[Given], Coroutine[Any, Any, None]] | None:
        """One after the other, in the order they came."""
        if handler is None:
            return None

        async def handled(given: Given) -> None:
            await self._loop.run_in_executor(self._handlers, handler, given)

        return handled

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._handlers.shutdown()


async def _entering(context: AbstractAsyncContextManager[Answer]) -> Answer:
    return await context.__aenter__()


async def _leaving(context: AbstractAsyncContextManager[Any]) -> None:
    await context.__aexit__(None, None, None)


def _twin(
    method: Callable[Concatenate[asynchronous.Client, Parameters], Coroutine[Any, Any, Answer]],
) -> "Callable[Concatenate[Client, Parameters], Answer]":
    def blocking(self: "Client", /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Answer:
        return self._loop.run(method(self._client, *args, **kwargs))

    functools.update_wrapper(blocking, method)
    return blocking


def _twin_context(
    method: Callable[Concatenate[asynchronous.Client, Parameters], AbstractAsyncContextManager[Answer]],
) -> "Callable[Concatenate[Client, Parameters], AbstractContextManager[Answer]]":
    def blocking(
        self: "Client", /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> AbstractContextManager[Answer]:
        return self._loop.entered(method(self._client, *args, **kwargs))

    functools.update_wrapper(blocking, method)
    return blocking


class Client:
    """`tocsin.Client` for programs without a loop; safe to be called from several threads."""

    def __init__(
        self,
        broker: str = "http://127.0.0.1:8080",
        dialect: str = cloudevents.NAME,
        *,
        user: str = "",
        password: str = "",
        token: str = "",
        digest: bool = False,
        ca_file: Path | str | None = None,
        client_cert: Path | str | None = None,
        client_key: Path | str | None = None,
        soap: str = "1.2",
        endpoint: str = "",
    ) -> None:
        self._client = asynchronous.Client(
            broker,
            dialect,
            user=user,
            password=password,
            token=token,
            digest=digest,
            ca_file=ca_file,
            client_cert=client_cert,
            client_key=client_key,
            soap=soap,
            endpoint=endpoint,
        )
        self.dialect, self.broker = self._client.dialect, self._client.broker
        self._loop = _Loop()
        self.world = World(self._loop, self._client.world)
        self.notifiers = Notifiers(self._loop, self._client.notifiers)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(ClientError):
            self._loop.run(self._client.close())
        self._loop.close()

    publish = _twin(asynchronous.Client.publish)
    subscribe = _twin(asynchronous.Client.subscribe)
    renew = _twin(asynchronous.Client.renew)
    status = _twin(asynchronous.Client.status)
    pause = _twin(asynchronous.Client.pause)
    resume = _twin(asynchronous.Client.resume)
    unsubscribe = _twin(asynchronous.Client.unsubscribe)
    create_pull_point = _twin(asynchronous.Client.create_pull_point)
    pull = _twin(asynchronous.Client.pull)
    destroy_pull_point = _twin(asynchronous.Client.destroy_pull_point)
    pulling = _twin_context(asynchronous.Client.pulling)
    current_message = _twin(asynchronous.Client.current_message)
    register_publisher = _twin(asynchronous.Client.register_publisher)
    destroy_registration = _twin(asynchronous.Client.destroy_registration)
    serving = _twin_context(asynchronous.Client.serving)
    patterns = _twin(asynchronous.Client.patterns)
    ask = _twin(asynchronous.Client.ask)
    answer = _twin(asynchronous.Client.answer)
    tell = _twin(asynchronous.Client.tell)
    end_request = _twin(asynchronous.Client.end_request)
    request = _twin(asynchronous.Client.request)
    requests = _twin(asynchronous.Client.requests)
    interactions = _twin(asynchronous.Client.interactions)
    fetch = _twin(asynchronous.Client.fetch)
    get = _twin(asynchronous.Client.get)
    post = _twin(asynchronous.Client.post)

    def listening(
        self,
        handler: Handler | None = None,
        *,
        received: Whole | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        address: str = "",
        ended: Told | None = None,
        signed_with: str = "",
        **options: Unpack[Options],
    ) -> AbstractContextManager[Lease]:
        """As `tocsin.Client.listening`; handlers are called in a thread of their own, one after the other."""
        return self._loop.entered(
            self._client.listening(
                self._loop.in_thread(handler),
                received=self._loop.in_thread(received),
                host=host,
                port=port,
                address=address,
                ended=self._loop.in_thread(ended),
                signed_with=signed_with,
                **options,
            )
        )

    def address_of(self, subscription: str) -> str:
        """Where a subscription of that id is managed in this dialect."""
        return self._client.address_of(subscription)


class Consumer:
    """`tocsin.Consumer` for programs without a loop; handlers are called in a thread of their own."""

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        received: Whole | None = None,
        ended: Told | None = None,
        signed_with: str = "",
        origins: Sequence[str] = ("*",),
    ) -> None:
        self._handler, self._received, self._ended = handler, received, ended
        self._signed_with, self._origins = signed_with, origins
        self.url = ""

    @contextlib.contextmanager
    def listening(self, host: str = "127.0.0.1", port: int = 0) -> Iterator["Consumer"]:
        loop = _Loop()
        try:
            consumer = AsyncConsumer(
                loop.in_thread(self._handler),
                received=loop.in_thread(self._received),
                ended=loop.in_thread(self._ended),
                signed_with=self._signed_with,
                origins=self._origins,
            )
            with loop.entered(consumer.listening(host, port)):
                self.url = consumer.url
                yield self
        finally:
            loop.close()
