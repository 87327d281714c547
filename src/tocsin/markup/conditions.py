"""Conditions: comparisons of the values at a path with a constant, joined by and/or; common to all content languages.

An expression that can be read as such a condition shares one index with all others; any other is judged on its own.
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn, TypeVar, Union

from msgspec import Struct

from tocsin.markup.cesql_terms import Term

Comparator = Literal["=", "!=", "<", "<=", ">", ">="]
Constant = str | float | bool | None
# The same comparison with its sides exchanged.
MIRRORED: dict[str, Comparator] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Step(Struct, frozen=True, tag=True, cache_hash=True):
    """`name` is `{namespace}local`, `local`, `{namespace}*` or `*`; with `deep` the element may be any number of
    levels further down (`//`)."""

    name: str
    deep: bool = False


class XmlPath(Struct, frozen=True, tag=True, cache_hash=True):
    """Elements reached by steps, and of these an attribute, the text nodes, or the string value.

    Absolute steps begin at the document, others at its root element (no steps: that element itself). `having` is asked
    of the last element: a condition over its attributes, whose paths are relative and have no steps.
    """

    steps: tuple[Step, ...]
    leaf: str = ""  # "" the string value, "@name" an attribute, "text()" each text node
    absolute: bool = True
    having: "Condition | None" = None


class JsonPath(Struct, frozen=True, tag=True, cache_hash=True):
    """A singular query (RFC 9535 s2.3.5.1): member names and array indexes from the root."""

    steps: tuple[str | int, ...]


class Attribute(Struct, frozen=True, tag=True, cache_hash=True):
    """A CloudEvents context attribute."""

    name: str


Path = Union[XmlPath, JsonPath, Attribute]  # noqa: UP007 - names its own members


class Compare(Struct, frozen=True, tag=True, cache_hash=True):
    """Some value at the path compares so with the constant; with a number it compares as a number, in the language of
    the path."""

    path: Path
    how: Comparator
    value: Constant


class Exists(Struct, frozen=True, tag=True, cache_hash=True):
    path: Path


class Every(Struct, frozen=True, tag=True, cache_hash=True):
    """All conditions hold; without any it holds."""

    conditions: tuple["Condition", ...]


class Some(Struct, frozen=True, tag=True, cache_hash=True):
    """One of the conditions holds; without any it does not."""

    conditions: tuple["Condition", ...]


class Negated(Struct, frozen=True, tag=True, cache_hash=True):
    condition: "Condition"


class Computed(Struct, frozen=True, tag=True, cache_hash=True):
    """A CloudEvents SQL term over attributes yields this Boolean without an error."""

    term: Term
    outcome: bool = True


Condition = Union[Compare, Exists, Every, Some, Negated, Computed]  # noqa: UP007 - names its own members


def every(conditions: Iterable[Condition]) -> Condition:
    """All of them; one alone is itself."""
    found = tuple(conditions)
    return found[0] if len(found) == 1 else Every(found)


def some(conditions: Iterable[Condition]) -> Condition:
    """One of them at least; one alone is itself."""
    found = tuple(conditions)
    return found[0] if len(found) == 1 else Some(found)


class ExpressionError(ValueError):
    """A text that is no expression of its language; `position` counts characters from 0."""

    def __init__(self, text: str, position: int, why: str) -> None:
        shown = text if len(text) <= 80 else f"{text[:77]}..."
        super().__init__(f"{shown!r}, position {position}: {why}")
        self.position = position
        self.why = why


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
