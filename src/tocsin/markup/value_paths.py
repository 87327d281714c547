"""Paths of liftings into JSON: a part of JSONPath (RFC 9535) that takes time linear in the document.

`$.alert.severity`, `@['odd name'][0]`, `@.items[*]`, `$..level`, `@.parameters[?@.name == 'depth'].value`: `$` is the
document, `@` what a path begins at. There is one `..` at most, and what stands in `[?...]` compares with constants.
"""

import json
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from tocsin.markup import jsonpath
from tocsin.markup.conditions import Compare, Condition, Every, Exists, ExpressionError, JsonPath, Negated, Some

LONGEST = 1024
_STRING = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_NAME = re.compile(r"\.([A-Za-z_\u0080-\U0010ffff][\w]*)")
_ALL = re.compile(r"\.\*|\[\s*\*\s*\]")
_SELECTED = re.compile(rf"\[\s*(?:(?P<name>{_STRING})|(?P<index>0|-?[1-9][0-9]{{0,8}}))\s*\]")
_FILTER = re.compile(rf"\[\s*\?((?:[^\[\]'\"]|{_STRING}|\[(?:[^\[\]'\"]|{_STRING})*\])*)\]")


class EachOf(Struct, frozen=True):
    """Members or items, all or those of which a condition holds."""

    having: Condition | None = None


Segment = str | int | EachOf


class ValuePath(Struct, frozen=True):
    text: str
    absolute: bool
    segments: tuple[Segment, ...]
    deep: int = -1  # the segment before which stands `..`

    def find(self, start: object, root: object) -> list[object]:
        found = [root if self.absolute else start]
        for index, segment in enumerate(self.segments):
            if index == self.deep:
                found = [each for value in found for each in _with_all_below(value)]
            found = [each for value in found for each in _selected(value, segment)]
        return found


def compiled(text: str) -> ValuePath:
    """Raises `ExpressionError`, with the place."""
    if len(text) > LONGEST:
        raise ExpressionError(text, LONGEST, f"a path has at most {LONGEST} characters")
    if text[:1] not in ("$", "@"):
        raise ExpressionError(text, 0, "a path begins with $, the document, or @, what it is in")
    segments, at, deep = list[Segment](), 1, -1
    while at < len(text):
        if text.startswith("..", at):
            if deep >= 0:
                raise ExpressionError(text, at, "a path may have .. once")
            deep, at = len(segments), at + (2 if text.startswith("[", at + 2) else 1)
        segment, at = _segment(text, at)
        segments.append(segment)
    return ValuePath(text, text[0] == "$", tuple(segments), deep)


def _segment(text: str, at: int) -> tuple[Segment, int]:
    if found := _NAME.match(text, at):
        return found[1], found.end()
    if found := _ALL.match(text, at):
        return EachOf(), found.end()
    if found := _SELECTED.match(text, at):
        return int(found["index"]) if found["index"] else _unquoted(text, at, found["name"]), found.end()
    if found := _FILTER.match(text, at):
        return EachOf(_condition(text, found)), found.end()
    raise ExpressionError(text, at, "a name (.name), an index ([0]), all ([*]) or a filter ([?@...]) is expected here")


def _unquoted(text: str, at: int, quoted: str) -> str:
    if quoted[0] == "'":
        quoted = '"' + quoted[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ExpressionError(text, at, "this is no string of JSON") from None


def _condition(text: str, found: re.Match[str]) -> Condition:
    try:
        condition = jsonpath.read(found[1])
    except ExpressionError as problem:
        raise ExpressionError(text, found.start(1) + problem.position, problem.why) from None
    if condition is None or re.search(r"\$", re.sub(_STRING, "", found[1])):
        raise ExpressionError(text, found.start(1), "a filter here compares what is below @ with constants")
    return condition


def _with_all_below(value: object) -> Iterator[object]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(reversed(list(_children(each))))


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _selected(value: object, segment: Segment) -> Iterable[object]:
    if isinstance(segment, str):
        return (value[segment],) if isinstance(value, dict) and segment in value else ()
    if isinstance(segment, int):
        return (value[segment],) if isinstance(value, list) and -len(value) <= segment < len(value) else ()
    having = segment.having
    return (each for each in _children(value) if having is None or _holds(having, each))


def _holds(condition: Condition, value: object) -> bool:
    match condition:
        case Exists(JsonPath(steps)):
            return bool(_at(value, steps))
        case Compare(JsonPath(steps), how, constant):
            return any(_compares(each, how, constant) for each in _at(value, steps))
        case Every(conditions):
            return all(_holds(each, value) for each in conditions)
        case Some(conditions):
            return any(_holds(each, value) for each in conditions)
        case Negated(negated):
            return not _holds(negated, value)
    return False


def _at(value: object, steps: tuple[str | int, ...]) -> list[object]:
    found = [value]
    for step in steps:
        found = [each for one in found for each in _selected(one, step)]
    return found


def _compares(value: object, how: str, constant: object) -> bool:
    """Numbers with numbers, texts with texts; nothing else has an order (RFC 9535 s2.3.5.2.2)."""
    if isinstance(value, bool) or isinstance(constant, bool) or value is None or constant is None:
        return how in ("=", "<=", ">=") and value is constant
    if isinstance(value, str) and isinstance(constant, str):
        return _ordered(value, how, constant)
    if isinstance(value, int | float) and isinstance(constant, int | float):
        return _ordered(value, how, constant)
    return False


def _ordered(left: str | float, how: str, right: str | float) -> bool:
    less, equal = left < right, left == right  # type: ignore[operator]
    return {"=": equal, "!=": not equal, "<": less, "<=": less or equal}.get(
        how, not less and (how == ">=" or not equal)
    )
