"""One node and its roster, with the others played by hand."""

from typing import Any

import pytest

from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Answer, Ask, Effect, Forget, Remember, Report, SetTimer, Started, Unanswered, Woken
from tocsin.routing.ring.roster import Change, Member, Roster
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_machine import RosterKeeper
from tocsin.routing.ring.roster_messages import (
    Accept,
    Accepted,
    Ballot,
    Beat,
    Beaten,
    Behind,
    Chosen,
    Decided,
    Depart,
    Departed,
    Enter,
    Entering,
    Force,
    Forced,
    Found,
    Heard,
    Learn,
    Leaving,
    Newest,
    Pending,
    Prepare,
    Promised,
    PutOut,
    Refused,
    Stale,
    Suspect,
)

START = 1_000_000
SETTINGS = Settings()


def at(seconds: float) -> Instant:
    return Instant(round((START + seconds) * SECOND))


def member(name: str, place: int, incarnation: int = 1) -> Member:
    return Member(name, place, f"tcp://{name}", incarnation=incarnation)


A, B, C, D = (member(name, place) for place, name in enumerate("abcd", 1))
THREE = Roster(5, (A, B, C), "ring")


class Node:
    """A machine, the rows it remembers, and what it did last."""

    def __init__(self, me: Member, rows: dict[str, Any] | None = None) -> None:
        self.me, self.rows, self.effects = me, dict(rows or {}), list[Effect]()
        self.keeper = RosterKeeper(me, self.rows, SETTINGS)

    def hear(self, message: Any, seconds: float = 0) -> "Node":
        self.effects = self.keeper.step(message, at(seconds))
        for each in self.effects:
            match each:
                case Remember(key, row):
                    self.rows[key] = row
                case Forget(str(key)):
                    self.rows.pop(key, None)
        return self

    def crash(self, me: Member | None = None) -> None:
        self.keeper = RosterKeeper(me or self.me, self.rows, SETTINGS)

    @property
    def answer(self) -> Any:
        (found,) = (each.message for each in self.effects if isinstance(each, Answer))
        return found

    @property
    def asked(self) -> list[tuple[str, Any]]:
        return [(each.of.removeprefix("tcp://"), each.question) for each in self.effects if isinstance(each, Ask)]

    @property
    def reported(self) -> list[Any]:
        return [each.what for each in self.effects if isinstance(each, Report)]

    def granted(self, *others: Member, seconds: float = 0) -> "Node":
        """By these, to a beat of that time."""
        for each in others:
            self.hear(Beaten(each.life, self.keeper.stamp, True, at(seconds)), seconds)
        return self


def one_of_three(seconds: float = 0) -> Node:
    return Node(A, {"roster": THREE}).hear(Started(), seconds)


def test_a_ring_is_founded_by_one_that_decides_alone() -> None:
    node = Node(member("a", 1, 0)).hear(Started())
    assert node.keeper.standing(at(0)) == "waiting"
    (chosen,) = node.hear(Found()).reported
    assert chosen.roster == node.keeper.roster
    assert [each.name for each in chosen.roster.members] == ["a"]
    assert node.keeper.standing(at(10_000)) == "member"
    assert node.hear(Found(), 1).effects == []
    assert isinstance(node.hear(Entering(B), 2).answer, Pending)
    (chosen,) = node.hear(Woken(), 2.1).reported
    assert chosen.roster.members[1] == B
    assert node.asked[-1] == ("b", Learn(chosen.roster))


def test_who_enters_asks_again_and_elsewhere_until_it_is_in() -> None:
    node = Node(member("d", 4, 0)).hear(Enter("tcp://a"))
    ((to, question),) = node.asked
    assert (to, question) == ("a", Entering(node.keeper.me))
    node.hear(Pending(("tcp://a", "tcp://b", "tcp://d")), 0.1)
    assert node.hear(Unanswered(question), 0.5).asked == []
    assert [to for to, _ in node.hear(Woken(), 1).asked] == ["b"]
    assert [to for to, _ in node.hear(Woken(), 2).asked] == ["a"]
    assert node.keeper.standing(at(2)) == "waiting"
    roster = THREE.changed(Change((node.keeper.me,)))
    assert node.hear(Learn(roster), 3).reported == [Chosen(roster)]
    assert node.keeper.standing(at(3)) == "alone"
    assert [type(each) for _, each in node.hear(Woken(), 3).asked] == [Beat] * 3
    node.granted(A, B, seconds=3)
    assert node.keeper.standing(at(8)) == "member"
    assert node.keeper.standing(at(8.1)) == "alone"


