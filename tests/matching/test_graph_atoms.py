"""Atoms of graph patterns: what was found, what could not be told, and that nothing is loaded for nobody."""

import subprocess
import sys

import numpy as np
import pytest
from tests.matching.graph_events import CHEAP, GRAPHS, SELLING, known, turtle
from tests.matching.test_explain_graphs import told

from tocsin.markup.graphs.queries import query_of
from tocsin.matching.engine import Engine
from tocsin.matching.evidence import Evidence
from tocsin.matching.graphs import search as graph_searching
from tocsin.matching.graphs.index import GraphIndex, GraphMatches
from tocsin.matching.graphs.search import find
from tocsin.matching.index import combination as combining
from tocsin.matching.index.atom_indexes import GraphAtoms
from tocsin.matching.index.atoms import Term
from tocsin.matching.index.combination import Combination
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.matching.index.postings import HoldingAtoms
from tocsin.model.filters import AnyOf, Filter, Graph, Not, TopicIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph

EVENT = told(turtle("Selling", [("target", "Desktop")], "399.5"))
TOPIC, OTHER = (TopicIs(((QName("", name),),)) for name in "ab")


def subscription(name: str, *filters: Filter) -> Subscription:
    return Subscription(SubscriptionId(name), None, None, None, Form("raw"), filters, Position(Node("n"), 0), None)


def held(graphs: GraphAtoms) -> list[int]:
    holding = HoldingAtoms()
    graphs.match(Evidence(EVENT, known()), holding)
    return sorted(int(atom) for atoms in holding.arrays for atom in atoms)


def test_atoms_come_and_go() -> None:
    graphs = GraphAtoms()
    assert held(graphs) == []
    for atom, asked in enumerate(GRAPHS):
        graphs.add(atom, asked)
    expected = [at for at, asked in enumerate(GRAPHS) if find(query_of(asked), _event(), known().concepts) is not None]
    assert held(graphs) == expected and 0 < len(expected) < len(GRAPHS)
    graphs.remove(0, GRAPHS[0])
    assert held(graphs) == expected[1:]
    for atom, asked in enumerate(GRAPHS[1:], 1):
        graphs.remove(atom, asked)
    assert held(graphs) == [] and not graphs


def _event() -> EventGraph:
    event = Evidence(EVENT, known()).graph
    assert event is not None
    return event


def test_who_asks_for_the_same_shares_an_atom() -> None:
    combination = Combination(known())
    slots = [combination.add(subscription(name, SELLING, TOPIC), [Term((SELLING, TOPIC))]) for name in "ab"]
    assert [asked for _, asked in combination.atoms()] == [SELLING, TOPIC]
    for slot in slots:
        assert combination.graphs
        combination.remove(slot)
    assert not combination.graphs


@pytest.fixture(params=[0, combining.MANY])
def doubting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index gives up on all that it would find; terms are combined by the kernel, and without it."""
    monkeypatch.setattr(combining, "MANY", request.param)
    match = GraphIndex.match

    def doubt(self: GraphIndex, event: EventGraph, model: ConceptModel) -> GraphMatches:
        return GraphMatches(np.zeros(0, np.int32), match(self, event, model).atoms)

    monkeypatch.setattr(GraphIndex, "match", doubt)


SUBSCRIPTIONS = [
    subscription("both", SELLING, CHEAP),
    subscription("either", AnyOf((OTHER, SELLING))),
    subscription("elsewhere", SELLING, OTHER),
    subscription("here", SELLING, TOPIC),
    subscription("not", Not(SELLING), TOPIC),
    subscription("not-dear", SELLING, Not(CHEAP)),
    subscription("sure", AnyOf((TOPIC, SELLING))),
]


def engines() -> list[Engine]:
    plain = Engine(known())
    for each in SUBSCRIPTIONS:
        plain.apply(each)
    return [plain, Engine(known(), base=Compiled(compiled(SUBSCRIPTIONS, known()), known()))]


@pytest.mark.usefixtures("doubting")
@pytest.mark.parametrize("which", [0, 1])
def test_what_the_index_gave_up_is_verified(which: int) -> None:
    found = engines()[which].match(EVENT)
    assert [each.id for each in found.wanted] == ["both", "either", "here", "sure"] and not found.undecided


@pytest.mark.usefixtures("doubting")
@pytest.mark.parametrize("which", [0, 1])
def test_what_nobody_can_tell_is_reported(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only of those for whom it matters."""
    monkeypatch.setattr(graph_searching, "WORK", 0)
    found = engines()[which].match(EVENT)
    assert [each.id for each in found.wanted] == ["sure"]
    assert [each.id for each, _ in found.undecided] == ["both", "either", "here", "not", "not-dear"]
    assert {why for _, why in found.undecided} == {"the graph pattern took too many steps to find in this event"}


def test_without_patterns_no_compiler_is_loaded() -> None:
    code = "import sys, tocsin.matching.engine as e; e.Engine(); sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_text_that_is_no_pattern_is_left_to_verifying() -> None:
    engine = Engine(known())
    engine.apply(subscription("s", Graph("pattern", "(")))
    assert [each.id for each, _ in engine.match(EVENT).undecided] == ["s"]
