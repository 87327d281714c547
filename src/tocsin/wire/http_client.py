"""The guarded HTTP client inside the running loop, without a task or a future for each post.

Plain posts, which most deliveries are, go a short way of their own; libcurl does the rest.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from time import monotonic
from typing import Any, Protocol

from tocsin.model.identity import Pairs
from tocsin.wire._multi import Multi
from tocsin.wire._plain import Plain, Unusual
from tocsin.wire._transfer import Done, Streaming, Transfer
from tocsin.wire.addresses import AddressGuard, BadAddress, Lookup, Pin, Resolver, system_lookup
from tocsin.wire.answer import Answer
from tocsin.wire.tls import SYSTEM, Trust

__all__ = ["Answer", "HttpClient"]

_CLOSED = Answer(0, error="the client was closed")
MOST_PIECES = 1024  # of a stream that wait for who reads it; then the stream is ended


class Poster(Protocol):
    def post(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        """`done` is called once, later, never from inside."""
        ...


class HttpClient:
    """Made inside the running loop. Keep-alive, no redirects, no proxy; with a guard, checked at every connect.

    Addresses of `tcp:` and of other `schemes` are left to whoever speaks those.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = 5.0,
        timeout: float = 30.0,
        guard: AddressGuard | None = None,
        resolve: Lookup = system_lookup,
        max_connections: int = 1024,
        max_body: int = 64 << 10,
        trust: Trust = SYSTEM,
        schemes: Mapping[str, Poster] = {},
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._multi = Multi(self._finished, idle_connections=max_connections)
        self._resolver = Resolver(resolve, patience=connect_timeout)
        self._pins = self._resolver.pins
        timing = (connect_timeout, timeout)
        self._schemes = schemes
        self._plain = Plain(self._tell, self._begin, guard, timing, limit=max_body, idle_connections=max_connections)
        self.post = self._plain.post
        self._make = partial(Transfer, self._multi, guard, timing, limit=max_body, trust=trust)
        self._make_stream = partial(Streaming, self._multi, guard, (connect_timeout, 0.0), limit=max_body, trust=trust)
        self._free: list[Transfer] = []
        self._posts: dict[object, Transfer] = {}
        self._requests: dict[object, Transfer] = {}
        self._closed = False

    async def request(self, method: str, url: str, headers: Pairs = (), body: bytes = b"") -> Answer:
        answered: asyncio.Future[Answer] = self._loop.create_future()
        done = partial(_answer, answered)
        self._resolve(url, done, partial(self._request, method, url, headers, body, done))
        return await answered

    async def stream(self, url: str, headers: Pairs = (), *, patience: float) -> AsyncGenerator[bytes | Answer]:
        """What is answered with 200, piece by piece as it comes, then how it ended; any other answer is told whole.

        It ends too when nothing came for `patience` seconds.
        """
        pieces: asyncio.Queue[bytes | Answer] = asyncio.Queue()

        def tell(piece: bytes) -> bool:
            pieces.put_nowait(piece)
            return pieces.qsize() < MOST_PIECES

        transfer = self._make_stream(tell=tell)
        self._resolve(url, pieces.put_nowait, partial(self._stream, transfer, url, headers, pieces.put_nowait))
        try:
            piece: bytes | Answer = b""
            while not isinstance(piece, Answer):
                try:
                    async with asyncio.timeout(patience):
                        piece = await pieces.get()
                except TimeoutError:
                    piece = Answer(0, error=f"nothing came for {patience:g} seconds")
                yield piece
        finally:
            self._abandon(transfer)

    async def close(self) -> None:
        """What is in flight is answered as failed."""
        if self._closed:
            return
        self._closed = True
        self._resolver.close()
        busy = [transfer for transfer in (*self._posts.values(), *self._requests.values()) if transfer.done is not None]
        for transfer in busy:
            self._multi.remove(transfer.easy)
        self._multi.close()
        for done in (*self._plain.close(), *(transfer.done for transfer in busy)):
            self._tell(done, _CLOSED)
        for transfer in (*self._posts.values(), *self._requests.values()):
            transfer.easy.close()

    def _begin(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        """A post for which no connection is open, or not with these headers."""
        if (other := self._schemes.get(url.partition(":")[0].lower())) is not None:
            other.post(url, headers, body, done)
            return
        pin = self._pins.get(url)
        if pin is None or pin.until < monotonic() or self._closed:
            self._resolve(url, done, partial(self._post, url, headers, body, done))
        else:
            self._post(url, headers, body, done, pin)

    def _resolve(self, url: str, done: Done, begin: "partial[None]") -> None:
        try:
            if self._closed:
                self._loop.call_soon(done, _CLOSED)
            else:
                self._resolver.find(url, partial(self._resolved, done, begin))
        except BadAddress as error:
            self._loop.call_soon(done, Answer(0, error=str(error), refused=True))

    def _resolved(self, done: Done, begin: "partial[None]", pin: Pin) -> None:
        if pin.error or self._closed:
            self._loop.call_soon(done, Answer(0, error=pin.error) if pin.error else _CLOSED)
        else:
            begin(pin)

    def _post(self, url: str, headers: Pairs, body: bytes, done: Done, pin: Pin) -> None:
        try:
            self._plain.begin(self._plain.route(url, pin), headers, body, done)
        except Unusual:
            self._post_by_libcurl(url, headers, body, done, pin)
        except BadAddress as error:
            self._loop.call_soon(done, Answer(0, error=str(error), refused=True))

    def _post_by_libcurl(self, url: str, headers: Pairs, body: bytes, done: Done, pin: Pin) -> None:
        transfer = self._free.pop() if self._free else self._another()
        try:
            transfer.load(url, headers, body, pin.resolve, done)
        except BadAddress as error:
            self._free.append(transfer)
            self._loop.call_soon(done, Answer(0, error=str(error), refused=True))
            return
        self._multi.add(transfer.easy)

    def _another(self) -> Transfer:
        transfer = self._make()
        self._posts[transfer.easy] = transfer
        return transfer

    def _request(self, method: str, url: str, headers: Pairs, body: bytes, done: Done, pin: Pin) -> None:
        transfer = self._make()
        try:
            transfer.load(url, headers, body, pin.resolve, done)
        except BadAddress as error:
            self._loop.call_soon(done, Answer(0, error=str(error), refused=True))
            return
        transfer.as_method(method, body)
        self._requests[transfer.easy] = transfer
        self._multi.add(transfer.easy)

    def _stream(self, transfer: Streaming, url: str, headers: Pairs, done: Done, pin: Pin) -> None:
        if transfer.abandoned:
            return
        try:
            transfer.load(url, headers, b"", pin.resolve, done)
        except BadAddress as error:
            self._loop.call_soon(done, Answer(0, error=str(error), refused=True))
            return
        transfer.as_method("GET", b"")
        self._requests[transfer.easy] = transfer
        self._multi.add(transfer.easy)

    def _abandon(self, transfer: Streaming) -> None:
        transfer.abandoned = True
        if not self._closed and self._requests.pop(transfer.easy, None) is not None:
            self._multi.remove(transfer.easy)
            transfer.answer(0, "")
            transfer.easy.close()

    def _finished(self, easy: Any, code: int, text: str) -> None:
        transfer = self._posts.get(easy)
        if transfer is None:
            transfer = self._requests.pop(easy)
        else:
            # Free before the answer is told: what follows on this answer finds the same handle, already set.
            self._free.append(transfer)
        done, transfer.done = transfer.done, None
        self._tell(done, transfer.answer(code, text))

    def _tell(self, done: Done | None, answer: Answer) -> None:
        try:
            if done is not None:
                done(answer)
        except Exception as error:
            self._loop.call_exception_handler({"message": "an answer could not be taken", "exception": error})


def _answer(answered: "asyncio.Future[Answer]", answer: Answer) -> None:
    if not answered.done():
        answered.set_result(answer)
