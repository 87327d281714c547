"""One reusable libcurl handle: what is set once, and what each request changes."""

import re
import socket
from collections.abc import Callable
from time import monotonic
from typing import Any

import pycurl

from tocsin.model.identity import Pairs
from tocsin.wire._multi import Multi
from tocsin.wire.addresses import AddressGuard, BadAddress
from tocsin.wire.answer import Answer
from tocsin.wire.tls import SYSTEM, Trust

Done = Callable[[Answer], None]
Timing = tuple[float, float]

_OK = b"200"
_NEVER = (pycurl.E_URL_MALFORMAT, pycurl.E_UNSUPPORTED_PROTOCOL)
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_BREAK = re.compile(r"[\r\n\0]")
_HTTPHEADER, _POSTFIELDS, _RESPONSE_CODE = pycurl.HTTPHEADER, pycurl.POSTFIELDS, pycurl.RESPONSE_CODE
# What is wrong with the other side's certificate may be put right there, or here with another file of authorities.
_NOT_BELIEVED = (pycurl.E_PEER_FAILED_VERIFICATION, pycurl.E_SSL_CACERT, pycurl.E_SSL_ISSUER_ERROR)


class _Opened:
    """A socket handed to pycurl, which duplicates it and lets this one go."""

    def __init__(self, opened: socket.socket) -> None:
        self._opened = opened

    def fileno(self) -> int:
        return self._opened.fileno()

    def __del__(self) -> None:
        self._opened.close()


class Transfer:
    def __init__(
        self, multi: Multi, guard: AddressGuard | None, timing: Timing, *, limit: int, trust: Trust = SYSTEM
    ) -> None:
        self._multi, self._guard, self._limit = multi, guard, limit
        self._size = self._opened = 0
        self._body: list[bytes] = []
        self._lines: list[bytes] = []
        self._url = self._pin = self._refusal = ""
        self._headers: Pairs | None = None
        self._started = 0.0
        self.done: Done | None = None
        self.easy = self._set_up(timing, trust)
        self._set, self._info = self.easy.setopt, self.easy.getinfo

    def _set_up(self, timing: Timing, trust: Trust) -> Any:
        easy = pycurl.Curl()
        for option, value in (*_options(*timing), *_trusting(trust)):
            easy.setopt(option, value)
        easy.setopt(pycurl.WRITEFUNCTION, self._write)
        easy.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        return easy

    def load(self, url: str, headers: Pairs, body: bytes, pin: str, done: Done) -> None:
        """BadAddress when a header cannot be written."""
        if headers != self._headers:
            self._set(_HTTPHEADER, _lines(headers))
            self._headers = headers
        if url != self._url:
            self._set(pycurl.URL, url)
            self._url = url
        if pin != self._pin:
            self._set(pycurl.RESOLVE, [pin])
            self._pin = pin
        self._set(_POSTFIELDS, body)
        self._started = monotonic()
        self.done = done

    def as_method(self, method: str, body: bytes) -> None:
        """For any method, with the headers of the answer; after this the handle is no longer one for `post`."""
        self._set(pycurl.HEADERFUNCTION, self._lines.append)
        if not body and method not in ("POST", "PUT", "PATCH"):
            self._set(pycurl.HTTPGET, 1)
        if method == "HEAD":
            self._set(pycurl.NOBODY, 1)
        else:
            self._set(pycurl.CUSTOMREQUEST, method)

    def answer(self, code: int, text: str) -> Answer:
        """What came of it, once; the handle is then free for another request."""
        status = self._info(_RESPONSE_CODE)
        if self._opened:
            self._multi.opening -= self._opened
            self._opened = 0
        if code == 0 and status < 300 and not self._size and not self._lines:
            return Answer(status, b"", (), "", monotonic() - self._started)
        return self._full_answer(status, code, text)

    def _full_answer(self, status: int, code: int, text: str) -> Answer:
        body, self._body, size, self._size = b"".join(self._body), [], self._size, 0
        refusal, self._refusal = self._refusal, ""
        error = self._error(code, refusal or text, size)
        if code and code != pycurl.E_WRITE_ERROR:
            status = 0
        return Answer(
            status,
            body,
            _pairs(self._lines),
            error,
            monotonic() - self._started,
            self._info(pycurl.RETRY_AFTER),
            bool(refusal) or code in _NEVER,
        )

    def _error(self, code: int, text: str, size: int) -> str:
        if code == pycurl.E_WRITE_ERROR and size > self._limit:
            return f"the answer is longer than {self._limit} bytes"
        if code in _NOT_BELIEVED:
            return f"the consumer's certificate is not believed: {text} (see delivery.ca_file)"
        return text if code else ""

    def _write(self, data: bytes) -> int:
        """libcurl ends the transfer when less is taken than was offered."""
        room = self._limit - self._size
        self._size += len(data)
        self._body.append(data[:room])
        return min(room, len(data))

    def _open(self, _purpose: int, address: Any) -> object:
        """The one place where a connection begins: this address, and no other, is connected to."""
        try:
            if self._guard is not None:
                self._guard.permit(address.addr[0], address.addr[1])
            opened = socket.socket(address.family, address.socktype, address.protocol)
        except BadAddress as error:
            self._refusal = str(error)
        except OSError:
            pass
        else:
            self._opened += 1
            self._multi.opening += 1
            return _Opened(opened)
        return pycurl.SOCKET_BAD


