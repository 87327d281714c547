"""The definition of a match (OPS s5.1, Definition 1)."""

from tocsin.markup.graphs.graph_pattern import GraphPattern, PatternArc
from tocsin.matching.graphs.definition import equal, fits
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

Mapping = tuple[int, ...]  # of the pattern's first vertexes: which vertex of the event each stands for


def matches_pattern(pattern: GraphPattern, event: EventGraph, model: ConceptModel, injective: bool = True) -> bool:
    """Not injective is SPARQL's own meaning: two variables may stand for the same, and literals are equal by term."""

    def extends(mapping: Mapping) -> bool:
        if len(mapping) == len(pattern.vertexes):
            return True
        return any(holds((*mapping, at)) and extends((*mapping, at)) for at in range(len(event.vertexes)))

    def holds(mapping: Mapping) -> bool:
        """Of the vertex that was mapped last."""
        last, vertex = len(mapping) - 1, event.vertexes[mapping[-1]]
        return (
            (last > 0 or mapping == (0,))  # home is home
            and not (injective and mapping[-1] in mapping[:-1])  # condition 2
            and fits(pattern.vertexes[last], vertex, model)
            and all(served(arc, mapping, event, model) for arc in pattern.arcs if max(arc.source, arc.target) == last)
            and all(
                equal(event.vertexes[mapping[left]], event.vertexes[mapping[right]], injective)
                for left, right in pattern.equal
                if max(left, right) == last
            )
        )

    return extends(())


def served(arc: PatternArc, mapping: Mapping, event: EventGraph, model: ConceptModel) -> bool:
    """Condition 3; nothing there keeps two arcs of the pattern from being served by one arc of the event."""
    return any(
        (there.source, there.target) == (mapping[arc.source], mapping[arc.target])
        and arc.property in model.properties_above(there.property)
        for there in event.arcs
    )
