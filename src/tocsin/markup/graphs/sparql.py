"""SPARQL 1.1: ASK and SELECT compiled into graph patterns, and the check of ASK queries over descriptions."""

import re
from collections.abc import Mapping
from itertools import chain, islice, product
from math import prod
from typing import NoReturn, TypeVar

from msgspec.structs import replace
from pyoxigraph import Store

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs._assembly import MOST_ALTERNATIVES, GroupPattern, Node, joined, patterns
from tocsin.markup.graphs._filters import Both, Filters, Formula, one_by_one, ways
from tocsin.markup.graphs._names import NameReader, Tokens
from tocsin.markup.graphs._sparql_triples import Triples
from tocsin.markup.graphs.graph_pattern import GraphQuery

_Alternative = TypeVar("_Alternative")
_ALONE = "an event is matched alone, so there is nothing to"
_AFTER = {
    "ORDER": f"{_ALONE} order",
    "LIMIT": f"{_ALONE} limit",
    "OFFSET": f"{_ALONE} skip",
    "GROUP": f"{_ALONE} group",
    "HAVING": f"{_ALONE} group",
    "VALUES": "write a UNION of the constants, or IN for literals",
}
_INSIDE = {
    "GRAPH": "an event is one graph",
    "SERVICE": "others are not asked while an event is matched",
    "MINUS": "a pattern cannot ask for what is not there",
    "BIND": "nothing can be computed from an event",
    "VALUES": _AFTER["VALUES"],
    "SELECT": "a query within a query cannot be compiled",
}
_JOINED_AT_ONCE = 10
_OTHERS = ("CONSTRUCT", "DESCRIBE", "INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD")


def parse_sparql(text: str, prefixes: Mapping[str, str], injective: bool = True) -> GraphQuery:
    return _Reader(text, prefixes).query(injective)


