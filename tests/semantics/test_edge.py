"""When an edge counts: the owner decides, then a quorum."""

import pytest

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.ino import FIRST, LAST, MOST_VOTES, QUORUM, Edge, Verdict, Vote, verdict, voted


def edge(proposed_by: str = "", votes: str = "", support: float | None = None) -> Edge:
    """Votes as `+ann -bob`."""
    cast = tuple(Vote(each[1:], each[0] == "+") for each in votes.split())
    return Edge("A", "T", "B", proposed_by, votes=cast, support=support)


def counts(said: Edge, owner: str | None, quorum: int = QUORUM) -> bool:
    return verdict(said, owner, quorum).counts


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        (edge(), True),
        (edge(votes="-a -b"), True),
        (edge(votes="-a -b -c"), False),
        (edge(votes="-a -b -c +d"), True),
        (edge("ann"), True),
        (edge("ann", "-b -c -d"), False),
    ],
)
def test_what_came_with_the_world_or_from_the_owner_stands_until_a_quorum_disputes_it(said: Edge, stands: bool) -> None:
    assert counts(said, "ann") is stands


@pytest.mark.parametrize(
    ("said", "stands"),
    [
        (edge("eve"), False),
        (edge("eve", "+a"), False),
        (edge("eve", "+a +b"), True),
        (edge("eve", "+a +b -c"), False),
        (edge("eve", "+a +b +c -d"), True),
    ],
)
def test_what_others_propose_waits_for_a_quorum_in_which_they_are_one(said: Edge, stands: bool) -> None:
    assert counts(said, None) is stands
    assert counts(said, "ann") is stands


def test_who_proposes_has_one_vote_like_all() -> None:
    assert not counts(edge("eve", "+eve +a"), None)
    assert counts(edge("eve", "+eve +a +b"), None)
    assert not counts(edge("eve", "-eve +a +b +c"), None)


@pytest.mark.parametrize(
    ("votes", "stands"), [("", False), ("+a +b", False), ("+a +b +c", True), ("+a +b +c -d", False), ("+ann", True)]
)
def test_what_was_learned_needs_a_quorum_of_people(votes: str, stands: bool) -> None:
    assert counts(edge("", votes, support=0.9), "ann") is stands
    assert counts(edge("ann", votes, support=0.9), "ann") is stands


@pytest.mark.parametrize("support", [None, 0.9])
def test_the_owner_decides_against_all(support: float | None) -> None:
    assert counts(edge("eve", "+ann -a -b -c -d", support), "ann")
    assert not counts(edge("eve", "-ann +a +b +c +d", support), "ann")


def test_confidence_alone_makes_it_learned() -> None:
    assert Edge("A", "T", "B", confidence=0.5).learned
    assert not Edge("A", "T", "B", lift=0.5).learned


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (edge(), Verdict(True, "it was given with the world, and no quorum of 3 disputes it", "given")),
        (edge(votes="-a -b -c"), Verdict(False, "a quorum of 3 disputes it", "3 of 3 dispute")),
        (edge("ann"), Verdict(True, "ann, who owns A, proposed it, and no quorum of 3 disputes it", "owner")),
        (edge("eve", "-ann"), Verdict(False, "ann, who owns A, disputed it", "owner disputed")),
        (
            edge("bob", "+bob +cleo"),
            Verdict(
                False, "bob proposed it, and it waits for 1 more to confirm it, or for the owner of A", "bob, 2 of 3"
            ),
        ),
        (
            edge("bob", "+bob +cleo +dan"),
            Verdict(True, "bob proposed it, and a quorum of 3 confirms it", "bob, 3 of 3"),
        ),
        (
            edge("", "-cleo", support=0.9),
            Verdict(
                False, "it was learned, and it waits for 4 more to confirm it, or for the owner of A", "learned, 0 of 3"
            ),
        ),
    ],
)
def test_the_reason_is_that_of_the_verdict(said: Edge, told: Verdict) -> None:
    """Who proposes an edge and then confirms it is counted once."""
    assert verdict(said, "ann") == told


def test_a_quorum_of_one() -> None:
    assert counts(edge("eve"), None, 1)
    assert not counts(edge(votes="-a"), None, 1)
    assert QUORUM == 3


def test_the_last_vote_of_each_counts() -> None:
    said = voted(voted(edge(votes="+a +b"), Vote("a", False)), Vote("c", True))
    assert [(vote.by, vote.agrees) for vote in said.votes] == [("b", True), ("a", False), ("c", True)]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (edge(votes="+a -a"), "voted twice on A -T-> B"),
        (edge(votes="+"), "a vote needs a name"),
        (edge(votes=" ".join(f"+{number}" for number in range(MOST_VOTES + 1))), "10000 votes"),
        (edge(support=float("nan")), "must be numbers"),
    ],
)
def test_votes_that_cannot_be(said: Edge, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        said.check()


@pytest.mark.parametrize("when", [Instant(LAST + 1), Instant(FIRST - 1), Instant(10**22)])
def test_a_time_that_cannot_be_kept_is_refused(when: Instant) -> None:
    for bad in (Edge("A", "T", "B", when=when), Edge("A", "T", "B", votes=(Vote("ann", True, when),))):
        with pytest.raises(Refusal, match="1677 and 2262") as refused:
            bad.check()
        assert refused.value.reason == "bad-world"
    Edge("A", "T", "B", when=LAST, votes=(Vote("ann", True, FIRST),)).check()
