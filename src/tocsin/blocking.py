"""The client library for programs without a loop: `from tocsin.blocking import Client, Consumer`.

The loop runs in a thread of its own for each client or consumer; what is called here waits for it, from any thread.
"""

import contextlib
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self, Unpack

from tocsin.client import consumer as asynchronous
from tocsin.client.calls import Loop
from tocsin.client.client import BROKER, AnyClient
from tocsin.client.connection import Access
from tocsin.client.consumer import EndHandler, Handler, RequestHandler
from tocsin.client.errors import ClientError
from tocsin.mediation.ce import cloudevents

__all__ = ["Client", "Consumer"]


class Client(AnyClient[Loop]):
    """`tocsin.Client` for programs without a loop; safe to be called from several threads."""

    def __init__(
        self,
        broker: str = BROKER,
        dialect: str = cloudevents.NAME,
        *,
        soap: str = "1.2",
        endpoint: str = "",
        **access: Unpack[Access],
    ) -> None:
        super().__init__(Loop(), broker, dialect, None, soap, endpoint, access)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with contextlib.suppress(ClientError):
            self._loop.run(self._connection.close())
        self._loop.close()


class Consumer:
    """`tocsin.Consumer` for programs without a loop; handlers are called in a thread of their own."""

    def __init__(
        self,
        handler: Handler | None = None,
        *,
        received: RequestHandler | None = None,
        ended: EndHandler | None = None,
        signed_with: str = "",
        origins: Sequence[str] = ("*",),
    ) -> None:
        self._handler, self._received, self._ended = handler, received, ended
        self._signed_with, self._origins = signed_with, origins
        self.url = ""

    @contextlib.contextmanager
    def listening(self, host: str = "127.0.0.1", port: int = 0) -> Iterator[Self]:
        loop = Loop()
        consumer = asynchronous.Consumer(
            loop.in_thread(self._handler),
            received=loop.in_thread(self._received),
            ended=loop.in_thread(self._ended),
            signed_with=self._signed_with,
            origins=self._origins,
        )
        try:
            with loop.entered(consumer.listening(host, port)):
                self.url = consumer.url
                yield self
        finally:
            loop.close()
