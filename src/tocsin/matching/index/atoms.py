"""Takes filters apart into terms of atoms. A subscription wants what one of its terms wants."""

from collections.abc import Sequence
from math import isinf, isnan
from typing import NamedTuple

from msgspec.structs import replace

from tocsin.markup.conditions import (
    Attribute,
    Compare,
    Condition,
    Every,
    Exists,
    ExpressionError,
    JsonPath,
    Negated,
    Path,
    Some,
    XmlPath,
)
from tocsin.markup.content import condition_of, number
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.index.boxes import boxes_cover
from tocsin.matching.index.topics import topics_cover
from tocsin.mediation.soap.namespaces import SOAP_NAMESPACES, TOCSIN
from tocsin.model.filters import (
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    Graph,
    InBox,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.subscription import Form, Subscription, neighbour_of

Atom = TopicIs | TypeIs | ProducerIs | InBox | Graph | Compare | Exists
MOST_TERMS = 32  # of one subscription; what would be more is verified as a whole
MOST_OF_NEIGHBOURS = 1024  # of one that stands for a neighbour, and so for all that is asked behind it
MOST_COMPARED, QUICK = 8, 200  # filters, and steps of comparing two; what takes more is asked for all the same


class Term(NamedTuple):
    """A conjunction of atoms. If it is not whole, the subscription's filters are verified after it."""

    atoms: tuple[Atom, ...] = ()
    is_whole: bool = True


_UNINDEXED = [Term(is_whole=False)]


def terms_of(subscription: Subscription) -> list[Term]:
    """None at all when nothing can match it."""
    most = MOST_TERMS if neighbour_of(subscription) is None else MOST_OF_NEIGHBOURS
    return _Taker(subscription.form, most).all_of(subscription.filters)


class _Taker:
    def __init__(self, form: Form, most: int = MOST_TERMS) -> None:
        self._form, self._most = form, most

    def all_of(self, filters: Sequence[Filter]) -> list[Term]:
        return _joined([self.terms(each) for each in narrowest(filters)], self._most)

    def terms(self, asked: Filter) -> list[Term]:
        match asked:
            case TopicIs() | TypeIs() | ProducerIs() | InBox():
                return [Term((asked,))]
            case AttributeIs(name, "exact", value):
                return [Term((Compare(Attribute(name), "=", value),))]
            case Content():
                return self._content(asked)
            case Graph():
                return _graph(asked)
            case AllOf(filters):
                return self.all_of(filters)
            case AnyOf(filters):
                return _either([self.terms(each) for each in filters], self._most)
        return _UNINDEXED

    def _content(self, asked: Content) -> list[Term]:
        try:
            condition = condition_of(asked)
        except ExpressionError:  # verifying it will say so
            return _UNINDEXED
        if condition is None or asked.over == "producer":
            return _UNINDEXED
        if asked.over == "envelope":
            condition = _of_the_payload(condition, self._form)
        return _UNINDEXED if condition is None else [_applying(each) for each in _terms(condition)]


def _graph(asked: Graph) -> list[Term]:
    try:
        query_of(asked)
    except ExpressionError:
        return _UNINDEXED
    return [Term((asked,))]


def _applying(term: Term) -> Term:
    """What holds without any atom, such as `true()`, holds only where the expression applies at all."""
    return term if term.atoms else Term(is_whole=False)


def narrowest(filters: Sequence[Filter]) -> Sequence[Filter]:
    """Those of a conjunction that say it all: who asks for `a/b` need not be asked for `a//.` as well."""
    kinds = [type(each) for each in filters]
    if (kinds.count(TopicIs) < 2 and kinds.count(InBox) < 2) or len(filters) > MOST_COMPARED:
        return filters
    kept = list(dict.fromkeys(filters))
    for wide in list(kept):
        if any(_implies(each, wide) for each in kept if each is not wide):
            kept.remove(wide)
    return kept


def _implies(narrow: Filter, wide: Filter) -> bool:
    match wide, narrow:
        case TopicIs(), TopicIs():
            return topics_cover(wide, narrow, QUICK)
        case InBox(), InBox():
            return wide.space == narrow.space and boxes_cover((wide,), narrow)
    return False


def _terms(condition: Condition) -> list[Term]:
    match condition:
        case Every(conditions):
            return _joined([_terms(each) for each in conditions])
        case Some(conditions):
            return _either([_terms(each) for each in conditions])
        case Exists():
            return [Term((condition,))]
        case Compare():
            return _compared(condition)
    return _UNINDEXED


def _compared(asked: Compare) -> list[Term]:
    """Strings are ordered in JSON alone, and there no index orders them; in XPath they are numbers then (s3.4)."""
    if asked.how in ("=", "!=") and not isinstance(asked.value, float):
        return [Term((asked,))] if asked.how == "=" or _differs(asked) else _UNINDEXED
    if isinstance(asked.path, XmlPath) and isinstance(asked.value, str):
        asked = replace(asked, value=number(asked.value))
    if not isinstance(asked.value, float) or (asked.how == "!=" and not isinstance(asked.path, XmlPath)):
        return _UNINDEXED
    if isnan(asked.value):
        return [] if asked.how != "!=" else [Term((Exists(asked.path),))]
    return _UNINDEXED if isinf(asked.value) else [Term((asked,))]


def _differs(asked: Compare) -> bool:
    """Whether an index says what is other than the constant: strings at XML paths, and attributes as strings."""
    return isinstance(asked.value, str) and not isinstance(asked.path, JsonPath)


def _joined(parts: Sequence[list[Term]], most: int = MOST_TERMS) -> list[Term]:
    """The product of alternatives. A part that would make too many is left to verifying."""
    found = [Term()]
    for part in sorted(parts, key=len):
        if not part:
            return []
        if len(found) * len(part) > most:
            found = [Term(each.atoms, is_whole=False) for each in found]
        else:
            found = [_and(one, other) for one in found for other in part]
    return found


def _and(one: Term, other: Term) -> Term:
    return Term(tuple(dict.fromkeys(one.atoms + other.atoms)), one.is_whole and other.is_whole)


def _either(parts: Sequence[list[Term]], most: int = MOST_TERMS) -> list[Term]:
    together = [term for part in parts for term in part]
    return together if len(together) <= most else _UNINDEXED


def _of_the_payload(condition: Condition, form: Form) -> Condition | None:
    """The same about the payload, for who gets it alone in the Body; None where that cannot be said."""
    if form.soap is None or form.wrapped or form.thin:
        return None
    match condition:
        case Compare(path=path) | Exists(path=path):
            inner = _inner(path, f"{{{SOAP_NAMESPACES[form.soap]}}}")
            return None if inner is None else replace(condition, path=inner)
        case Every(conditions) | Some(conditions):
            inside = [_of_the_payload(each, form) for each in conditions]
            told = tuple(each for each in inside if each is not None)
            return replace(condition, conditions=told) if len(told) == len(inside) else None
        case Negated():
            return None
    return None


def _inner(path: Path, soap: str) -> XmlPath | None:
    """What stands below the Body by a name that is not of our own wrapper of other payloads."""
    if not isinstance(path, XmlPath) or not path.absolute or len(path.steps) < 3:
        return None
    envelope, body, first, *_ = path.steps
    is_named = not first.deep and "*" not in first.name and not first.name.startswith(f"{{{TOCSIN}")
    if (envelope.name, body.name) != (f"{soap}Envelope", f"{soap}Body") or envelope.deep or body.deep or not is_named:
        return None
    return replace(path, steps=path.steps[2:])
