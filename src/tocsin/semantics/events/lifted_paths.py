"""Where the paths of liftings lead: elements and attributes of XML, values of JSON, attributes of a CloudEvent."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from tocsin.markup import element_paths, value_paths
from tocsin.markup.conditions import ExpressionError
from tocsin.markup.element_paths import ElementPath, ElementStep
from tocsin.markup.graphs.literal_values import XSD
from tocsin.markup.value_paths import ValuePath
from tocsin.markup.xml import Element

Found = Any  # an element of lxml, a value of JSON, or a text
_ATTRIBUTE = re.compile(r"\$([a-z0-9]+)")


class Place:
    """A document with the attributes of its CloudEvent. What an absolute path finds is the same from everywhere."""

    def __init__(self, document: Found, attributes: Mapping[str, str]) -> None:
        self.document, self.attributes = document, attributes
        self.known: dict[str, list[Found]] = {}


class LiftedPath(Struct, frozen=True):
    text: str
    find: Callable[[Found, Place], list[Found]]


def path_of(text: str, syntax: Literal["xml", "json"], namespaces: Mapping[str, str]) -> LiftedPath:
    """Raises `ExpressionError`."""
    text = text.strip()
    if not text:
        raise ExpressionError(text, 0, "it is empty; what a path begins at is written . in XML and @ in JSON")
    if attribute := _ATTRIBUTE.fullmatch(text):
        return LiftedPath(text, _attribute(attribute[1]))
    if syntax == "json":
        path = value_paths.compiled(text)
        return LiftedPath(
            text, _absolute(path) if path.absolute else lambda start, place: path.find(start, place.document)
        )
    steps = element_paths.compiled(text, namespaces)
    return LiftedPath(text, _absolute(steps) if steps.absolute else _relative(steps))


_Find = Callable[[Found, Place], list[Found]]


def _attribute(name: str) -> _Find:
    def find(_start: Found, place: Place) -> list[Found]:
        value = place.attributes.get(name)
        return [] if value is None else [value]

    return find


def _absolute(path: ElementPath | ValuePath) -> _Find:
    def find(_start: Found, place: Place) -> list[Found]:
        found = place.known.get(path.text)
        if found is None:
            place.known[path.text] = found = list(path.find(place.document, place.document))
        return found

    return find


def _relative(path: ElementPath) -> _Find:
    """Most paths are a child's name or an attribute. Below a text there is nothing but itself."""
    match path:
        case ElementPath(steps=(), leaf=""):
            return lambda start, _place: [start]
        case ElementPath(steps=(ElementStep(name=name, deep=False, predicates=()),), leaf=""):
            return lambda start, _place: [] if isinstance(start, str) else list(start.iterchildren(name))
    return lambda start, place: [] if isinstance(start, str) else list(path.find(start, place.document))


def text_of(found: Found, datatype: str) -> str | None:
    """None of what has no text: an object or array of JSON."""
    if isinstance(found, str):
        return found
    if isinstance(found, Element):
        return element_paths.string_value(found)
    if isinstance(found, bool):
        return "true" if found else "false"
    if isinstance(found, int):
        return str(found)
    return _number(found, datatype) if isinstance(found, float) else None


def _number(value: float, datatype: str) -> str:
    """JSON has one kind of numbers, and 4.0 is 4; a decimal has no exponent."""
    if datatype in (f"{XSD}double", f"{XSD}float"):
        return repr(value)
    text = format(Decimal(repr(value)), "f")
    return text.removesuffix(".0") if datatype != f"{XSD}decimal" else text
