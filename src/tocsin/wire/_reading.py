"""One answer as it arrives: llhttp reads it, and this keeps what a delivery needs of it."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httptools

LONGEST_HEAD = 64 << 10


class Reading:
    """`complete` once the final answer is whole; an interim one (100, 103) is passed over."""

    def __init__(self, limit: int) -> None:
        self._parser: Any = httptools.HttpResponseParser(self)
        self._limit = limit
        self.status = 0
        self.size = 0
        self.retry_after = 0.0
        self.complete = self.keep = False
        self._headed = self._framed = False
        self._head = 0
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> str:
        """What is wrong with it; nothing while it is HTTP."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(keep=False)
        except httptools.HttpParserError as error:
            if not self.complete:  # what follows a whole answer was not asked for
                return f"the answer is not HTTP: {error}"
            self.keep = False
        if not self._headed and not self.complete:
            self._head += len(data)
            if self._head > LONGEST_HEAD:
                return f"the answer has more than {LONGEST_HEAD} bytes of headers"
        return ""

    def ended(self) -> str:
        """The other side closed: which ends an answer that did not say its length, and breaks another."""
        if self._headed and not self._framed:
            self._end(keep=False)
            return ""
        return "the connection was closed before the whole answer came"

    @property
    def body(self) -> bytes:
        return b"".join(self._body)[: self._limit]

    @property
    def too_long(self) -> bool:
        return self.size > self._limit

    def on_message_begin(self) -> None:
        if self.complete:
            self.keep = False

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower in (b"content-length", b"transfer-encoding"):
            self._framed = True
        elif lower == b"retry-after":
            self.retry_after = seconds_until(value.decode("latin-1"), datetime.now(UTC))

    def on_headers_complete(self) -> None:
        if not self.complete:
            self._headed = True
            self.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        if not self.complete:
            if self.size <= self._limit:
                self._body.append(data)
            self.size += len(data)

    def on_message_complete(self) -> None:
        if self.complete:
            return
        if 100 <= self.status < 200 and self.status != 101:
            self._headed = self._framed = False
            self.retry_after = 0.0
        else:
            self._end(keep=self._parser.should_keep_alive())

    def _end(self, *, keep: bool) -> None:
        self.complete, self.keep = True, keep


def seconds_until(text: str, now: datetime) -> float:
    """Of a Retry-After (RFC 9110 s10.2.3): a number of seconds, or a date."""
    text = text.strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (TypeError, ValueError):
        return 0.0
