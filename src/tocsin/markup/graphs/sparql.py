"""The one place that reads SPARQL 1.1 without running it."""

import re

from pyoxigraph import Store

from tocsin.markup.conditions import ExpressionError

LONGEST = 4096
DEEPEST = 64  # the parser takes time with the square of it
_QUIET = re.compile(  # where braces and words mean nothing
    r'(?P<long>"""|\'\'\')(?:\\[\s\S]?|[^\\])*?(?:(?P=long)|\Z)'
    r"""|(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\\n])*(?P=quote)"""
    r"|(?P<iri><)[^<>{}|^`\\\s]*>|(?P<comment>#)[^\n]*|(?P<escaped>\\)[^\w\s]"
)
_PROLOGUE = re.compile(r"(?:\s|PREFIX\s+[^\s:]*:|BASE(?=[\s<])|<x*>)*", re.IGNORECASE)
_SERVICE = re.compile(r"\bSERVICE\b", re.IGNORECASE)
_AT = re.compile(r"error at (\d+):(\d+)")
_BASE = "urn:tocsin:base/"
_NO_FURTHER = "SPARQL 1.1 does not go on like this, or a prefix before is not declared"
# A query that is whole stops the parser at the same place of what follows it, whatever the query was.
_AFTER = (("\n\x01", 2), ("\nASK {}", 7))


def check(text: str) -> None:
    """Refuses what is no ASK query, and one that would ask others; the parser never gets a query that it could run."""
    if len(text) > LONGEST:
        raise ExpressionError(text, LONGEST, f"there are more than {LONGEST} characters")
    plain = _QUIET.sub(_emptied, text)
    begin = _end_of_prologue(plain)
    if plain[begin : begin + 3].upper() != "ASK":
        raise ExpressionError(text, begin, "an ASK query is expected")
    if service := _SERVICE.search(plain):
        raise ExpressionError(text, service.start(), "SERVICE would ask others, which is not done")
    _check_depth(text, plain)
    for each in (plain, text):
        for after, column in _AFTER:
            _probe(text, each, after, column)
    if any(plain.count(opening) != plain.count(closing) for opening, closing in ("{}", "()")):
        raise ExpressionError(text, len(text), "a brace or a bracket is not closed")


def _emptied(found: re.Match[str]) -> str:
    """As long as it was, and read as what it was taken for alone: where the parser takes `<` of `1<2#>` for less, what
    stands after it is another text to the parser than to us, and the parser must refuse this form of it."""
    text = found[0]
    match found.lastgroup:
        case "long" if len(text) > 5 and text.endswith(text[:3]):
            return text[:3] + re.sub(r"[^\n]", " ", text[3:-3]) + text[-3:]
        case "quote":
            return text[0] + " " * (len(text) - 2) + text[-1]
        case "iri":
            return f"<{'x' * (len(text) - 2)}>"
        case "escaped":
            return "x" * len(text)
        case "comment":
            return " " * len(text)
    return text  # it never ends, which the parser says too


def _check_depth(text: str, plain: str) -> None:
    depth = 0
    for at, each in enumerate(plain):
        depth += (each in "({[") - (each in ")}]")
        if depth > DEEPEST:
            raise ExpressionError(text, at, f"brackets are nested more than {DEEPEST} deep")


def _end_of_prologue(plain: str) -> int:
    found = _PROLOGUE.match(plain)
    return 0 if found is None else found.end()


def _probe(text: str, form: str, after: str, column: int) -> None:
    try:
        Store().query(form + after, base_iri=None if form is text else _BASE)
    except SyntaxError as problem:
        found = _AT.match(str(problem))
        if found is None:
            raise ExpressionError(text, 0, str(problem)) from None
        if (int(found[1]), int(found[2])) != (text.count("\n") + 2, column):
            raise ExpressionError(text, _position(text, int(found[1]), int(found[2])), _NO_FURTHER) from None


def _position(text: str, line: int, column: int) -> int:
    before = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1])
    return min(len(text), before + column - 1)