class _Reader:
    def __init__(self, text: str, prefixes: Mapping[str, str]) -> None:
        self._words = Tokens(text)
        self._names = NameReader(self._words, prefixes)
        self._filters = Filters(self._words, self._names)
        self._triples = Triples(self._words, self._names)
        self._in_optional = False

    def query(self, injective: bool) -> GraphQuery:
        self._names.prologue()
        told = self._form()
        if self._words.keyword() == "FROM":
            self._words.fail("FROM is not known here: the event is the graph that is asked")
        if self._words.keyword() == "WHERE":
            self._words.advance()
        branches = self._group()
        keyword = self._words.keyword()
        if keyword in _AFTER:
            self._words.fail(f"{keyword} cannot be compiled: {_AFTER[keyword]}")
        if self._words.kind != "end":
            self._words.fail("the query has ended before this")
        found = chain.from_iterable(patterns(self._words, said) for said in branches)
        alternatives = self._few_enough(list(islice(found, MOST_ALTERNATIVES + 1)), 0)
        distinct = tuple(dict.fromkeys(alternatives)) if len(alternatives) > 1 else tuple(alternatives)
        return GraphQuery(distinct, self._told(told, branches), injective)

    def _form(self) -> list[tuple[str, int]] | None:
        """What is told of a match: nothing, these variables with their positions, or all (None)."""
        words = self._words
        keyword = words.keyword()
        if keyword in _OTHERS:
            words.fail(f"{keyword} is not asked of events: there are ASK and SELECT")
        if keyword not in ("ASK", "SELECT"):
            words.fail("ASK or SELECT is expected here, after PREFIX and BASE")
        words.advance()
        if keyword == "ASK":
            return []
        if words.keyword() in ("DISTINCT", "REDUCED"):
            words.advance()
        return None if words.takes("*") else self._projection()

    def _projection(self) -> list[tuple[str, int]]:
        words, found = self._words, list[tuple[str, int]]()
        while words.kind == "variable":
            found.append((f"?{words.word[1:]}", words.at))
            words.advance()
        if words.sees("("):
            words.fail("nothing can be computed from what matched: SELECT takes variables")
        return found or words.fail("a variable or * is expected here")

    def _told(self, told: list[tuple[str, int]] | None, branches: list[GroupPattern]) -> tuple[str, ...]:
        there = {node.name: None for said in branches for part in (said, *said.optional) for node, _ in part.places}
        if told is None:
            return tuple(name for name in there if name[0] == "?")
        for name, at in told:
            if name not in there:
                self._words.fail(f"{name} is not in the pattern", at)
        return tuple(dict.fromkeys(name for name, _ in told))

    def _group(self) -> list[GroupPattern]:
        """The alternatives of what stands in braces."""
        at = self._words.at
        self._words.expect("{")
        found = self._words.deeper(lambda: self._elements(at))
        self._words.expect("}")
        return found

    def _elements(self, at: int) -> list[GroupPattern]:
        words = self._words
        unions, optional, filters = list[list[GroupPattern]](), list[GroupPattern](), list[tuple[Formula, int]]()
        while not words.sees("}") and words.kind != "end":
            keyword = words.keyword()
            if keyword == "FILTER":
                words.advance()
                here = words.at
                filters.append((self._filters.constraint(), here))
                words.takes(".")
            elif keyword == "OPTIONAL":
                optional.append(self._optional())
                words.takes(".")
            elif optional:
                words.fail("OPTIONAL comes last in its group: only FILTER and OPTIONAL can follow it")
            elif keyword in _INSIDE:
                words.fail(f"{keyword} cannot be compiled: {_INSIDE[keyword]}")
            elif words.sees("{"):
                unions.append(self._union())
                words.takes(".")
            else:
                unions.append([self._triples.block()])
        return self._filtered(self._product(unions, optional, at), filters)

    def _union(self) -> list[GroupPattern]:
        at, found = self._words.at, self._group()
        while self._words.keyword() == "UNION":
            self._words.advance()
            found = self._few_enough([*found, *self._group()], at)
        return found

    def _optional(self) -> GroupPattern:
        at = self._words.at
        if self._in_optional:
            self._words.fail("OPTIONAL within OPTIONAL cannot be compiled: write them side by side")
        self._in_optional = True
        self._words.advance()
        found = self._group()
        self._in_optional = False
        if len(found) > 1:
            self._words.fail("alternatives within OPTIONAL cannot be compiled: write an OPTIONAL for each", at)
        return found[0]

    def _product(self, unions: list[list[GroupPattern]], optional: list[GroupPattern], at: int) -> list[GroupPattern]:
        if prod(map(len, unions)) > MOST_ALTERNATIVES:
            self._too_many(at)
        several = list(product(*unions))
        for parts in several:
            self._words.spend(sum(len(part.places) for part in parts) // _JOINED_AT_ONCE)
            self._check_apart(parts)
        return [joined((*parts, GroupPattern(optional=tuple(optional))) if optional else parts) for parts in several]

    def _check_apart(self, parts: tuple[GroupPattern, ...]) -> None:
        """What only an OPTIONAL of one part names may be missing there: the others cannot rely on it."""
        for part in filter(_has_optional, parts):
            outside = {node for other in parts if other is not part for node, _ in other.places}
            for node, at in (place for each in part.optional for place in each.places):
                if node.varies and node in outside and node not in part.nodes():
                    self._words.fail(f"{node.name} is optional here, and needed elsewhere in the query", at)

    def _filtered(self, branches: list[GroupPattern], filters: list[tuple[Formula, int]]) -> list[GroupPattern]:
        """All filters of a group are asked of all that is in it (SPARQL 1.1 s5.2.2)."""
        if not filters:
            return branches
        formula = Both(
            tuple(part for each, _ in filters for part in (each.parts if isinstance(each, Both) else (each,)))
        )
        self._check_bound({asked.variable: asked.at for asked in reversed(one_by_one(formula))}, branches)
        several = ways(formula, MOST_ALTERNATIVES + 1)
        if len(branches) * len(several) > MOST_ALTERNATIVES:
            self._too_many(filters[0][1])
        return [replace(said, tests=said.tests + way) for said in branches for way in several]

    def _check_bound(self, variables: dict[str, int], branches: list[GroupPattern]) -> None:
        for said in branches:
            there = said.nodes()
            for variable, at in variables.items():
                if Node(variable) not in there:
                    self._unbound(variable, at, said)

    def _unbound(self, variable: str, at: int, said: GroupPattern) -> NoReturn:
        if any(Node(variable) in each.nodes() for each in said.optional):
            self._words.fail(f"{variable} is optional: move the FILTER into the OPTIONAL, or leave OPTIONAL out", at)
        self._words.fail(f"{variable} is not in every alternative of the group that this FILTER is in", at)

    def _few_enough(self, found: list[_Alternative], at: int) -> list[_Alternative]:
        return found if len(found) <= MOST_ALTERNATIVES else self._too_many(at)

    def _too_many(self, at: int) -> NoReturn:
        self._words.fail(f"there are more than {MOST_ALTERNATIVES} alternatives", at)


def _has_optional(said: GroupPattern) -> bool:
    return bool(said.optional)


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
_ENDINGS = (("\n\x01", 2), ("\nASK {}", 7))


def check(text: str) -> None:
    """Refuses what is no ASK query, and one that would ask others; the parser never gets a query that it could run."""
    if len(text) > LONGEST:
        raise ExpressionError(text, LONGEST, f"there are more than {LONGEST} characters")
    plain = _QUIET.sub(_emptied, text)
    found = _PROLOGUE.match(plain)
    begin = 0 if found is None else found.end()
    if plain[begin : begin + 3].upper() != "ASK":
        raise ExpressionError(text, begin, "an ASK query is expected")
    if service := _SERVICE.search(plain):
        raise ExpressionError(text, service.start(), "SERVICE would ask others, which is not done")
    _check_depth(text, plain)
    for each in (plain, text):
        for after, column in _ENDINGS:
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
