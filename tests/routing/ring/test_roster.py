"""Who has which part of the circle, beside what a look at all members says."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin.routing.ring.identifiers import LAST, distance, within
from tocsin.routing.ring.roster import Change, Difference, Member, Roster, difference

IDS = st.integers(0, LAST) | st.sampled_from([0, 1, LAST, LAST - 1])
KEYS = IDS
SITES = st.sampled_from(["", "", "x", "y", "z"])


@st.composite
def rosters(draw: st.DrawFn) -> Roster:
    ids = sorted(draw(st.sets(IDS, min_size=1, max_size=12)))
    members = [Member(f"n{number}", each, f"at {number}", site=draw(SITES)) for number, each in enumerate(ids)]
    return Roster(draw(st.integers(1, 9)), tuple(members))


@given(rosters(), KEYS)
def test_the_owner_is_the_nearest_at_or_behind_the_key(roster: Roster, key: int) -> None:
    assert roster.owner(key) == min(roster.members, key=lambda each: distance(key, each.id))


@given(rosters(), KEYS)
def test_a_key_has_exactly_one_owner(roster: Roster, key: int) -> None:
    owners = [each for each in roster.members if within(key, *roster.range_of(each))]
    assert owners == [roster.owner(key)]


@given(rosters())
def test_a_predecessor_is_the_nearest_before(roster: Roster) -> None:
    for each in roster.members:
        others = [other for other in roster.members if other != each]
        nearest = min(others, key=lambda other: distance(other.id, each.id), default=each)
        assert roster.predecessor(each) == nearest
        assert [*roster.behind(each)] == sorted(others, key=lambda other: distance(each.id, other.id))


def site(member: Member) -> str:
    return member.site or f"of {member.name}"


@given(rosters(), st.integers(1, 6))
def test_keepers_are_the_next_of_other_sites_and_all_there_are_when_these_are_few(
    roster: Roster, replicas: int
) -> None:
    sites = {site(each) for each in roster.members}
    for member in roster.members:
        found = [member, *roster.keepers(member, replicas)]
        assert len(found) == len({site(each) for each in found}) == min(replicas, len(sites))
        passed = {site(each) for each in found[:1]}
        for each in roster.behind(member)[: roster.behind(member).index(found[-1]) + 1 if len(found) > 1 else 0]:
            assert (each in found) is (site(each) not in passed)
            passed.add(site(each))
        assert roster.keepers(member, replicas) is roster.keepers(member, replicas)


@given(st.integers(1, 20))
def test_two_majorities_meet(number: int) -> None:
    roster = Roster(1, tuple(Member(str(each), each, "") for each in range(number)))
    assert 2 * roster.majority > number >= 2 * (roster.majority - 1)


@given(rosters(), rosters())
def test_a_difference_leads_from_one_roster_to_the_other(before: Roster, after: Roster) -> None:
    found = difference(before, after)
    members = {each.name: each for each in before.members if each not in found.left}
    members |= {new.name: new for _, new in found.changed} | {each.name: each for each in found.came}
    assert sorted(members.values(), key=lambda each: each.id) == list(after.members)
    assert all(old != new and old.name == new.name for old, new in found.changed)
    assert difference(before, before) == Difference((), (), ())


def member(name: str, place: int, incarnation: int = 0) -> Member:
    return Member(name, place, f"at {name}", incarnation=incarnation)


def test_a_change_gives_the_next_roster() -> None:
    before = Roster(4, (member("a", 1), member("b", 2), member("c", 3), member("d", 4)), "ring", 2, True, ("at e",))
    change = Change((member("e", 0), member("b", 9, 1)), (("c", 0),), (("d", 0),))
    assert before.changed(change) == Roster(5, (member("e", 0), member("a", 1), member("b", 9, 1)), "ring", 2)
    assert before.without(change) == (("c", 0), ("b", 0))


def test_a_change_of_an_entry_puts_nobody_out() -> None:
    before = Roster(4, (member("a", 1), member("b", 2)))
    assert before.without(Change((Member("b", 2, "elsewhere"),))) == ()


def test_a_life_is_a_name_and_an_incarnation() -> None:
    roster = Roster(1, (member("a", 1, 3),))
    assert roster.living(("a", 3)) == roster.get("a") == member("a", 1, 3)
    assert roster.living(("a", 2)) is roster.living(("b", 3)) is roster.get("b") is None
