"""The words of both languages of graph patterns: the terminals of SPARQL 1.1 s19.8, one at a time."""

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from tocsin.markup.conditions import ExpressionError

LONGEST = 16384
DEEPEST = 64
MOST_EFFORT = 8_000  # a text is read while others wait: about so many words, and what costs as much
_OF_LEVEL = 10
_LOCAL = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
# Possessive where a failure later could make the rest be read in many ways.
_TOKEN = re.compile(
    r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+(?:"
    r"(?P<variable>[?$]\w+)"
    r"|(?P<blank>_:\w(?:[\w.\-]*[\w\-])?)"
    r"|(?P<iri><[^<>\"{}|^`\x00-\x20]*>)"
    rf"|(?P<name>(?:[^\W\d_](?:[\w.\-]{{0,60}}[\w\-])?)?:(?:(?:[\w:]|{_LOCAL})(?:(?:[\w:.\-]|{_LOCAL})*(?:[\w:\-]|{_LOCAL}))?)?)"
    r"|(?P<number>(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)[eE][+-]?[0-9]++|[0-9]*+\.[0-9]++|[0-9]++)"
    r"|(?P<long>\"\"\"(?:\"{0,2}(?:[^\"\\]|\\[\s\S]))*+\"\"\"|'''(?:'{0,2}(?:[^'\\]|\\[\s\S]))*+''')"
    r"|(?P<string>\"(?:[^\"\\\r\n]|\\.)*+\"|'(?:[^'\\\r\n]|\\.)*+')"
    r"|(?P<language>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)"
    r"|(?P<word>[^\W\d][\w\-]*)"
    r"|(?P<symbol>\^\^|&&|\|\||!=|<=|>=|[<>=!(){}\[\].,;*/+\-|^?])"
    r"|(?P<end>\Z))"
)
_Read = TypeVar("_Read")


class Words:
    """`kind`, `word` and `at` are those of the word that comes next."""

    __slots__ = ("_depth", "_left", "_next", "at", "kind", "text", "word")

    def __init__(self, text: str) -> None:
        self.text, self._next, self._depth = text, 0, 0
        self._left = MOST_EFFORT
        self.kind, self.word, self.at = "", "", 0
        if len(text) > LONGEST:
            raise ExpressionError(
                text, LONGEST, f"longer than {LONGEST} characters; write shorter prefixes, or two filters"
            )
        if not text.isascii():
            self._check_characters()
        self.advance()

    def _check_characters(self) -> None:
        try:
            self.text.encode()
        except UnicodeEncodeError as problem:
            raise ExpressionError(self.text, problem.start, "half of a character stands alone here") from None

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self._next)
        if found is None or found.lastgroup is None:
            self._lost()
        self.kind = found.lastgroup
        self.word = found[self.kind]
        self._next = found.end()
        self.at = self._next - len(self.word)
        self.spend(1)

    def spend(self, effort: int) -> None:
        self._left -= effort
        if self._left < 0:
            self.fail("the text asks for too much until here: leave something out, or make it two filters")

    def _lost(self) -> NoReturn:
        blanks = re.compile(r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+").match(self.text, self._next)
        at = self._next if blanks is None else blanks.end()
        shown = self.text[at]
        why = "the text that begins here does not end" if shown in "\"'" else f"{shown!r} cannot stand here"
        raise ExpressionError(self.text, at, why)

    def operator(self) -> str:
        """The next word where an operand has ended: there, `<` is never the begin of an IRI."""
        if self.kind == "iri":
            self.kind, self.word = "symbol", "<=" if self.word.startswith("<=") else "<"
            self._next = self.at + len(self.word)
        return self.word if self.kind == "symbol" else self.keyword()

    def keyword(self) -> str:
        return self.word.upper() if self.kind == "word" else ""

    def sees(self, symbol: str) -> bool:
        return self.word == symbol and self.kind == "symbol"

    def takes(self, symbol: str) -> bool:
        if self.word != symbol or self.kind != "symbol":
            return False
        self.advance()
        return True

    def expect(self, symbol: str) -> None:
        if not self.takes(symbol):
            self.fail(f"{symbol!r} is expected here")

    def taken(self) -> str:
        word = self.word
        self.advance()
        return word

    def deeper(self, read: Callable[[], _Read]) -> _Read:
        self.spend(_OF_LEVEL)
        self._depth += 1
        if self._depth > DEEPEST:
            self.fail(f"nested deeper than {DEEPEST} levels")
        found = read()
        self._depth -= 1
        return found

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        raise ExpressionError(self.text, self.at if at is None else at, why)