class Streaming(Transfer):
    """One whose answer is told piece by piece, where it is 200; it ends when `tell` says that there is no more room."""

    def __init__(self, *args: Any, tell: Callable[[bytes], bool], **told: Any) -> None:
        super().__init__(*args, **told)
        self._tell = tell
        self.abandoned = False

    def _write(self, data: bytes) -> int:
        status = next((line for line in reversed(self._lines) if line.startswith(b"HTTP/")), b"")
        if status.split()[1:2] != [_OK]:
            return super()._write(data)
        return len(data) if self._tell(data) else 0


def _options(connect_timeout: float, timeout: float) -> list[tuple[int, object]]:
    return [
        (pycurl.POST, 1),
        (pycurl.NOSIGNAL, 1),
        (pycurl.TCP_NODELAY, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PATH_AS_IS, 1),  # what was looked at is what is sent
        (pycurl.PROXY, ""),
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.CONNECTTIMEOUT_MS, round(connect_timeout * 1000)),
        (pycurl.TIMEOUT_MS, round(timeout * 1000)),
    ]


def _trusting(trust: Trust) -> list[tuple[int, object]]:
    files = (
        (pycurl.CAINFO, trust.authorities()),
        (pycurl.SSLCERT, trust.client_cert),
        (pycurl.SSLKEY, trust.client_key or trust.client_cert),
    )
    return [(option, str(file)) for option, file in files if file is not None]


def _lines(headers: Pairs) -> list[bytes]:
    """libcurl adds `Expect` and a form's content type to a POST unless told not to."""
    lines = [_line(name, value) for name, value in headers]
    lines.append(b"Expect:")
    if not any(name.lower() == "content-type" for name, _ in headers):
        lines.append(b"Content-Type:")
    return lines


def _line(name: str, value: str) -> bytes:
    line = header_line(name, value)
    return line if value else line[:-1] + b";"


def header_line(name: str, value: str) -> bytes:
    if not _NAME.fullmatch(name) or _BREAK.search(value):
        raise BadAddress(f"the header {name!r} cannot be written")
    return (f"{name}: {value}" if value else f"{name}:").encode()


def _pairs(lines: list[bytes]) -> Pairs:
    """The headers of the last answer: an interim one (100, 103) comes before it."""
    pairs: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith(b"HTTP/"):
            pairs.clear()
        name, colon, value = line.decode("latin-1").partition(":")
        if colon and not line.startswith(b"HTTP/"):
            pairs.append((name.strip().lower(), value.strip()))
    lines.clear()
    return tuple(pairs)