def test_who_enters_goes_on_after_a_crash_as_the_same_life() -> None:
    node = Node(member("d", 4, 0)).hear(Enter("tcp://a"))
    life = node.keeper.me.life
    node.crash()
    assert node.hear(Woken(), 5).asked == [("a", Entering(node.keeper.me))]
    assert node.keeper.me.life == life


def test_who_lost_its_rows_is_another_life() -> None:
    lives = [Node(member("d", 4, 0)).hear(Enter("tcp://a"), seconds).keeper.me.life for seconds in (0, 1)]
    assert lives[0] < lives[1]


def test_a_node_does_not_enter_by_itself() -> None:
    with pytest.raises(Refusal, match="own address"):
        Node(D).hear(Enter("tcp://d"))


def test_a_place_on_the_circle_is_had_once() -> None:
    node = one_of_three()
    assert node.hear(Entering(member("x", 2))).answer == Refused(
        "x has the identifier 2, which is that of b: start it under another"
    )
    assert isinstance(node.hear(Entering(member("x", 9))).answer, Pending)
    assert isinstance(node.hear(Entering(member("y", 9))).answer, Refused)


def test_who_is_refused_says_so_once_and_asks_again_later() -> None:
    node = Node(D).hear(Enter("tcp://a"))
    assert node.hear(Refused("why"), 1).reported == [Refused("why")]
    assert node.hear(Woken(), 8.9).asked == []
    assert len(node.hear(Woken(), 9).asked) == 1
    assert node.hear(Refused("why"), 9).reported == []
    assert node.keeper.trouble == "why"


def test_who_is_refused_may_ask_for_another_place_as_the_same_life() -> None:
    node = Node(D).hear(Enter("tcp://a", 2))
    first = node.keeper.me
    node.hear(Refused("that is b's"), 1).hear(Enter("tcp://a", 7), 2)
    assert node.asked == [("a", Entering(node.keeper.me))]
    assert (node.keeper.me.id, node.keeper.me.life) == (7, first.life)
    assert node.hear(Enter("tcp://b"), 3).keeper.me.id == 7


def test_who_asked_for_two_places_is_where_it_was_let_in() -> None:
    node = Node(D).hear(Enter("tcp://a", 6))
    roster = THREE.changed(Change((node.keeper.me,)))
    node.hear(Enter("tcp://b", 7), 1)
    other = Node(A, {"roster": roster}).hear(Started())
    assert other.hear(Entering(node.keeper.me)).answer == Newest(roster), "it need not be another life for that"
    assert node.hear(Newest(roster), 2).reported == [Chosen(roster)]
    node.granted(A, B, C, seconds=2)
    asked = [each for seconds in (2.1, 3, 4, 5) for _, each in node.hear(Woken(), seconds).asked]
    assert not any(isinstance(each, Prepare) for each in asked), "nobody moves while it is in"
    assert node.keeper.me == roster.get("d")


def test_who_moves_enters_again_as_another_life_at_another_place() -> None:
    node = one_of_three().granted(B, C)
    node.hear(Depart(), 1).hear(Learn(THREE.changed(Change(departing=(A.life,)))), 2)
    node.hear(Enter("tcp://b", 9), 3)
    assert node.keeper.me.id == 9
    assert node.keeper.me.incarnation > A.incarnation


