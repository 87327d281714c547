"""Paths of liftings, into XML and JSON: parts of XPath 1.0 and JSONPath that take time linear in the document.

Into XML: `cap:info/cap:severity`, `/cap:alert/cap:sent`, `//tt:SimpleItem[@Name='State']/@Value`, `.`,
`cap:info[1]/text()`. There is one `//` at most. A predicate is a position, `last()`, or a child, attribute, `.` or
`text()`, alone or compared with a text by `=` or `!=`.

Into JSON: `$.alert.severity`, `@['odd name'][0]`, `@.items[*]`, `$..level`, `@.parameters[?@.name == 'depth'].value`:
`$` is the document, `@` what a path begins at. There is one `..` at most, and `[?...]` compares with constants.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, NoReturn

from msgspec import Struct

from tocsin.markup import jsonpath
from tocsin.markup.conditions import Condition, ExpressionError, JsonPath
from tocsin.markup.content import holds, json_values
from tocsin.markup.xml import Element, text_in

LONGEST = 1024
_XML = "http://www.w3.org/XML/1998/namespace"
_XML_NAME = r"(?:[^\W\d][\w.-]*:)?[^\W\d][\w.-]*"
_SLASH = re.compile(r"//?")
_TEST = re.compile(
    rf"(?P<leaf>@\s*{_XML_NAME}|text\(\))|(?P<here>\.(?!\.))|(?P<name>(?:[^\W\d][\w.-]*:)?\*|{_XML_NAME})(?![\w.-]|\s*[(:])"
)
_POSITION = re.compile(r"\[\s*(?:(?P<number>[1-9][0-9]{0,8})|last\(\))\s*\]")
_ASKED = re.compile(
    rf"\[\s*(?P<what>@\s*{_XML_NAME}|text\(\)|\.|{_XML_NAME})\s*(?:(?P<how>!?=)\s*(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)')\s*)?\]"
)


class Predicate(NamedTuple):
    """A predicate of a step: some value of `what` equals the text, or does not; without a text, that there is a
    value."""

    what: str
    equal: bool = True
    text: str | None = None


class ElementStep(NamedTuple):
    name: str
    deep: bool
    predicates: tuple[int | Predicate, ...]  # a position counts from 1; 0 is the last


class ElementPath(Struct, frozen=True):
    """A compiled path. `find` starts at an element of the document, or at its root if the path is absolute."""

    text: str
    absolute: bool
    steps: tuple[ElementStep, ...]
    leaf: str = ""  # "" the elements, "@name" an attribute, "text()" each text node

    def find(self, start: Element, root: Element) -> list[Element] | list[str]:
        found: Iterable[Element] = (start,)
        for index, step in enumerate(self.steps):
            found = _of_document(root, step) if self.absolute and not index else _next(found, step)
        if not self.leaf:
            return list(found)
        return [value for element in found for value in _values(element, self.leaf)]


def xml_path(text: str, namespaces: Mapping[str, str]) -> ElementPath:
    """Raises `ExpressionError`, with the place."""
    return _Reader(text, namespaces).path()


class _Reader:
    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self._text, self._namespaces, self._at = text, namespaces, 0
        if len(text) > LONGEST:
            self._fail(f"a path has at most {LONGEST} characters")

    def path(self) -> ElementPath:
        slash = self._take(_SLASH)
        steps, absolute, deep = list[ElementStep](), slash is not None, slash is not None and slash[0] == "//"
        while True:
            test = self._take(_TEST)
            if test is None:
                self._fail("the name of an element or attribute, text() or . is expected here")
            if test["name"]:
                steps.append(ElementStep(self._name(test["name"]), deep, tuple(self._predicates())))
            elif deep:
                self._fail("the name of an element is expected after //")
            leaf = self._operand(test["leaf"]) if test["leaf"] else ""
            slash = None if leaf else self._take(_SLASH)
            if slash is None:
                break
            deep = slash[0] == "//"
        if self._text[self._at :].strip():
            self._fail("the path goes on with what is not known here")
        if sum(step.deep for step in steps) > 1:
            self._fail("a path may have // once")
        if absolute and not steps:
            self._fail(f"the document has no {leaf or 'value'} of its own; name its element")
        return ElementPath(self._text, absolute, tuple(steps), leaf)

    def _predicates(self) -> Iterator[int | Predicate]:
        while True:
            if position := self._take(_POSITION):
                yield int(position["number"] or 0)
            elif asked := self._take(_ASKED):
                text = asked["a"] if asked["a"] is not None else asked["b"]
                yield Predicate(self._operand(asked["what"]), asked["how"] != "!=", text)
            else:
                return

    def _operand(self, text: str) -> str:
        if text in (".", "text()"):
            return text
        if text[0] != "@":
            return self._name(text)
        name = text[1:].strip()
        return "@" + self._name(name)

    def _name(self, name: str) -> str:
        prefix, colon, local = name.rpartition(":")
        if not colon:
            return name
        namespace = _XML if prefix == "xml" else self._namespaces.get(prefix)
        if not namespace:
            self._fail(f"the prefix {prefix} is not declared; write it into the namespaces")
        return f"{{{namespace}}}{local}"

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def _fail(self, why: str) -> NoReturn:
        raise ExpressionError(self._text, self._at, why)


def _of_document(root: Element, step: ElementStep) -> Iterable[Element]:
    """Whose only child element is the root."""
    own = _chosen([root] if _is_called(root, step.name) else [], step.predicates)
    return [*own, *_next([root], step)] if step.deep else own


def _next(parents: Iterable[Element], step: ElementStep) -> Iterable[Element]:
    """Positions count among the children of one parent, with `//` too (XPath 1.0 s2.5)."""
    if not step.predicates:
        if step.deep:
            return (each for parent in parents for each in parent.iterdescendants(step.name))
        return (each for parent in parents for each in parent.iterchildren(step.name))
    if step.deep:
        parents = (each for parent in parents for each in parent.iter("*"))
    return (each for parent in parents for each in _chosen(list(parent.iterchildren(step.name)), step.predicates))


def _chosen(elements: list[Element], predicates: tuple[int | Predicate, ...]) -> list[Element]:
    for each in predicates:
        if isinstance(each, int):
            elements = elements[each - 1 : each or None]
        else:
            elements = [element for element in elements if _has(element, each)]
    return elements


def _has(element: Element, asked: Predicate) -> bool:
    values = _values(element, asked.what)
    if asked.text is None:
        return any(True for _ in values)
    return any((value == asked.text) is asked.equal for value in values)


def _values(element: Element, what: str) -> Iterable[str]:
    if what[0] == "@":
        value = element.get(what[1:])
        return () if value is None else (value,)
    if what == "text()":
        return [each for each in (element.text, *(child.tail for child in element)) if each]
    return (text_in(each) for each in ((element,) if what == "." else element.iterchildren(what)))


def _is_called(element: Element, name: str) -> bool:
    tag = str(element.tag)
    return name in (tag, "*") or (name.endswith("}*") and tag.startswith(name[:-1]))


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


def json_path(text: str) -> ValuePath:
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
    try:
        return jsonpath.unquoted(quoted)
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
    return holds(condition, lambda path: json_values(value, path.steps) if isinstance(path, JsonPath) else ())
