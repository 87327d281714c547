"""Random concept models, event graphs, and patterns that often match them.

They are made by a `Random` that Hypothesis seeds, which is ten times as fast as drawing each choice from it. With
SHRINK=1 in the environment it makes each choice itself, and then shrinks what fails.
"""

import os
from random import Random

from hypothesis import strategies as st
from msgspec.structs import replace
from tests.matching.graphs.literals import LITERALS, random_tests

from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.model.declarations import Ontology, Parents
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex

LITERAL = "http://www.w3.org/2000/01/rdf-schema#Literal"
CLASSES = tuple(f"urn:{name}" for name in "ABCDE")
PROPERTIES = tuple(f"urn:p{number}" for number in range(4))

Case = tuple[ConceptModel, EventGraph, list[GraphQuery]]


def randoms() -> st.SearchStrategy[Random]:
    return st.randoms(use_true_random=not os.environ.get("SHRINK"))


def cases() -> st.SearchStrategy[Case]:
    """A model, an event, and queries; some of these are made from another event than the one they meet."""
    return randoms().map(random_case)


def models() -> st.SearchStrategy[ConceptModel]:
    return randoms().map(random_model)


def event_graphs() -> st.SearchStrategy[EventGraph]:
    return randoms().map(random_event)


def patterns(event: EventGraph, model: ConceptModel, most: int = 6) -> st.SearchStrategy[GraphPattern]:
    return randoms().map(lambda random: random_pattern(random, event, model, most))


def queries(event: EventGraph, model: ConceptModel) -> st.SearchStrategy[GraphQuery]:
    return randoms().map(lambda random: random_query(random, event, model))


def random_case(random: Random) -> Case:
    model = random_model(random)
    event, other = random_event(random), random_event(random)
    sources = [event] * random.randint(1, 5) + [other] * random.randint(0, 2)
    return model, event, [random_query(random, each, model) for each in sources]


def random_model(random: Random) -> ConceptModel:
    """No meta-statements: they say what is accepted, not what matches."""
    return ConceptModel((Ontology("random", _hierarchy(random, CLASSES), _hierarchy(random, PROPERTIES)),))


def _hierarchy(random: Random, names: tuple[str, ...]) -> Parents:
    """Each may have several parents, of those that stand before it: so there is no cycle."""
    return tuple((name, tuple(_some(random, names[:at], 2))) for at, name in enumerate(names))


def _some(random: Random, of: tuple[str, ...] | list[str], most: int, least: int = 0) -> list[str]:
    return random.sample(of, random.randint(least, min(most, len(of))))


def random_event(random: Random, things: int = 5, literals: int = 3, more_arcs: int = 5) -> EventGraph:
    """All is reachable by a tree; further arcs make cycles, loops and parallels."""
    count = random.randint(1, things)
    vertexes = [_thing(random, at) for at in range(count)]
    ends = [(random.randrange(at), at) for at in range(1, count)]
    ends += [(random.randrange(count), random.randrange(count)) for _ in range(random.randint(0, more_arcs))]
    for _ in range(random.randint(0, literals)):
        ends.append((random.randrange(count), len(vertexes)))
        vertexes.append(random.choice(LITERALS))
    arcs = dict.fromkeys(Arc(source, random.choice(PROPERTIES), target) for source, target in ends)
    return EventGraph(tuple(vertexes), tuple(random.sample(list(arcs), len(arcs))))


def _thing(random: Random, at: int) -> Vertex:
    term = random.choice((f"_:b{at}", f"<urn:i{at}>")) if at else HOME
    return Vertex(term, tuple(_some(random, CLASSES, 2, least=1)))


