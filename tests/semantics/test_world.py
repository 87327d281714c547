"""The world under any sequence of changes, beside an oracle; and what is refused."""

from itertools import chain, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.semantics.oracle import PlainWorld
from tests.semantics.worlds import contents

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import MOST_CATEGORIES, Edge, Service, Vote
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import demo

TOPIC = st.sampled_from(["T0", "T1", "T2"])
CATEGORY = st.sampled_from(["C0", "C1", "C2", "C3"])
SERVICE = st.sampled_from(["S0", "S1", "S2", "S3"])
PERSON = st.sampled_from(["ann", "bob", "eve", ""])
VOTE = st.builds(Vote, PERSON, st.booleans())
EDGE = st.builds(
    Edge,
    *(CATEGORY, TOPIC, CATEGORY, PERSON),
    votes=st.lists(VOTE, max_size=3).map(tuple),
    support=st.none() | st.just(0.5),
)
TOLD = st.dictionaries(TOPIC, SERVICE, max_size=1)
PUT_SERVICE = st.builds(Service, SERVICE, st.lists(CATEGORY, max_size=3, unique=True).map(tuple), tells=TOLD)
CHANGE = st.one_of(
    st.builds(c.PutTopic, TOPIC, st.none() | TOPIC),
    st.builds(c.PutCategory, CATEGORY, st.none() | CATEGORY, st.none() | PERSON),
    st.builds(c.PutService, PUT_SERVICE),
    st.builds(c.PutEdge, EDGE),
    st.builds(c.CastVote, CATEGORY, TOPIC, CATEGORY, VOTE),
    st.builds(c.PutRules, st.booleans(), st.booleans(), st.integers(0, 3)),
    st.builds(c.RemoveTopic, TOPIC),
    st.builds(c.RemoveCategory, CATEGORY),
    st.builds(c.RemoveService, SERVICE),
    st.builds(c.RemoveEdge, CATEGORY, TOPIC, CATEGORY),
)
# A sequence that starts from nothing is mostly refused; one that starts here is mostly not.
START: tuple[c.Change, ...] = (
    *(c.PutTopic(name, parent) for name, parent in (("T0", None), ("T1", "T0"), ("T2", "T1"))),
    *(c.PutCategory(name, parent) for name, parent in (("C0", None), ("C1", "C0"), ("C2", "C0"), ("C3", None))),
    *(c.PutService(Service(f"S{number}", (f"C{number}",))) for number in range(4)),
    *(c.PutEdge(Edge(*key)) for key in (("C0", "T1", "C1"), ("C1", "T0", "C3"), ("C3", "T2", "C0"))),
)


def told(world: World) -> dict[tuple[str, str], tuple[str, ...]]:
    return {(name, topic): world.neighbours(name, topic) for name in world.services for topic in world.topics}


def told_plainly(plain: PlainWorld) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (name, topic): tuple(sorted(plain.neighbours(name, topic))) for name in plain.services for topic in plain.topics
    }


def told_along_edges(world: World) -> dict[tuple[str, str], tuple[str, ...]]:
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, topic in product(world.services, world.topics):
        ways = world.ways(name, topic)
        assert all(world.counts(edge) for edge, _ in ways)
        found[name, topic] = tuple(sorted(set().union(*(members for _, members in ways)) - {name}))
    return found


@settings(max_examples=examples(250), deadline=None)
@given(st.booleans(), st.lists(CHANGE, max_size=25))
def test_any_sequence_of_changes(from_start: bool, changes: list[c.Change]) -> None:
    """Refused is what the oracle refuses, and changes nothing; neighbours are those of Table 1 at every moment."""
    world, plain = World(), PlainWorld()
    for change in chain(START if from_start else (), changes):
        before, version = contents(World.of(world.changes())), world.version
        try:
            world.apply(change)
        except Refusal:
            assert not plain.apply(change)
            assert (contents(world), world.version) == (before, version)
        else:
            assert plain.apply(change)
            assert world.version == version + 1
        assert told(world) == told_plainly(plain) == told_along_edges(world)
    again = World.of(world.changes())
    assert contents(again) == contents(world)
    assert told(again) == told(world)


def test_inheritance_is_by_name_alone() -> None:
    """S1 is under C1, which is under C0; the edge is C0 -T1-> C1, and T2 is under T1."""
    world = World.of(START)
    assert (world.neighbours("S0", "T1"), world.neighbours("S2", "T1")) == (("S1",), ())
    world.apply(c.PutRules(inherit_categories=True))
    assert (world.neighbours("S0", "T1"), world.neighbours("S2", "T1")) == (("S1",), ("S1",))
    assert world.neighbours("S0", "T2") == ()
    assert World.of([*START, c.PutRules(inherit_topics=True)]).neighbours("S0", "T2") == ("S1",)


