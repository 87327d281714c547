"""Covering of filters: whether one lets through all that another does. Sound, not complete: False may mean unknown."""

from math import isnan

from tocsin.markup.conditions import Compare, Condition, Every, Exists, ExpressionError, Some
from tocsin.markup.content import condition_of
from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternArc
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.filters import continues
from tocsin.matching.index.boxes import boxes_cover
from tocsin.matching.index.topics import topics_cover
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    Graph,
    InBox,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.space import Interval
from tocsin.semantics.concepts.concept_model import ConceptModel

BUDGET = 10_000  # cases; filters that need more are taken as not covered
_UNKNOWN = Catalogue()
_Filters = tuple[Filter, ...]


def covers(wide: Filter, narrow: Filter, catalogue: Catalogue | None = None) -> bool:
    """True only if all that `narrow` lets through, `wide` lets through too, as things are declared now.

    Complete for topics, and for boxes whose space is known.
    """
    return covers_all((wide,), (narrow,), catalogue)


def covers_all(wide: _Filters, narrow: _Filters, catalogue: Catalogue | None = None, budget: int = BUDGET) -> bool:
    """The same of conjunctions, such as the filters of a subscription; without any filter one lets all through."""
    return _FilterCover(catalogue or _UNKNOWN, budget).all_of(wide, narrow)


class _FilterCover:
    def __init__(self, catalogue: Catalogue, budget: int) -> None:
        self._catalogue = catalogue
        self._budget = budget

    def all_of(self, wide: _Filters, narrow: _Filters) -> bool:
        flat = tuple(_flat(narrow))
        return all(self._one(each, flat) for each in _flat(wide))

    def _one(self, wide: Filter, narrow: _Filters) -> bool:
        """Case by case when one of the conjunction is a choice."""
        self._budget -= 1 + len(narrow)
        if self._budget < 0:
            return False
        if wide in narrow or self._directly(wide, narrow):
            return True
        for at, each in enumerate(narrow):
            if isinstance(each, AnyOf):
                rest = (*narrow[:at], *narrow[at + 1 :])
                return all(self.all_of((wide,), (*rest, case)) for case in each.filters)
        return False

    def _directly(self, wide: Filter, narrow: _Filters) -> bool:
        match wide:
            case AnyOf(filters):
                return self._choice(filters, narrow)
            case InBox():
                return self._boxes((wide,), narrow)
            case Not(refused):
                return any(isinstance(each, Not) and self.all_of((each.filter,), (refused,)) for each in narrow)
        return any(self._single(wide, each) for each in narrow)

    def _choice(self, wide: _Filters, narrow: _Filters) -> bool:
        """One of them alone, or all its boxes or all its topics together."""
        if any(self.all_of((each,), narrow) for each in wide):
            return True
        topics = tuple(path for each in wide if isinstance(each, TopicIs) for path in each.alternatives)
        together = TopicIs(topics)
        if any(topics_cover(together, each) for each in narrow if isinstance(each, TopicIs)):
            return True
        return self._boxes(tuple(each for each in wide if isinstance(each, InBox)), narrow)

    def _boxes(self, wide: tuple[InBox, ...], narrow: _Filters) -> bool:
        asked = [each for each in narrow if isinstance(each, InBox)]
        return any(self._in_space(name, wide, asked) for name in {each.space: None for each in asked})

    def _in_space(self, name: str, wide: tuple[InBox, ...], narrow: list[InBox]) -> bool:
        """What is about several points may meet each box of a conjunction in another: one of them alone must do."""
        wides, space = [each for each in wide if each.space == name], self._catalogue.spaces.get(name)
        return bool(wides) and any(boxes_cover(wides, each, space) for each in narrow if each.space == name)

    def _single(self, wide: Filter, narrow: Filter) -> bool:
        match wide, narrow:
            case TopicIs(), TopicIs():
                return topics_cover(wide, narrow)
            case TypeIs(names), TypeIs(asked):
                return all(not self._catalogue.types_of(each).isdisjoint(names) for each in asked)
            case ProducerIs(), ProducerIs():
                return self._producers(wide, narrow)
            case ActionIs(actions), ActionIs(asked):
                return all(any(continues(each, action) for action in actions) for each in asked)
            case AttributeIs(), AttributeIs():
                return _attribute_covers(wide, narrow)
            case Content(), Content():
                return self._contents(wide, narrow)
            case Graph(), Graph():
                return self._graphs(wide, narrow)
        return False

    def _producers(self, wide: ProducerIs, narrow: ProducerIs) -> bool:
        """An address is in a category only as long as it is declared so; a category below another always is."""
        within = self._catalogue.category_with_above
        return all(
            each in wide.addresses or not self._catalogue.categories_of(each).isdisjoint(wide.categories)
            for each in narrow.addresses
        ) and all(not within(each).isdisjoint(wide.categories) for each in narrow.categories)

    def _contents(self, wide: Content, narrow: Content) -> bool:
        if (wide.language, wide.over) != (narrow.language, narrow.over):
            return False
        try:
            one, other = condition_of(wide), condition_of(narrow)
        except ExpressionError:
            return False
        return one is not None and other is not None and self._conditions(one, other)

    def _graphs(self, wide: Graph, narrow: Graph) -> bool:
        try:
            return graphs_cover(query_of(wide), query_of(narrow), self._catalogue.concepts)
        except ExpressionError:
            return False

    def _conditions(self, wide: Condition, narrow: Condition) -> bool:
        self._budget -= 1
        if wide == narrow or self._budget < 0:
            return self._budget >= 0
        match wide, narrow:
            case _, Some(cases):
                return all(self._conditions(wide, each) for each in cases)
            case Every(parts), _:
                return all(self._conditions(each, narrow) for each in parts)
            case Exists(path), Compare():
                return path == narrow.path
            case Compare(), Compare():
                return _compare_covers(wide, narrow)
        if isinstance(wide, Some) and any(self._conditions(each, narrow) for each in wide.conditions):
            return True
        return isinstance(narrow, Every) and any(self._conditions(wide, each) for each in narrow.conditions)


