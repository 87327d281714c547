"""Where posts to one plain URL go, and the head they begin with."""

import re
from typing import TYPE_CHECKING

from tocsin.model.identity import Pairs
from tocsin.wire._transfer import header_line
from tocsin.wire.addresses import place
from tocsin.wire.resolver import Pin

if TYPE_CHECKING:
    from tocsin.wire._plain import Connection

# Only what every client writes alike: no user, no fragment, nothing to escape, no `/.` that libcurl would resolve.
_URL = re.compile(r"http://([A-Za-z0-9.:\[\]-]+)((?:(?=[/?])(?:(?!/\.)[A-Za-z0-9/?&=+%:@,;.~_!$'()*-])*)?)")
_OURS = frozenset({"connection", "content-length", "expect", "host", "te", "trailer", "transfer-encoding", "upgrade"})


class Unusual(Exception):
    """A post for libcurl."""


class Route:
    """`idle` are the kept connections to its host and port, which it shares with other routes."""

    __slots__ = ("_authority", "_target", "addresses", "head", "headers", "idle", "name", "port", "until")

    def __init__(self, url: str, pin: Pin) -> None:
        written = _URL.fullmatch(url)
        if written is None:
            raise Unusual
        self._authority, target = written.groups()
        self._target = target if target.startswith("/") else f"/{target}"
        self.name, self.port = place(url)
        self.addresses, self.until = _addresses(pin) or (self.name,), pin.until
        self.idle: list[Connection] = []
        self.headers: Pairs | None = None
        self.head = b""

    def use(self, headers: Pairs) -> bytes:
        """The head, up to the length of the body; BadAddress when a header cannot be written."""
        if any(name.lower() in _OURS for name, _ in headers):
            raise Unusual
        lines = [f"POST {self._target} HTTP/1.1".encode(), f"Host: {self._authority}".encode(), b"Accept: */*"]
        lines += [header_line(name, value) for name, value in headers]
        self.headers, self.head = headers, b"\r\n".join((*lines, b"Content-Length: "))
        return self.head


def _addresses(pin: Pin) -> tuple[str, ...]:
    listed = pin.resolve.split(":", 2)[2] if pin.resolve else ""
    return tuple(each.strip("[]") for each in listed.split(",") if each)
