"""Statement patterns (OPS s4) and those derived from them (s5.4)."""

from collections import defaultdict
from collections.abc import Mapping

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import GraphPattern, PatternArc, PatternVertex
from tocsin.matching.graphs.definition import fits
from tocsin.matching.ops.ems import ANY, Ems
from tocsin.matching.ops.traversal import TypedStatement
from tocsin.model.ontology import MetaStatement
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph


class StatementPattern(Struct, frozen=True, cache_hash=True, gc=False):
    """With the values that are known in place of variables.

    `object` is a vertex of the event, or None while it is a variable. `further` is what its vertex asks for beyond the
    meta-statement: a constant, more classes, tests (the paper's `filter_func`). It has no name, for variables that
    differ in name alone match the same: such patterns have "the same contents".
    """

    subject: int
    object: int | None
    item: int
    further: PatternVertex

    def matches(self, statement: TypedStatement, event: EventGraph, model: ConceptModel) -> bool:
        """Whoever offers has seen to the meta-statement, by the ancestor list."""
        return (
            self.subject == statement.subject
            and self.object in (None, statement.object)
            and fits(self.further, event.vertexes[statement.object], model)
        )


class SubscribedStatement(Struct, frozen=True):
    """An arc of a subscription graph with its ends, from which statement patterns are derived."""

    arc: PatternArc
    item: int
    further: PatternVertex

    def derived(self, pairs: Mapping[int, int]) -> StatementPattern:
        return StatementPattern(pairs[self.arc.source], pairs.get(self.arc.target), self.item, self.further)


class Subscription(Struct, frozen=True):
    """`leaving` has the statements of the subscription by the position of their subject."""

    pattern: GraphPattern
    injective: bool
    leaving: dict[int, list[SubscribedStatement]]

    @property
    def standing(self) -> int:
        """Nodes of its matching tree before any event: the root, and the statement patterns about home."""
        return 1 + len(self.leaving.get(0, ()))


def decomposed(pattern: GraphPattern, injective: bool, ems: Ems) -> Subscription:
    """Of several classes that a vertex asks for, the first goes into meta-statements."""
    leaving: defaultdict[int, list[SubscribedStatement]] = defaultdict(list)
    for arc in pattern.arcs:
        subject, object_ = pattern.vertexes[arc.source], pattern.vertexes[arc.target]
        item = ems.number(MetaStatement(_first(subject), arc.property, _first(object_)))
        further = PatternVertex("", object_.classes[1:], object_.constant, object_.tests)
        leaving[arc.source].append(SubscribedStatement(arc, item, further))
    return Subscription(pattern, injective, dict(leaving))


def _first(vertex: PatternVertex) -> str:
    return vertex.classes[0] if vertex.classes else ANY