def random_pattern(random: Random, event: EventGraph, model: ConceptModel, most: int = 6) -> GraphPattern:
    """A connected part of the event said more generally; in half of them something is then changed."""
    chosen = _part(random, event, random.randint(1, most))
    vertexes = [_general(random, event.vertexes[at], position, model) for position, at in enumerate(chosen)]
    arcs = [
        PatternArc(
            chosen.index(arc.source), _above(random, model.properties_above(arc.property)), chosen.index(arc.target)
        )
        for arc in event.arcs
        if arc.source in chosen and arc.target in chosen
    ]
    pattern = GraphPattern(tuple(vertexes), _thinned(random, arcs), _equals(random, event, chosen))
    return _changed(random, pattern) if random.random() < 0.5 else pattern


def _part(random: Random, event: EventGraph, size: int) -> list[int]:
    """Vertexes of the event, home first, each reached from one before it."""
    chosen = [0]
    while len(chosen) < size:
        border = [arc.target for arc in event.arcs if arc.source in chosen and arc.target not in chosen]
        if not border:
            break
        chosen.append(random.choice(border))
    return chosen


def _general(random: Random, vertex: Vertex, position: int, model: ConceptModel) -> PatternVertex:
    above = sorted({each for stated in vertex.classes for each in model.classes_above(stated)})
    name, classes = (f"?{position}" if position else HOME), tuple(_some(random, above, 2))
    if position and not vertex.term.startswith("_:") and random.random() < 0.2:
        return PatternVertex(vertex.term, classes, vertex.term)
    tested = vertex.lexical is not None and random.random() < 0.5
    return PatternVertex(name, classes, tests=random_tests(random) if tested else ())


def _above(random: Random, names: frozenset[str]) -> str:
    return random.choice(sorted(names))


def _thinned(random: Random, arcs: list[PatternArc]) -> tuple[PatternArc, ...]:
    """Some are left out, but never the last that leads to a vertex from an earlier one."""
    kept = list(dict.fromkeys(arcs))
    for each in tuple(kept):
        others = [arc for arc in kept if arc != each]
        needed = each.source < each.target and not any(arc.source < arc.target == each.target for arc in others)
        if not needed and random.random() < 0.3:
            kept = others
    return tuple(random.sample(kept, len(kept)))


def _equals(random: Random, event: EventGraph, chosen: list[int]) -> tuple[tuple[int, int], ...]:
    literals = [position for position, at in enumerate(chosen) if event.vertexes[at].lexical is not None]
    if len(literals) < 2 or random.random() < 0.5:
        return ()
    left, right = sorted(random.sample(literals, 2))
    return ((left, right),)


def _changed(random: Random, pattern: GraphPattern) -> GraphPattern:
    """One vertex or arc asks for something else, or there is one more of them."""
    vertexes, arcs = pattern.vertexes, pattern.arcs
    at, other, name = random.randrange(len(vertexes)), random.randrange(len(vertexes)), random.choice(PROPERTIES)
    match random.choice(("class", "property", "arc", "vertex")):
        case "class":
            changed = PatternVertex(vertexes[at].name, (random.choice((*CLASSES, LITERAL)),))
            return replace(pattern, vertexes=(*vertexes[:at], changed, *vertexes[at + 1 :]))
        case "property" if arcs:
            which = random.randrange(len(arcs))
            arcs = (*arcs[:which], PatternArc(arcs[which].source, name, arcs[which].target), *arcs[which + 1 :])
        case "arc":
            arcs = (*arcs, PatternArc(at, name, other))
        case _:
            arcs = (*arcs, PatternArc(at, name, len(vertexes)))
            vertexes = (*vertexes, PatternVertex(f"?{len(vertexes)}"))
    return replace(pattern, vertexes=vertexes, arcs=tuple(dict.fromkeys(arcs)))


def random_query(random: Random, event: EventGraph, model: ConceptModel) -> GraphQuery:
    alternatives = tuple(random_pattern(random, event, model) for _ in range(random.choice((1, 1, 1, 2))))
    names = (vertex.name for pattern in alternatives for vertex in pattern.vertexes)
    variables = tuple(dict.fromkeys(name for name in names if name.startswith("?")))
    return GraphQuery(alternatives, variables, injective=random.random() < 0.7)