def _flat(filters: _Filters) -> list[Filter]:
    return [part for each in filters for part in (_flat(each.filters) if isinstance(each, AllOf) else (each,))]


def _attribute_covers(wide: AttributeIs, narrow: AttributeIs) -> bool:
    match wide.how, narrow.how:
        case _ if wide.name != narrow.name:
            return False
        case "exact", "exact":
            return wide.value == narrow.value
        case "prefix", "exact" | "prefix":
            return narrow.value.startswith(wide.value)
        case "suffix", "exact" | "suffix":
            return narrow.value.endswith(wide.value)
    return False


def _compare_covers(wide: Compare, narrow: Compare) -> bool:
    """Whatever value compares so with the one constant compares so with the other: of numbers only."""
    one, other = _numbers(wide), _numbers(narrow)
    if wide.path != narrow.path or other is None:
        return False
    if one is None:
        return wide.how == "!=" and isinstance(wide.value, float) and wide.value not in other
    above = one.low < other.low or (one.low == other.low and one.low_open <= other.low_open)
    return above and (other.high < one.high or (other.high == one.high and one.high_open <= other.high_open))


def _numbers(compare: Compare) -> Interval | None:
    """Those that compare so, if they are together."""
    number = compare.value
    if not isinstance(number, float) or isnan(number):
        return None
    match compare.how:
        case "=":
            return Interval(number, number)
        case "<" | "<=":
            return Interval(high=number, high_open=compare.how == "<")
        case ">" | ">=":
            return Interval(low=number, low_open=compare.how == ">")
    return None


GRAPH_BUDGET = 2_000  # pairs of arcs; what needs more is taken as not covered
_Bound = dict[int, int]


def graphs_cover(wide: GraphQuery, narrow: GraphQuery, model: ConceptModel) -> bool:
    """Sound: an event's vertexes for the narrower pattern are, one way back, those for the wider one too."""
    if wide.alternatives == narrow.alternatives and wide.injective == narrow.injective:
        return True
    if wide.injective != narrow.injective:
        return False
    return all(
        any(_PatternCover(one, other, model).is_found() for one in wide.alternatives) for other in narrow.alternatives
    )


class _PatternCover:
    """A wider pattern is looked for in a narrower one, injectively; tests are the same, or not shown to hold."""

    def __init__(self, wide: GraphPattern, narrow: GraphPattern, model: ConceptModel) -> None:
        self._wide, self._narrow, self._model = wide, narrow, model
        self._budget = GRAPH_BUDGET

    def is_found(self) -> bool:
        return self._takes(0, 0) and self._extends(self._wide.arcs, {0: 0})

    def _extends(self, arcs: tuple[PatternArc, ...], bound: _Bound) -> bool:
        if not arcs:
            return all(self._are_equal(bound[one], bound[other]) for one, other in self._wide.equal)
        at = next(at for at, each in enumerate(arcs) if each.source in bound)
        rest = arcs[:at] + arcs[at + 1 :]
        return any(self._extends(rest, {**bound, arcs[at].target: end}) for end in self._ends(arcs[at], bound))

    def _ends(self, arc: PatternArc, bound: _Bound) -> list[int]:
        """Where the arc may lead."""
        self._budget -= len(self._narrow.arcs)
        if self._budget < 0:
            return []
        known = bound.get(arc.target)
        ends = dict.fromkeys(each.target for each in self._narrow.arcs if self._serves(each, bound[arc.source], arc))
        if known is not None:
            return [known] if known in ends else []
        return [each for each in ends if each not in bound.values() and self._takes(arc.target, each)]

    def _serves(self, arc: PatternArc, source: int, asked: PatternArc) -> bool:
        return arc.source == source and asked.property in self._model.properties_above(arc.property)

    def _takes(self, wide: int, narrow: int) -> bool:
        one, other = self._wide.vertexes[wide], self._narrow.vertexes[narrow]
        if one.constant not in (None, other.constant) or not set(one.tests) <= set(other.tests):
            return False
        return set(one.classes) <= frozenset().union(*map(self._model.classes_above, other.classes))

    def _are_equal(self, one: int, other: int) -> bool:
        return one == other or not {(one, other), (other, one)}.isdisjoint(self._narrow.equal)
