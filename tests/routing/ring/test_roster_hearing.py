"""Who may be put out, and how long a member may act: what the rest rests upon, one rule at a time."""

import pytest

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.roster import Change, Member, Roster
from tocsin.routing.ring.roster_hearing import Hearing, Settings
from tocsin.routing.ring.roster_messages import Accept, Accepted, Ballot, Objected, Overruled, Prepare, Promised, Vote
from tocsin.routing.ring.roster_votes import FIRST, Acceptor, Attempt

SETTINGS = Settings(lease=5, silence=8)
MEMBERS = tuple(Member(name, number, name) for number, name in enumerate("abcde"))
ROSTER = Roster(7, MEMBERS)
A, B, C, D, E = (each.life for each in MEMBERS)
BASE = ROSTER.stamp


def at(seconds: float) -> Instant:
    return Instant(round((1000 + seconds) * SECOND))


def hearing() -> Hearing:
    heard = Hearing(A, SETTINGS)
    heard.begin(ROSTER, at(0), is_closed=False)
    return heard


def test_nobody_is_silent_before_a_silence_has_passed_since_the_node_began() -> None:
    assert hearing().heard([B, C], at(7.9)) == (B, C)
    assert hearing().heard([B, C], at(8)) == ()


def test_who_was_heard_of_is_silent_only_after_that() -> None:
    heard = hearing()
    heard.hear(B, at(6))
    assert heard.heard([B, C], at(8)) == (B,)
    assert heard.heard([B, C], at(14)) == ()


def test_in_a_new_roster_nobody_is_silent_yet() -> None:
    heard = hearing()
    heard.learn(ROSTER.changed(Change(departing=(E,))), at(20))
    assert heard.heard([B], at(27.9)) == (B,)
    assert heard.heard([B], at(28)) == ()
    assert heard.is_doubtful(B, at(20.1)), "others' wishes wait for it all the same"


def test_a_node_is_never_silent_to_itself_while_it_acts() -> None:
    heard = hearing()
    assert heard.heard([A], at(100)) == (A,)
    heard.close((), at(100))
    assert heard.heard([A], at(107.9)) == (A,)
    assert heard.heard([A], at(108)) == ()


def test_a_lease_is_as_long_as_a_majority_grants_it() -> None:
    heard = hearing()
    heard.granted(B, at(1), at(4))
    assert heard.until(ROSTER) < at(0)
    heard.granted(C, at(3), at(4))
    assert heard.until(ROSTER) == at(6), "from when the earlier one was asked for"
    heard.granted(D, at(2), at(4))
    assert heard.until(ROSTER) == at(7)


def test_what_was_granted_before_it_began_or_to_no_question_counts_nothing() -> None:
    heard = hearing()
    for life in (B, C, D):
        heard.granted(life, at(-1), at(1))
        heard.granted(life, at(2), at(1))
    heard.granted(("f", 0), at(1), at(1))
    assert heard.until(ROSTER) < at(0)


def test_who_accepted_a_change_grants_nothing_more_not_even_to_itself() -> None:
    heard = hearing()
    heard.granted(B, at(1), at(1))
    heard.granted(C, at(9), at(9))
    assert heard.grants(B)
    heard.close((), at(2))
    assert not heard.grants(B)
    assert heard.until(ROSTER) == at(6), "b, c and its own of when it accepted"


def test_after_a_crash_who_accepted_a_change_has_no_lease_of_its_own() -> None:
    heard = Hearing(A, SETTINGS)
    heard.begin(ROSTER, at(0), is_closed=True)
    heard.granted(B, at(1), at(1))
    heard.granted(C, at(1), at(1))
    assert heard.until(ROSTER) < at(0)
    heard.granted(D, at(1), at(1))
    assert heard.until(ROSTER) == at(6)


def test_one_that_is_denied_is_silent_however_often_it_speaks() -> None:
    heard = hearing()
    heard.hear(B, at(5))
    heard.deny([B], at(6))
    heard.hear(B, at(7))
    assert not heard.grants(B)
    assert heard.grants(C)
    assert heard.heard([B], at(12.9)) == (B,)
    assert heard.heard([B], at(13)) == ()


def test_as_many_are_asked_as_make_a_majority_and_more_for_those_who_do_not_answer() -> None:
    roster = Roster(1, tuple(Member(f"n{number:02}", number, "") for number in range(20)))
    heard = Hearing(roster.members[0].life, SETTINGS)
    heard.begin(roster, at(0), is_closed=False)
    first = heard.watched(roster, roster.members[0], at(0))
    assert [each.id for each, _ in first] == list(range(1, 13))
    for each in roster.members[3:]:
        heard.hear(each.life, at(4))
    later = heard.watched(roster, roster.members[0], at(4))
    assert [each.id for each, _ in later] == list(range(1, 15))
    assert [turn for _, turn in later][:4] == [0, 0, 0, 1]


def test_a_lease_that_is_not_shorter_than_a_silence_is_refused() -> None:
    with pytest.raises(ValueError, match="silence must be at least"):
        Settings(lease=8, silence=8)
    with pytest.raises(ValueError, match="two beats"):
        Settings(beat=3)


# Votes