def test_a_lower_incarnation_is_told_and_takes_a_higher_one() -> None:
    assert one_of_three().hear(Entering(member("b", 2, 0))).answer == Stale(1)
    assert one_of_three().hear(Entering(B)).answer == Newest(THREE), "that is the one that is in"
    node = Node(D).hear(Enter("tcp://a"))
    far = node.keeper.me.incarnation + SECOND * 100
    ((_, question),) = node.hear(Stale(far), 1).asked
    assert question.member.incarnation == far + 1
    assert node.rows["own"].incarnation == far + 1


def test_a_former_life_is_replaced_when_it_is_silent() -> None:
    node = one_of_three().granted(B, C, seconds=4)
    back = member("b", 2, 2)
    assert "heard of" in node.hear(Entering(back), 4.1).answer.why
    assert node.hear(Woken(), 4.2).asked != []
    assert not any(isinstance(each, Prepare) for _, each in node.asked)
    for seconds in (7, 9, 11):
        node.granted(C, seconds=seconds)
        node.hear(Woken(), seconds)
    node.hear(Entering(back), 12)
    node.granted(C, seconds=12.0)
    prepares = [each for seconds in (12.1, 13.1) for _, each in node.hear(Woken(), seconds).asked]
    assert Prepare in {type(each) for each in prepares}


def test_what_is_answered_is_remembered_before() -> None:
    node = one_of_three()
    ballot = Ballot(4, "b")
    node.hear(Prepare(B.life, THREE.stamp, ballot))
    remember, answer = (each for each in node.effects if not isinstance(each, SetTimer))
    assert isinstance(remember, Remember)
    assert isinstance(answer, Answer)
    node.crash()
    accepted = node.hear(Accept(B.life, THREE.stamp, ballot, Change((D,)))).answer
    assert accepted == Accepted(A.life, THREE.stamp, ballot)
    node.crash()
    promised = node.hear(Prepare(C.life, THREE.stamp, Ballot(5, "c"))).answer
    assert promised == Promised(A.life, THREE.stamp, Ballot(5, "c"), ballot, Change((D,)))


def test_who_accepted_something_brings_it_to_its_end_when_nobody_else_does() -> None:
    node = one_of_three()
    node.hear(Accept(B.life, THREE.stamp, Ballot(4, "b"), Change((D,))))
    prepares = [each for _, each in node.hear(Woken(), 10).asked if isinstance(each, Prepare)]
    assert prepares[0].ballot > Ballot(4, "b")
    node.hear(Promised(C.life, THREE.stamp, prepares[0].ballot), 10.1)
    assert [each.change for _, each in node.asked] == [Change((D,))] * 2
    node.hear(Accepted(C.life, THREE.stamp, prepares[0].ballot), 10.2)
    assert node.reported == [Chosen(THREE.changed(Change((D,))))]
    assert [(to, type(each)) for to, each in node.asked] == [("b", Decided), ("c", Decided), ("d", Learn)]


def test_who_is_alone_proposes_nothing() -> None:
    node = one_of_three()
    node.hear(Entering(D), 1)
    assert not any(isinstance(each, Prepare) for _, each in node.hear(Woken(), 1.1).asked)
    node.granted(B, seconds=1.2)
    node.hear(Entering(D), 2)
    assert any(isinstance(each, Prepare) for _, each in node.hear(Woken(), 2.2).asked)


def test_who_is_behind_is_told_and_told_whole() -> None:
    node, newer = one_of_three(), THREE.changed(Change((D,)))
    assert node.hear(Prepare(B.life, newer.stamp, Ballot(1, "b"))).answer == Behind(A.life, THREE.stamp)
    assert node.hear(Behind(B.life, (0, 3))).asked == [("b", Learn(THREE))]
    assert node.hear(Behind(B.life, THREE.stamp)).asked == []
    assert node.hear(Beat(B.life, (0, 3), at(0))).answer == Beaten(A.life, THREE.stamp, False, at(0), THREE)
    assert node.hear(Prepare(B.life, (0, 3), Ballot(1, "b"))).answer == Newest(THREE)
    assert node.hear(Beat(B.life, THREE.stamp, at(7))).answer == Beaten(A.life, THREE.stamp, True, at(7))
    assert node.hear(Beaten(B.life, newer.stamp, False, at(0), newer)).reported == [Chosen(newer)]
    assert node.hear(Learn(newer)).reported == [], "once"


