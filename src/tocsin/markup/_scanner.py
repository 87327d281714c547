"""A scanner for the parsers of content languages: position in the text, tokens, depth, errors."""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from tocsin.markup.conditions import ExpressionError

LONGEST = 4096
DEEPEST = 64
_BLANKS = re.compile(r"[ \t\r\n]*")
_Read = TypeVar("_Read")


class Scanner:
    """Reads a text from left to right; blanks between tokens do not count."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self._depth = text, 0, 0
        if len(text) > LONGEST:
            raise ExpressionError(text, LONGEST, f"longer than {LONGEST} characters")

    def skip(self) -> int:
        """Where the next token begins."""
        blanks = _BLANKS.match(self.text, self.at)
        self.at = self.at if blanks is None else blanks.end()
        return self.at

    def sees(self, token: re.Pattern[str]) -> str | None:
        found = token.match(self.text, self.skip())
        return None if found is None else found[0]

    def take(self, token: re.Pattern[str]) -> str | None:
        found = self.sees(token)
        self.at += len(found or "")
        return found

    def takes(self, symbol: str) -> bool:
        there = self.text.startswith(symbol, self.skip())
        self.at += len(symbol) if there else 0
        return there

    def several(self, read: Callable[[], _Read], between: str | re.Pattern[str]) -> list[_Read]:
        """One at least, with a token between each two."""
        found = [read()]
        while self.takes(between) if isinstance(between, str) else self.take(between):
            found.append(read())
        return found

    def expect(self, symbol: str) -> None:
        if not self.takes(symbol):
            self.fail(f"{symbol!r} is expected here")

    def end(self) -> None:
        if self.skip() < len(self.text):
            self.fail("an operator or the end is expected here")

    def deeper(self, read: Callable[[], _Read]) -> _Read:
        self._depth += 1
        if self._depth > DEEPEST:
            self.fail(f"nested deeper than {DEEPEST} levels")
        found = read()
        self._depth -= 1
        return found

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        raise ExpressionError(self.text, self.skip() if at is None else at, why)