def ballot(number: int, name: str = "b") -> Ballot:
    return Ballot(number, name)


def acceptor(heard: Hearing | None = None) -> Acceptor:
    return Acceptor(A, heard or hearing(), Vote(BASE, FIRST))


LEAVING = Change(departing=(E,))
WITHOUT_B = Change(out=(B,))


def test_a_lower_ballot_than_was_promised_is_overruled() -> None:
    asked = acceptor()
    assert isinstance(asked.prepare(Prepare(B, BASE, ballot(2)), at(0)), Promised)
    assert asked.prepare(Prepare(C, BASE, ballot(1, "c")), at(0)) == Overruled(BASE, ballot(1, "c"), ballot(2))
    assert isinstance(asked.accept(Accept(C, BASE, ballot(1, "c"), LEAVING), ROSTER, at(0)), Overruled)
    assert asked.vote == Vote(BASE, ballot(2))


def test_a_promise_tells_what_was_accepted_and_who_is_heard_of() -> None:
    asked = acceptor()
    assert isinstance(asked.accept(Accept(B, BASE, ballot(1), LEAVING), ROSTER, at(0)), Accepted)
    answer = asked.prepare(Prepare(C, BASE, ballot(2, "c"), (B,)), at(1))
    assert answer == Promised(A, BASE, ballot(2, "c"), ballot(1), LEAVING, (B,))


def test_who_hears_of_somebody_does_not_accept_that_it_is_put_out() -> None:
    asked = acceptor()
    answer = asked.accept(Accept(C, BASE, ballot(1), WITHOUT_B), ROSTER, at(7))
    assert answer == Objected(A, BASE, ballot(1), (B,))
    assert asked.vote == Vote(BASE, FIRST)
    assert isinstance(asked.accept(Accept(C, BASE, ballot(1), WITHOUT_B), ROSTER, at(8)), Accepted)


def test_a_former_life_is_put_out_like_any_other() -> None:
    change = Change(put=(Member("b", 1, "b", incarnation=1),))
    assert isinstance(acceptor().accept(Accept(C, BASE, ballot(1), change), ROSTER, at(7)), Objected)
    same = Change(put=(Member("b", 1, "elsewhere"),))
    assert isinstance(acceptor().accept(Accept(C, BASE, ballot(1), same), ROSTER, at(7)), Accepted)


def test_what_others_accepted_is_objected_to_for_no_longer_than_a_silence() -> None:
    heard = hearing()
    asked = acceptor(heard)
    heard.hear(B, at(7))
    assert isinstance(asked.accept(Accept(C, BASE, ballot(1), WITHOUT_B, True), ROSTER, at(9)), Objected)
    heard.hear(B, at(10))
    assert not heard.grants(B)
    assert isinstance(asked.accept(Accept(C, BASE, ballot(2), WITHOUT_B, True), ROSTER, at(15)), Accepted)


def attempt(change: Change = WITHOUT_B) -> Attempt:
    return Attempt(ROSTER, ballot(3, "a"), change, at(1))


def test_what_was_accepted_last_is_taken_over() -> None:
    tried = attempt()
    assert not tried.is_promised(Promised(A, BASE, ballot(3, "a"), ballot(1), LEAVING))
    assert not tried.is_promised(Promised(A, BASE, ballot(3, "a"), ballot(1), LEAVING))
    assert not tried.is_promised(Promised(B, BASE, ballot(3, "a"), ballot(2), Change(departing=(D,))))
    assert tried.is_promised(Promised(C, BASE, ballot(3, "a")))
    assert tried.vote(at(2)) == {}
    assert (tried.change, tried.is_adopted) == (Change(departing=(D,)), True)


def test_whom_anybody_hears_of_stays_in() -> None:
    back = Member("c", 2, "c", incarnation=1)
    tried = attempt(Change((back, Member("f", 9, "f")), (B, D), (E,)))
    for life, heard in ((A, ()), (D, (B,)), (E, (C,))):
        tried.is_promised(Promised(life, BASE, ballot(3, "a"), heard=heard))
    assert tried.vote(at(2)) == {B: "d", C: "e"}
    assert tried.change == Change((Member("f", 9, "f"),), (D,), (E,))


@pytest.mark.parametrize(
    "other",
    [(("b", 1), BASE, ballot(3, "a")), (B, (0, 6), ballot(3, "a")), (B, BASE, ballot(2, "a")), (("x", 0), BASE)],
)
def test_only_answers_of_members_to_this_ballot_about_this_roster_count(other: tuple[object, ...]) -> None:
    by, base, about = other if len(other) == 3 else (*other, ballot(3, "a"))
    tried = attempt()
    for life in (A, C):
        tried.is_promised(Promised(life, BASE, ballot(3, "a")))
    assert not tried.is_promised(Promised(by, base, about))  # type: ignore[arg-type]
    assert tried.is_promised(Promised(D, BASE, ballot(3, "a")))
    tried.vote(at(2))
    for life in (A, C):
        tried.is_chosen(Accepted(life, BASE, ballot(3, "a")))
    assert not tried.is_chosen(Accepted(by, base, about))  # type: ignore[arg-type]
    assert tried.is_chosen(Accepted(D, BASE, ballot(3, "a")))