def test_a_roster_of_another_ring_is_none() -> None:
    node = one_of_three()
    assert node.hear(Learn(Roster(99, (A, D), "another")), 1).reported == []
    assert node.keeper.roster == THREE


def test_what_somebody_proposes_who_is_not_in_is_not_voted_on() -> None:
    node = one_of_three()
    assert node.hear(Prepare(D.life, THREE.stamp, Ballot(9, "d"))).answer == Behind(A.life, THREE.stamp)
    assert node.hear(Decided(D.life, THREE.stamp, Change(out=(A.life,)))).answer == Behind(A.life, THREE.stamp)
    assert node.keeper.roster == THREE


def test_who_was_put_out_learns_it_and_enters_again_as_another_life() -> None:
    node = one_of_three().granted(B, C)
    without = THREE.changed(Change(out=(A.life,)))
    assert node.hear(Beaten(B.life, without.stamp, False, at(0), without), 1).reported == [PutOut(without)]
    assert node.keeper.standing(at(1)) == "out"
    node.crash()
    assert node.keeper.standing(at(1)) == "out"
    assert node.hear(Woken(), 5).asked == []
    ((to, question),) = node.hear(Enter("tcp://c"), 6).asked
    assert to == "c"
    assert question.member.incarnation > A.incarnation
    assert node.keeper.standing(at(6)) == "waiting"


def test_a_vote_of_a_former_life_does_not_count_in_the_next() -> None:
    node = one_of_three()
    node.hear(Accept(B.life, THREE.stamp, Ballot(1, "b"), Change((D,))))
    node.hear(Learn(THREE.changed(Change(out=(A.life,)))))
    node.hear(Enter("tcp://x"))
    node.hear(Learn(Roster(THREE.number, (node.keeper.me,), "another")))
    node.crash()
    node.hear(Entering(B), 1)
    assert [type(each) for each in node.hear(Woken(), 2).reported] == [Chosen]
    assert node.keeper.roster is not None
    assert [each.name for each in node.keeper.roster.members] == ["a", "b"]


def test_who_departs_acts_no_more_and_asks_until_it_is_out() -> None:
    node = one_of_three().granted(B, C)
    assert node.keeper.standing(at(1)) == "member"
    assert node.hear(Depart(), 1).asked == [("b", Leaving(A.life, THREE.stamp))]
    assert node.keeper.standing(at(1)) == "alone"
    node.crash()
    node.granted(B, C, seconds=1.5)
    assert node.keeper.standing(at(2)) == "alone"
    assert ("b", Leaving(A.life, THREE.stamp)) in node.hear(Woken(), 3).asked
    other = THREE.changed(Change((D,)))
    assert [to for to, each in node.hear(Learn(other), 4).asked if isinstance(each, Leaving)] == ["c"]
    without = other.changed(Change(departing=(A.life,)))
    assert node.hear(Learn(without), 5).reported == [Departed(without)]
    assert node.keeper.standing(at(5)) == "out"


def test_who_is_asked_lets_go() -> None:
    node = one_of_three().granted(B, C)
    assert node.hear(Leaving(B.life, (0, 4))).answer == Newest(THREE)
    assert node.hear(Leaving(B.life, (0, 6))).answer == Behind(A.life, THREE.stamp)
    assert isinstance(node.hear(Leaving(B.life, THREE.stamp)).answer, Pending)
    node.hear(Entering(D))
    ballot = next(each.ballot for _, each in node.hear(Woken(), 0.1).asked if isinstance(each, Prepare))
    asked = node.hear(Promised(C.life, THREE.stamp, ballot), 0.2).asked
    assert asked[0][1].change == Change((D,), (), (B.life,))


