"""The one place that reads SPARQL 1.1 without running it."""

import re

from pyoxigraph import Store

from tocsin.markup.conditions import ExpressionError

LONGEST = 4096
_QUIET = re.compile(  # where braces and words mean nothing
    r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"'
    r"|'''[\s\S]*?'''|'(?:\\.|[^'\\\n])*'"
    r"|<[^<>{}|^`\\\s]*>|#[^\n]*"
)
_PROLOGUE = re.compile(r"(?:\s|PREFIX\s+[^\s:]*:|BASE(?=\s))*", re.IGNORECASE)
_SERVICE = re.compile(r"\bSERVICE\b", re.IGNORECASE)
_AT = re.compile(r"error at (\d+):(\d+)")
_NO_FURTHER = "SPARQL 1.1 does not go on like this, or a prefix before is not declared"
# A query that is whole stops the parser at the same place of what follows it, whatever the query was.
_AFTER = (("\n\x01", 2), ("\nASK {}", 7))


def check(text: str) -> None:
    """Refuses what is no ASK query, and one that would ask others; the parser never gets a query that it could run."""
    if len(text) > LONGEST:
        raise ExpressionError(text, LONGEST, f"there are more than {LONGEST} characters")
    plain = _QUIET.sub(lambda found: " " * len(found[0]), text)
    begin = _end_of_prologue(plain)
    if plain[begin : begin + 3].upper() != "ASK":
        raise ExpressionError(text, begin, "an ASK query is expected")
    if service := _SERVICE.search(plain):
        raise ExpressionError(text, service.start(), "SERVICE would ask others, which is not done")
    for after, column in _AFTER:
        _probe(text, after, column)
    if any(plain.count(opening) != plain.count(closing) for opening, closing in ("{}", "()")):
        raise ExpressionError(text, len(text), "a brace or a bracket is not closed")


def _end_of_prologue(plain: str) -> int:
    found = _PROLOGUE.match(plain)
    return 0 if found is None else found.end()


def _probe(text: str, after: str, column: int) -> None:
    try:
        Store().query(text + after)
    except SyntaxError as problem:
        found = _AT.match(str(problem))
        if found is None:
            raise ExpressionError(text, 0, str(problem)) from None
        if (int(found[1]), int(found[2])) != (text.count("\n") + 2, column):
            raise ExpressionError(text, _position(text, int(found[1]), int(found[2])), _NO_FURTHER) from None


def _position(text: str, line: int, column: int) -> int:
    before = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
    return min(len(text), before + column - 1)
