"""Filters: what a subscription can ask for. Its filters are a conjunction; without any it asks for everything."""

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, Union

from msgspec import Struct

from tocsin.model.identity import Pairs
from tocsin.model.names import QName
from tocsin.model.space import Side

ANY = "*"
DESCEND = "//"


class TopicIs(Struct, frozen=True, tag=True):
    """The WS-Topics Full grammar; Simple and Concrete are cases of it.

    A step is a name, a name with local part `*` (any topic of that namespace), `*` (any topic) or `//` (any number
    of topics, none included). `a//.` is therefore `(a, "//")`.
    """

    alternatives: tuple[tuple[QName | str, ...], ...]


class ActionIs(Struct, frozen=True, tag=True):
    """The action dialect of DPWS: one of these URIs, or one that continues it by path segments (DPWS 1.1 s6.1.1)."""

    actions: tuple[str, ...]


class AttributeIs(Struct, frozen=True, tag=True):
    """A CloudEvents context attribute, as a CloudEvents subscriber would be told it."""

    name: str
    how: Literal["exact", "prefix", "suffix"]
    value: str


class TypeIs(Struct, frozen=True, tag=True):
    """One of these types or a declared subtype: `{namespace}local` of a payload's element, or a CloudEvents type."""

    names: tuple[str, ...]


class ProducerIs(Struct, frozen=True, tag=True):
    """One of these endpoints, or a declared producer of one of these categories or a subcategory."""

    addresses: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


class InBox(Struct, frozen=True, tag=True, cache_hash=True):
    """A region of a declared information space, one side for each of its dimensions."""

    space: str
    sides: tuple[Side, ...]


Language = Literal["xpath", "items", "jsonpath", "cesql", "sparql"]
Over = Literal["payload", "envelope", "attributes", "producer"]


class Content(Struct, frozen=True, tag=True, cache_hash=True):
    """An expression that must hold of one part of a notification, or of what its producer declared of itself.

    XPath 1.0 is over a payload (WSN), the envelope as it would be delivered (WSE), or a producer's properties; `items`
    is ONVIF's ItemFilter; CloudEvents SQL is over attributes; SPARQL is over a producer's description.
    """

    language: Language
    text: str
    over: Over = "payload"
    namespaces: Pairs = ()


class Graph(Struct, frozen=True, tag=True, cache_hash=True):
    """A pattern that the event graph must have, in the paper's language of statement patterns (OPS s4) or in SPARQL.

    Its prefixes are those that the text does not declare itself. `plain` asks for SPARQL's own meaning, by which two
    variables may stand for one vertex.
    """

    language: Literal["pattern", "sparql"]
    text: str
    prefixes: Pairs = ()
    plain: bool = False


class ForNotifier(Struct, frozen=True, tag=True):
    """Messages that a notifier passes on to its own service; they match no other subscription."""

    name: str


class AllOf(Struct, frozen=True, tag=True):
    filters: tuple["Filter", ...]


class AnyOf(Struct, frozen=True, tag=True):
    """Without any filter it wants nothing."""

    filters: tuple["Filter", ...]


class Not(Struct, frozen=True, tag=True):
    filter: "Filter"


Filter = Union[  # noqa: UP007 - names its own members
    TopicIs, ActionIs, AttributeIs, TypeIs, ProducerIs, InBox, Content, Graph, ForNotifier, AllOf, AnyOf, Not
]
NOTHING = AnyOf(())


TOPICS = "/topics"  # a plane; no information space has such a name


def plane_of(filters: Iterable[Filter]) -> str:
    """Where in a ring those who ask for all of these meet notifications: by content topics of an information space, or
    by topics."""
    boxes = boxes_of(AllOf(tuple(filters)))
    return boxes[0].space if boxes else TOPICS


def boxes_of(asked: Filter) -> tuple[InBox, ...]:
    """Boxes of one space, one of which holds of whatever matches; none if that cannot be said."""
    match asked:
        case InBox():
            return (asked,)
        case AllOf(filters):
            return next(filter(None, map(boxes_of, filters)), ())
        case AnyOf(filters):
            found = [boxes_of(each) for each in filters]
            boxes = tuple(box for each in found for box in each)
            return boxes if all(found) and len({each.space for each in boxes}) == 1 else ()
    return ()


def leaves(filters: Iterable[Filter]) -> Iterator[Filter]:
    """Those at any depth that are not made of others."""
    for each in filters:
        match each:
            case AllOf(inner) | AnyOf(inner):
                yield from leaves(inner)
            case Not(inner):
                yield from leaves((inner,))
            case _:
                yield each


def rewritten(filters: Iterable[Filter], change: Callable[[Filter], Filter]) -> tuple[Filter, ...]:
    """The same with each leaf changed."""
    return tuple(_rewritten(each, change) for each in filters)


def _rewritten(asked: Filter, change: Callable[[Filter], Filter]) -> Filter:
    match asked:
        case AllOf(filters):
            return AllOf(rewritten(filters, change))
        case AnyOf(filters):
            return AnyOf(rewritten(filters, change))
        case Not(negated):
            return Not(_rewritten(negated, change))
    return change(asked)