def test_the_last_one_departs_by_itself_and_may_enter_elsewhere() -> None:
    node = Node(A, {"roster": Roster(5, (A,), "ring")}).hear(Started())
    assert [type(each) for each in node.hear(Depart()).reported] == [Departed]
    assert node.keeper.standing(at(1)) == "out"
    assert len(node.hear(Enter("tcp://x"), 1).asked) == 1


def test_who_departs_before_it_is_in_leaves_when_it_is() -> None:
    node = Node(D).hear(Enter("tcp://a"))
    assert node.hear(Depart()).reported == [Departed(None)]
    assert node.keeper.standing(at(1)) == "out"
    roster = THREE.changed(Change((node.keeper.me,)))
    assert node.hear(Learn(roster), 2).asked == [("b", Leaving(node.keeper.me.life, roster.stamp))]


def test_who_gave_up_entering_and_enters_after_all_is_the_life_it_was() -> None:
    """It may be in by then: of two, the other could do nothing without it."""
    node = Node(D).hear(Enter("tcp://a"))
    life = node.keeper.me.life
    node.hear(Depart(), 1).hear(Enter("tcp://b"), 2)
    assert node.keeper.me.life == life
    assert node.keeper.standing(at(2)) == "waiting"
    roster = THREE.changed(Change((node.keeper.me,)))
    assert not any(isinstance(each, Leaving) for _, each in node.hear(Learn(roster), 3).asked)


def test_who_no_longer_asks_is_not_let_in() -> None:
    """A ring of one that takes in a node that is gone by then could never do anything again."""
    node = Node(A, {"roster": Roster(5, (A,), "ring")}).hear(Started())
    node.hear(Entering(B), 1)
    assert node.hear(Woken(), 4).reported == []
    node.hear(Entering(B), 5)
    assert [type(each) for each in node.hear(Woken(), 6).reported] == [Chosen]


def test_a_node_at_another_address_has_its_entry_corrected() -> None:
    node = Node(Member("a", 77, "tcp://moved", incarnation=1), {"roster": THREE}).hear(Started())
    node.granted(B, C)
    ballot = next(each.ballot for _, each in node.hear(Woken(), 0.1).asked if isinstance(each, Prepare))
    asked = node.hear(Promised(C.life, THREE.stamp, ballot), 0.2).asked
    assert asked[0][1].change == Change((Member("a", 1, "tcp://moved", incarnation=1),)), "its place stays"


def test_a_silent_one_is_put_out_at_once_by_who_is_next_to_it() -> None:
    node = one_of_three()
    node.hear(Suspect("b"))
    for seconds in range(1, 8):
        node.hear(Woken(), seconds).granted(C, seconds=seconds)
        assert not any(isinstance(each, Prepare) for _, each in node.asked)
    node.hear(Woken(), 8)
    (prepare, *_) = (each for _, each in node.asked if isinstance(each, Prepare))
    assert prepare.without == (B.life,)


def test_one_that_is_heard_of_otherwise_is_not_put_out() -> None:
    node = one_of_three()
    for seconds in range(1, 20):
        node.hear(Heard("b"), seconds)
        node.hear(Woken(), seconds).granted(C, seconds=seconds)
        assert not any(isinstance(each, Prepare) for _, each in node.asked)


def test_a_forced_roster_needs_nobody() -> None:
    node = one_of_three()
    node.hear(Force(("b",), by="me"), 100)
    forced = Roster(6, (A, C), "ring", 1, True, ("tcp://b",))
    assert node.answer == Newest(forced)
    assert node.reported == [Forced(forced, ("b",), "me"), Chosen(forced)]
    assert node.asked == [("c", Learn(forced))]
    assert Node(C, {"roster": Roster(9, (B, C), "ring")}).hear(Learn(forced)).reported == [Chosen(forced)]


@pytest.mark.parametrize("out", [(), ("a",), ("b", "x")])
def test_only_other_members_are_forced_out(out: tuple[str, ...]) -> None:
    with pytest.raises(Refusal, match="not another member"):
        one_of_three().hear(Force(out, by="me"))
    with pytest.raises(Refusal, match="in no ring"):
        Node(D).hear(Force(out, by="me"))
