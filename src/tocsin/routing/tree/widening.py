"""What a subscription asks for, as any other node understands it: never less than it wants, sometimes more.

What refers to something that is declared at one node (information spaces, categories, ontologies, descriptions of
producers), is about a message as it would be delivered, or must be judged, means nothing elsewhere.
"""

import re
from collections.abc import Iterable

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.content import condition_of
from tocsin.matching.catalogue import Catalogue
from tocsin.model.filters import (
    NOTHING,
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
    leaves,
)

Conjunction = tuple[Filter, ...]  # without any filter it is everything
_TIME = re.compile(r"\btime\b", re.IGNORECASE)  # of an event that says none it is when a node accepted it


def widened(filters: Conjunction, catalogue: Catalogue) -> tuple[Conjunction, ...]:
    """Alternatives, one of which lets through whatever the filters do; none where they let through nothing."""
    wide = _all_of(filters, catalogue)
    if wide is None:
        return ((),)
    return tuple(dict.fromkeys(_alternatives(wide)))


def _alternatives(wide: Filter) -> Iterable[Conjunction]:
    """The smaller, the more of them are shown to be covered by others."""
    match wide:
        case AnyOf(filters):
            for each in filters:
                yield from _alternatives(each)
        case TopicIs(paths):
            yield from ((TopicIs((path,)),) for path in paths)
        case AllOf(filters):
            yield filters
        case _:
            yield (wide,)


def _wide(asked: Filter, catalogue: Catalogue) -> Filter | None:
    """None is everything."""
    match asked:
        case AllOf(filters):
            return _all_of(filters, catalogue)
        case AnyOf(filters):
            return _any_of(filters, catalogue)
        case Not(negated):
            return asked if all(map(_means_the_same, leaves((negated,)))) else None
        case TypeIs(names):
            return TypeIs(_with_subtypes(names, catalogue))
        case ForNotifier():  # what is addressed to a service stays at its node
            return NOTHING
    return asked if _means_the_same(asked) else None


def _all_of(filters: Iterable[Filter], catalogue: Catalogue) -> Filter | None:
    parts = [part for each in filters if (part := _wide(each, catalogue)) is not None]
    if NOTHING in parts:
        return NOTHING
    flat = [one for part in parts for one in (part.filters if isinstance(part, AllOf) else (part,))]
    return AllOf(tuple(flat)) if len(flat) > 1 else flat[0] if flat else None


def _any_of(filters: Iterable[Filter], catalogue: Catalogue) -> Filter | None:
    parts = [_wide(each, catalogue) for each in filters]
    some = tuple(each for each in parts if each is not None and each != NOTHING)
    return None if None in parts else AnyOf(some)


def _means_the_same(asked: Filter) -> bool:
    """At every node. Of types that is not so: another may know more subtypes, and `Not` would let through less."""
    match asked:
        case TopicIs() | ActionIs():
            return True
        case AttributeIs(name):
            return name != "time"
        case ProducerIs(categories=categories):
            return not categories
        case Content(language, text, over):
            told = over == "payload" or (over == "attributes" and not _TIME.search(text))
            return told and language != "sparql" and _is_condition(asked)
    return False


def _is_condition(asked: Content) -> bool:
    try:
        return condition_of(asked) is not None
    except ExpressionError:
        return False


def _with_subtypes(names: tuple[str, ...], catalogue: Catalogue) -> tuple[str, ...]:
    below = (each for each in sorted(catalogue.types) if not catalogue.types_of(each).isdisjoint(names))
    return tuple(dict.fromkeys((*names, *below)))
