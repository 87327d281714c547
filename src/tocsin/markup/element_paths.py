"""Paths of liftings into XML: a part of XPath 1.0 that takes time linear in the document.

`cap:info/cap:severity`, `/cap:alert/cap:sent`, `//tt:SimpleItem[@Name='State']/@Value`, `.`, `cap:info[1]/text()`.
There is one `//` at most. A predicate is a position, `last()`, or a child, attribute, `.` or `text()`, alone or
compared with a text by `=` or `!=`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, NoReturn

from msgspec import Struct

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.xml import Element, text_in

LONGEST = 1024
_XML = "http://www.w3.org/XML/1998/namespace"
_NAME = r"(?:[^\W\d][\w.-]*:)?[^\W\d][\w.-]*"
_SLASH = re.compile(r"//?")
_TEST = re.compile(
    rf"(?P<leaf>@\s*{_NAME}|text\(\))|(?P<here>\.(?!\.))|(?P<name>(?:[^\W\d][\w.-]*:)?\*|{_NAME})(?![\w.-]|\s*[(:])"
)
_POSITION = re.compile(r"\[\s*(?:(?P<number>[1-9][0-9]{0,8})|last\(\))\s*\]")
_ASKED = re.compile(
    rf"\[\s*(?P<what>@\s*{_NAME}|text\(\)|\.|{_NAME})\s*(?:(?P<how>!?=)\s*(?:\"(?P<a>[^\"]*)\"|'(?P<b>[^']*)')\s*)?\]"
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


def compiled(text: str, namespaces: Mapping[str, str]) -> ElementPath:
    """Raises `ExpressionError`, with the place."""
    return _Reader(text, namespaces).path()


def string_value(element: Element) -> str:
    return text_in(element) if len(element) else element.text or ""


class _Reader:
    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self._text, self._namespaces, self._at = text, namespaces, 0
        if len(text) > LONGEST:
            self._fail(f"a path has at most {LONGEST} characters")

    def path(self) -> ElementPath:
        slash = self._take(_SLASH)
        steps, absolute, deep = list[ElementStep](), slash is not None, slash is not None and slash[0] == "//"
        while True:
            leaf = self._step(steps, deep)
            slash = None if leaf else self._take(_SLASH)
            if slash is None:
                break
            deep = slash[0] == "//"
        self._end(steps, leaf, absolute)
        return ElementPath(self._text, absolute, tuple(steps), leaf)

    def _step(self, steps: list[ElementStep], deep: bool) -> str:
        test = self._take(_TEST)
        if test is None:
            self._fail("the name of an element or attribute, text() or . is expected here")
        if test["name"]:
            steps.append(ElementStep(self._name(test["name"]), deep, tuple(self._predicates())))
        elif deep:
            self._fail("the name of an element is expected after //")
        return self._operand(test["leaf"]) if test["leaf"] else ""

    def _end(self, steps: list[ElementStep], leaf: str, absolute: bool) -> None:
        if self._text[self._at :].strip():
            self._fail("the path goes on with what is not known here")
        if sum(step.deep for step in steps) > 1:
            self._fail("a path may have // once")
        if absolute and not steps:
            self._fail(f"the document has no {leaf or 'value'} of its own; name its element")

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
    return (string_value(each) for each in ((element,) if what == "." else element.iterchildren(what)))


def _is_called(element: Element, name: str) -> bool:
    tag = str(element.tag)
    return name in (tag, "*") or (name.endswith("}*") and tag.startswith(name[:-1]))
