"""From one world to another: whatever the two are, the changes between them lead there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples

from tocsin.documents.world_changes import merged, replaced
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.world import World

NAMES = [f"n{number}" for number in range(6)]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Names are shared, so that two worlds differ in parents, owners, members and votes."""
    world = World()
    changes: list[Change] = [PutRules(draw(st.booleans()), draw(st.booleans()), draw(st.integers(1, 3)))]
    topics, categories = draw(st.permutations(NAMES)), draw(st.permutations(NAMES))
    topics, categories = topics[: draw(st.integers(1, 6))], categories[: draw(st.integers(1, 6))]
    parents = st.integers(-1, 5)
    for names, put in ((topics, PutTopic), (categories, PutCategory)):
        for at, name in enumerate(names):
            above = draw(parents)
            changes.append(put(name, names[above] if 0 <= above < at else None))
    changes += [PutCategory(name, _parent(changes, name), "ann") for name in categories if draw(st.booleans())]
    services = draw(st.lists(st.sampled_from(NAMES), unique=True))
    changes += [PutService(Service(name, (draw(st.sampled_from(categories)),))) for name in services]
    for name in services:
        told = draw(st.sampled_from(services))
        if told != name:
            changes.append(PutService(Service(name, (categories[0],), tells={topics[0]: told})))
    for _ in range(draw(st.integers(0, 5))):
        source, target = draw(st.sampled_from(categories)), draw(st.sampled_from(categories))
        votes = (Vote("bob", draw(st.booleans())),) if draw(st.booleans()) else ()
        changes.append(
            PutEdge(Edge(source, draw(st.sampled_from(topics)), target, draw(st.sampled_from(("x", "y"))), votes=votes))
        )
    for change in changes:
        world.apply(change)
    return world


def _parent(changes: list[Change], name: str) -> str | None:
    return next(each.parent for each in changes if isinstance(each, PutCategory) and each.name == name)


def shape(world: World) -> object:
    topics, categories = dict(world.topics.items()), dict(world.categories.items())
    return world.rules, topics, categories, world.owners, world.services, world.edges


@given(worlds(), worlds())
@settings(max_examples=examples(200), deadline=None)
def test_replaced_leads_to_the_other(before: World, after: World) -> None:
    for change in replaced(before, after.changes()):
        before.apply(change)
    assert shape(before) == shape(after)


@given(worlds(), worlds())
@settings(max_examples=examples(200), deadline=None)
def test_merged_has_both_or_is_refused_whole(before: World, other: World) -> None:
    had = shape(before)
    try:
        changes = merged(before, other.changes())
    except Refusal as refusal:
        assert refusal.reason == "bad-world" and "cycle" in refusal.text
        assert shape(before) == had
        return
    kept = {*before.topics}, {*before.categories}, {*before.services}, {*before.edges}
    for change in changes:
        before.apply(change)
    assert {*before.topics} == kept[0] | {*other.topics}
    assert {*before.categories} == kept[1] | {*other.categories}
    assert {*before.services} == kept[2] | {*other.services}
    assert {*before.edges} == kept[3] | {*other.edges}
    assert merged(before, other.changes()) == []


@given(worlds())
@settings(max_examples=examples(50), deadline=None)
def test_the_same_again_is_no_change(world: World) -> None:
    assert merged(world, world.changes()) == replaced(world, world.changes()) == []


def test_two_that_change_places() -> None:
    before = World.of((PutTopic("a"), PutTopic("b", "a"), PutTopic("c", "b")))
    after = World.of((PutTopic("c"), PutTopic("b", "c"), PutTopic("a", "b")))
    for change in replaced(before, after.changes()):
        before.apply(change)
    assert dict(before.topics.items()) == {"a": "b", "b": "c", "c": None}


def test_what_runs_is_not_taken_away() -> None:
    world = World.of((PutCategory("c"), PutService(Service("s", ("c",), node="http://n.example"))))
    with pytest.raises(Refusal, match=r"s.*runs at http://n\.example"):
        replaced(world, ())


def test_where_a_notifier_runs_is_said_by_no_document() -> None:
    """A world that was saved names the address of then."""
    saved = Service(
        "s", ("c",), {"price": 1.0}, notifier="http://old/notifiers/s", node="http://old", address="http://s"
    )
    runs = replace(saved, notifier="http://new/notifiers/s", node="http://new", qualities={})
    for before, after in ((runs, replace(runs, qualities={"price": 1.0})), (None, replace(saved, node=""))):
        for put in (merged, replaced):
            world = World.of((PutCategory("c"), *(PutService(each) for each in (before,) if each)))
            for change in put(world, (PutCategory("c"), PutService(saved))):
                world.apply(change)
            assert world.services == {"s": after}
