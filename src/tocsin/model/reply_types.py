"""Reply types: what receivers of a publication may answer (paper 001 s2.2). A value has one spelling, which counts."""

import re
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from tocsin.model.refusal import Refusal

MOST_VALUES = 1000  # of an enumeration
LONGEST_TYPE = 16_384  # characters
LONGEST_REPLY = 4096  # characters of any reply, free text included
USUAL_TEXT = 200
_LARGEST = 2**63
_RANGE = re.compile(r"(-?\d{1,18})?\.\.(-?\d{1,18})?")
_INTEGER = re.compile(r"[+-]?\d{1,19}")
FORMS = "enum:yes,no  int:0..500  boolean  pattern:[A-Z]{3}  text:200  json:{...}"


class Enumeration(Struct, frozen=True):
    values: tuple[str, ...]

    def value_of(self, said: object) -> str:
        text = _text(said)
        if text not in self.values:
            raise _wrong(said, f"one of {', '.join(self.values[:20])}{' ...' if len(self.values) > 20 else ''}")
        return text


class Integers(Struct, frozen=True):
    least: int | None = None
    most: int | None = None

    def value_of(self, said: object) -> str:
        number = said if type(said) is int else int(text) if _INTEGER.fullmatch(text := _text(said)) else None
        if number is None or not -_LARGEST <= number < _LARGEST:
            raise _wrong(said, self._expected())
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            raise _wrong(said, self._expected())
        return str(number)

    def _expected(self) -> str:
        if self.least is None and self.most is None:
            return "an integer"
        words = [f"{word} {bound}" for word, bound in (("from", self.least), ("to", self.most)) if bound is not None]
        return f"an integer {' '.join(words)}"


class Boolean(Struct, frozen=True):
    def value_of(self, said: object) -> str:
        text = ("true" if said else "false") if type(said) is bool else _text(said).strip().lower()
        if text not in ("true", "false"):
            raise _wrong(said, "true or false")
        return text


class Pattern(Struct, frozen=True):
    """The whole reply must match; in the syntax of RE2, which takes time in proportion to the reply whatever it is."""

    text: str

    def value_of(self, said: object) -> str:
        text = _bounded(_text(said), LONGEST_REPLY)
        if _expression(self.text).fullmatch(text) is None:
            raise _wrong(said, f"a text that matches {self.text}")
        return text


class Text(Struct, frozen=True):
    longest: int = USUAL_TEXT

    def value_of(self, said: object) -> str:
        return _bounded(_text(said), self.longest)


class Json(Struct, frozen=True):
    """Counted by its canonical form: keys sorted, nothing between. A text is read as JSON where it is some."""

    schema: str

    def value_of(self, said: object) -> str:
        value = _parsed(said) if isinstance(said, str) else said
        text = _bounded(canonical(value), LONGEST_REPLY)
        problem = next(iter(_validator(self.schema).iter_errors(value)), None)
        if problem is not None:
            raise Refusal("bad-reply", f"the reply is not what was asked for: {problem.message}")
        return text


ReplyType = Enumeration | Integers | Boolean | Pattern | Text | Json


@lru_cache(maxsize=1024)
def reply_type(text: str) -> ReplyType:
    """As publishers write it; refused with what can be written."""
    if len(text) > LONGEST_TYPE:
        raise Refusal("bad-reply-type", f"a reply type has at most {LONGEST_TYPE} characters, not {len(text)}")
    kind, colon, rest = text.strip().partition(":")
    match kind.strip().lower():
        case "enum" if colon:
            return _enumeration(rest)
        case "int" | "integer":
            return _integers(rest.strip())
        case "boolean" | "bool" if not rest.strip():
            return Boolean()
        case "pattern" if rest:
            _expression(rest)
            return Pattern(rest)
        case "text":
            return _free_text(rest.strip())
        case "json" if rest.strip():
            _validator(rest)
            return Json(rest)
    raise _no_type(text)


def canonical(value: object) -> str:
    try:
        return msgspec.json.encode(value, order="deterministic").decode()
    except (TypeError, ValueError, RecursionError):
        raise Refusal("bad-reply", "the reply is not JSON") from None


def _enumeration(text: str) -> Enumeration:
    """Values with a comma are written as a JSON array."""
    if text.lstrip().startswith("["):
        try:
            values = tuple(msgspec.json.decode(text, type=list[str]))
        except msgspec.DecodeError as problem:
            raise _no_type(f"enum:{text}", f"not an array of strings: {problem}") from None
    else:
        values = tuple(each.strip() for each in text.split(","))
    if not all(values) or len(set(values)) != len(values) or any(len(each) > LONGEST_REPLY for each in values):
        raise _no_type(f"enum:{text}", "its values are not empty, and no two of them are alike")
    if len(values) > MOST_VALUES:
        raise _no_type(f"enum:{text}", f"it has at most {MOST_VALUES} values, not {len(values)}")
    return Enumeration(values)


def _integers(text: str) -> Integers:
    if not text:
        return Integers()
    found = _RANGE.fullmatch(text)
    if found is None:
        raise _no_type(f"int:{text}", "a range is 0..500, 0.. or ..500")
    least, most = (None if each is None else int(each) for each in found.groups())
    if least is not None and most is not None and least > most:
        raise _no_type(f"int:{text}", "nothing lies between these bounds")
    return Integers(least, most)


def _free_text(text: str) -> Text:
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= LONGEST_REPLY):
        raise _no_type(f"text:{text}", f"the bound is from 1 to {LONGEST_REPLY} characters")
    return Text(int(text)) if text else Text()


@lru_cache(maxsize=256)
def _expression(text: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as problem:
        raise _no_type(f"pattern:{text}", f"not an expression of RE2: {_said(problem)}") from None


def _said(problem: Exception) -> str:
    first = problem.args[0] if problem.args else ""
    return first.decode(errors="replace") if isinstance(first, bytes) else str(first)


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    """Patterns in it take time in proportion to the reply; nothing is fetched for it."""
    import jsonschema_rs

    try:
        read = msgspec.json.decode(schema)
        linear = jsonschema_rs.RegexOptions(size_limit=1 << 20)
        return jsonschema_rs.Draft202012Validator(read, offline=True, pattern_options=linear)
    except (msgspec.DecodeError, jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as problem:
        text = str(problem).partition("\n")[0]
        raise _no_type(f"json:{schema}", f"not a JSON Schema of draft 2020-12: {text}") from None


def _text(said: object) -> str:
    match said:
        case str():
            return said
        case bool():
            return "true" if said else "false"
        case int():
            return str(said)
    raise _wrong(said, "a text")


def _parsed(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _bounded(text: str, longest: int) -> str:
    if len(text) > longest:
        raise Refusal("bad-reply", f"the reply has {len(text)} characters; at most {longest} are asked for")
    return text


def _wrong(said: object, expected: str) -> Refusal:
    shown = said if isinstance(said, str) else canonical(said)
    return Refusal("bad-reply", f"{shown[:80]!r} is not what was asked for: reply with {expected}")


def _no_type(text: str, why: str = "") -> Refusal:
    return Refusal("bad-reply-type", f"{text[:80]!r} is no reply type{f' ({why})' if why else ''}; write {FORMS}")