@pytest.mark.parametrize(
    ("change", "reason", "text"),
    [
        (c.PutTopic("T0", "T2"), "bad-world", "a cycle"),
        (c.PutCategory("C0", "C1", "ann"), "bad-world", "a cycle"),
        (c.PutCategory("", None), "bad-world", "needs a name"),
        (c.PutCategory("C9", "C8"), "unknown-name", "no category 'C8'"),
        (c.PutService(Service("S9", ())), "bad-world", "has no category; name at least one"),
        (c.PutService(Service("S0", ("C1", "C9"))), "unknown-name", "no category 'C9'"),
        (c.PutService(Service("S/9", ("C0",))), "bad-world", "slash"),
        (c.PutService(Service("S9", ("C0",), {"price": float("inf")})), "bad-world", "must be a number"),
        (c.PutService(Service("S9", ("C0",) * (MOST_CATEGORIES + 1))), "bad-world", "more than 64 categories"),
        (c.PutService(Service("S9", ("C0",), tells={"T9": "S0"})), "unknown-name", "no topic 'T9'"),
        (c.PutService(Service("S0", ("C1",), tells={"T0": "S0"})), "bad-world", "no other service"),
        (c.PutEdge(Edge("C0", "T0", "C9")), "unknown-name", "no category 'C9'"),
        (c.PutEdge(Edge("C9", "T0", "C0")), "unknown-name", "no category 'C9'"),
        (c.PutEdge(Edge("C0", "T9", "C0")), "unknown-name", "no topic 'T9'"),
        (c.PutEdge(Edge("C0", "T1", "C1", votes=(Vote("a", False),) * 3)), "bad-world", "voted twice"),
        (c.CastVote("C0", "T0", "C0", Vote("ann", True)), "unknown-name", "no edge C0 -T0-> C0"),
        (c.CastVote("C0", "T1", "C1", Vote("", True)), "bad-world", "a vote needs a name"),
        (c.PutRules(quorum=0), "bad-world", "a quorum of 0"),
        (c.RemoveTopic("T0"), "in-use", "T0"),
        (c.RemoveTopic("T2"), "in-use", "used by C3 -T2-> C0"),
        (c.RemoveTopic("T9"), "unknown-name", "no topic 'T9'"),
        (c.RemoveCategory("C2"), "in-use", "used by S2"),
        (c.RemoveCategory("C9"), "unknown-name", "no category 'C9'"),
        (c.RemoveService("S9"), "unknown-name", "no service 'S9'; there are: S0"),
        (c.RemoveEdge("C0", "T0", "C0"), "unknown-name", "no edge"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(change: c.Change, reason: str, text: str) -> None:
    world = World.of(START)
    with pytest.raises(Refusal, match=text) as refused:
        world.apply(change)
    assert refused.value.reason == reason
    untouched = World.of(START)
    assert (contents(world), told(world), world.version) == (contents(untouched), told(untouched), len(START))


def test_a_topic_of_a_services_own_rule_stays() -> None:
    world = World.of([*START, c.PutTopic("T3"), c.PutService(Service("S0", ("C0",), tells={"T3": "S1"}))])
    with pytest.raises(Refusal, match="topic 'T3' is in use: the rule of 'S0' for the topic 'T3' tells 'S1'"):
        world.apply(c.RemoveTopic("T3"))
    with pytest.raises(Refusal, match="with `tocsin notifiers tell S0 T3 --nobody` or PATCH"):
        world.apply(c.RemoveService("S1"))


def test_services_and_edges_come_and_go_between_two_questions() -> None:
    world = demo()
    assert len(world.neighbours("IDER", "Disaster Info")) == 5
    world.apply(c.RemoveService("CARE"))
    assert len(world.neighbours("IDER", "Disaster Info")) == 4
    world.apply(c.RemoveEdge("ResearchOrgs", "Disaster Info", "ResearchOrgs"))
    assert world.neighbours("IDER", "Disaster Info") == ("USNationalGov", "UnitedNationsDRB")
    for by in ("a", "b", "c"):
        world.apply(c.CastVote("ResearchOrgs", "Disaster Info", "NationalOrgs", Vote(by, False)))
    assert world.neighbours("IDER", "Disaster Info") == ("UnitedNationsDRB",)
    world.apply(c.PutCategory("ResearchOrgs", owner="dean"))
    world.apply(c.CastVote("ResearchOrgs", "Disaster Info", "NationalOrgs", Vote("dean", True)))
    assert world.neighbours("IDER", "Disaster Info") == ("USNationalGov", "UnitedNationsDRB")
