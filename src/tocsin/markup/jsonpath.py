"""Filters over a JSON payload: a logical expression of RFC 9535, as inside `[?...]`, about the document `$`.

`$.alert.severity == 'high' && ($.level > 3 || $['odd name'] == null)`. Outside of brackets `@` is the document too.
A whole query, such as `$.alerts[?@.level > 3]`, asks whether it finds anything.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from math import isinf
from typing import NoReturn

from tocsin.markup.conditions import (
    DEEPEST,
    MIRRORED,
    Comparator,
    Compare,
    Condition,
    Constant,
    Exists,
    ExpressionError,
    JsonPath,
    Negated,
    Scanner,
    every,
    some,
)

_HIGHEST_INDEX = 2**53 - 1  # RFC 9535 s2.1: what I-JSON can say
_QUERY = re.compile(r"[$@]")
_NAME = re.compile(r"\.([A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff][0-9A-Za-z_\u0080-\ud7ff\ue000-\U0010ffff]*)")
_INDEX = re.compile(r"0|-?[1-9][0-9]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"(?:true|false|null)(?![0-9A-Za-z_(])")
_WORDS: dict[str, Constant] = {"true": True, "false": False, "null": None}
_HIGH = r"u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_PLAIN = r"u(?:[0-9a-cefA-CEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2})"
_ESCAPED = rf"\\(?:[bfnrt/\\]|{_HIGH}|{_PLAIN}"
_STRING = re.compile(rf"\"(?:[^\"\\\x00-\x1f]|{_ESCAPED}|\"))*\"|'(?:[^'\\\x00-\x1f]|{_ESCAPED}|'))*'")
_COMPARISON = re.compile(r"==|!=|<=|>=|<|>")
_COMPARATORS: dict[str, Comparator] = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_CLOSED_BY = {"(": ")", "[": "]"}
_BARE = re.compile(r"[A-Za-z_][0-9A-Za-z_.]*(?![0-9A-Za-z_.(])")
_INSIDE = frozenset("$@.[,])'\"")  # after these a bare word is no path
_SYMBOLS = {"and": "&&", "or": "||", "not": "!"}
_COMPILED = 1024


def read(text: str) -> Condition | None:
    """None for a legal expression that is more than a condition; raises `ExpressionError` for what is none."""
    reader = _Reader(text)
    _check_nesting(text)
    try:
        return reader.read()
    except _More:
        problem = None
    except ExpressionError as found:
        problem = found
    try:
        _compiled(text)
    except ExpressionError as found:  # of one text the smaller grammar says better what is wrong
        raise _hinted(text, problem or found) from None
    return None


def _hinted(text: str, problem: ExpressionError) -> ExpressionError:
    """What those write who know other languages better."""
    at = problem.position
    if text[at : at + 1] == "=" and text[at : at + 2] != "==":
        return ExpressionError(text, at, "JSONPath compares with ==")
    if (word := _BARE.match(text, at)) is None or text[:at].rstrip()[-1:] in _INSIDE:
        return problem
    if (symbol := _SYMBOLS.get(word[0].lower())) is not None:
        return ExpressionError(text, at, f"JSONPath writes {symbol} for {word[0]!r}")
    path = f"$.{text[at : at + 40]}"
    return ExpressionError(text, at, f"a path begins with $, for example {path}; a text stands in quotes")


def evaluate(text: str, document: bytes) -> bool:
    """Of any logical expression; it may take long, for patterns can explode: call it where it can be killed.

    Raises `ValueError` when the document is no JSON, or too deep.
    """
    truth = _compiled(text)
    try:
        return truth(json.loads(document, parse_int=float, parse_constant=_refuse))  # I-JSON: numbers are doubles
    except RecursionError:
        raise ValueError("the document is nested too deep to be searched") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


@lru_cache(maxsize=_COMPILED)
def _compiled(text: str) -> Callable[[object], bool]:
    from tocsin.markup._rfc9535 import compiled  # here, for who asks for less does not pay for it

    return compiled(text)


def _check_nesting(text: str) -> None:
    """That strings end and brackets pair, so that no text can end the brackets it is put in, and are not too deep."""
    closing: list[str] = []
    at = 0
    while at < len(text):
        if text[at] in "'\"":
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                raise ExpressionError(text, at, "the string does not end")
            at = quoted.end()
        else:
            each = text[at]
            if each in _CLOSED_BY:
                closing.append(_CLOSED_BY[each])
                if len(closing) > DEEPEST:
                    raise ExpressionError(text, at, f"nested deeper than {DEEPEST} levels")
            elif each in ")]" and (not closing or closing.pop() != each):
                raise ExpressionError(text, at, f"{each!r} closes nothing here")
            elif each == "," and not closing:
                raise ExpressionError(text, at, "one logical expression is expected, not several")
            at += 1
    if closing:
        raise ExpressionError(text, at, f"{closing[-1]!r} is missing at the end")


class _More(Exception):
    """Perhaps legal, but more than a condition."""


class _Reader:
    def __init__(self, text: str) -> None:
        self._scanner = Scanner(text)

    def read(self) -> Condition:
        found = self._some()
        self._scanner.end()
        return found

    def _some(self) -> Condition:
        several = self._scanner.several
        return some(several(lambda: every(several(self._one, "&&")), "||"))

    def _one(self) -> Condition:
        """A comparison cannot be negated but in parentheses (RFC 9535 s2.3.5.1)."""
        if self._scanner.takes("!"):
            return Negated(self._parenthesised() if self._scanner.takes("(") else Exists(self._query()))
        return self._parenthesised() if self._scanner.takes("(") else self._test()

    def _parenthesised(self) -> Condition:
        found = self._scanner.deeper(self._some)
        self._scanner.expect(")")
        return found

    def _test(self) -> Condition:
        if self._scanner.sees(_QUERY) is None:
            constant = self._constant()
            found = self._comparator() or self._scanner.fail("a constant must be compared with something")
            return _compare(self._query(), MIRRORED[found], constant)
        path, how = self._query(), self._comparator()
        if how is None:
            return Exists(path)
        if self._scanner.sees(_QUERY):
            raise _More
        return _compare(path, how, self._constant())

    def _comparator(self) -> Comparator | None:
        found = self._scanner.take(_COMPARISON)
        return None if found is None else _COMPARATORS[found]

    def _query(self) -> JsonPath:
        if self._scanner.take(_QUERY) is None:
            raise _More
        steps: list[str | int] = []
        while True:
            name = self._scanner.take(_NAME)
            if name is not None:
                steps.append(name[1:])
            elif self._scanner.takes("["):
                steps.append(self._selected())
            elif self._scanner.takes("."):
                raise _More
            else:
                return JsonPath(tuple(steps))

    def _selected(self) -> str | int:
        quoted = self._scanner.take(_STRING)
        found = self._index() if quoted is None else unquoted(quoted)
        if not self._scanner.takes("]"):
            raise _More
        return found

    def _index(self) -> int:
        at, digits = self._scanner.skip(), self._scanner.take(_INDEX)
        if digits is None:
            raise _More
        if len(digits) > 17 or abs(int(digits)) > _HIGHEST_INDEX:
            self._scanner.fail("the index is too large", at)
        return int(digits)

    def _constant(self) -> Constant:
        quoted = self._scanner.take(_STRING)
        if quoted is not None:
            return unquoted(quoted)
        word = self._scanner.take(_WORD)
        if word is not None:
            return _WORDS[word]
        at = self._scanner.skip()
        digits = self._scanner.take(_NUMBER)
        if digits is None:
            raise _More
        return self._scanner.fail("the number is too large", at) if isinf(float(digits)) else float(digits)


def _compare(path: JsonPath, how: Comparator, constant: Constant) -> Condition:
    """Nothing is equal to no constant, so it differs from each (RFC 9535 s2.3.5.2.2)."""
    if how == "!=":
        return Negated(Compare(path, "=", constant))
    return Compare(path, how, constant)


def unquoted(text: str) -> str:
    """As JSON has strings, but for the quotes."""
    if text[0] == "'":
        text = '"' + text[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    return str(json.loads(text))
