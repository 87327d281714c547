"""Rings under lost messages, crashes, partitions and clocks that differ: there is one roster of each number, nobody
acts who was put out, and when all is calm again those who want to be in are."""

from functools import partial
from random import Random

import pytest
from tests.effort import examples

from tocsin.model.identity import SECOND
from tocsin.routing.machine import Ask
from tocsin.routing.ring.identifiers import SIZE, within
from tocsin.routing.ring.roster import Roster
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_messages import Beat, Chosen, Depart, Departed, Enter, Force, Kept, Suspect
from tocsin.sim.roster import RosterNetwork

NAMES = [f"n{number}" for number in range(9)]
CLOSE = Settings(lease=5, silence=5.5)  # no longer a silence than clocks need
ACTS = ["enter", "enter", "crash", "stop", "start", "part", "line", "heal", "loss", "depart", "suspect"]
CALM = 90.0  # seconds in which all comes right


def act(network: RosterNetwork, random: Random, what: str, name: str) -> None:
    is_up = name in network.up
    match what:
        case "enter" if name not in network.wanting and (others := sorted(set(network.nodes) - {name})):
            network.enter(name, random.choice(others))
        case "crash" if is_up:
            network.crash(name)
        case "stop" if is_up:
            network.stop(name)
        case "start" if not is_up and name in network.nodes:
            network.start(name)
        case "part":
            network.part(random.sample(sorted(network.nodes), random.randint(1, len(network.nodes))))
        case "line":
            network.cut.add(frozenset((name, random.choice(NAMES))))
        case "heal":
            network.cut.clear()
        case "loss":
            network.loss = random.choice([0, 0.05, 0.3])
        case "depart" if is_up:
            network.take(name, Depart())
        case "suspect" if is_up:
            network.take(name, Suspect(random.choice(NAMES)))


def calm(network: RosterNetwork) -> None:
    """All lines carry again, and as many are started as make a majority; who knows nobody that is there is told."""
    network.cut.clear()
    network.loss = 0
    for _ in range(3):  # what was begun before may be brought to its end now, and need others
        network.run_for(8)
        for name in sorted(set(network.nodes) - network.up):
            if not network.is_healthy():
                network.start(name)
    for name in sorted(network.up & network.wanting):
        if network.standing(name) == "waiting":
            others = (each.name for each in network.newest.members if each.name in network.up - {name})
            network.take(name, Enter(f"tcp://{next(others)}"))
    network.run_for(CALM)


def storm(seed: int) -> RosterNetwork:
    random = Random(seed)
    network = RosterNetwork(seed, random.choice([Settings(), CLOSE]), slowest=random.choice([5, 50, 400, 1500]))
    network.give(NAMES[: random.randint(1, 7)])
    network.run_for(random.choice([0.5, 10]))
    for _ in range(random.randint(5, 40)):
        act(network, random, random.choice(ACTS), random.choice(NAMES))
        network.run_for(random.choice([0, 0.02, 0.3, 1, 3, 7, 12]))
    return network


def is_settled(network: RosterNetwork) -> bool:
    """A ring whose last member departed has nobody that would put it out."""
    names, wanting = {each.name for each in network.newest.members}, network.up & network.wanting
    same = all(network.keeper(name).roster == network.newest for name in wanting)
    acting = all(network.standing(name) == "member" for name in wanting)
    return same and acting and (names == wanting or (not wanting and len(names) == 1))


@pytest.mark.parametrize("seed", range(examples(12)))
def test_whatever_happens_there_is_one_roster_and_those_who_want_to_be_in_it_come_in(seed: int) -> None:
    network = storm(seed)
    calm(network)
    assert not network.wrongs
    assert is_settled(network), {name: network.standing(name) for name in sorted(network.up)}


class Torn(RosterNetwork):
    """Lines are cut in the moment in which a roster of this number is chosen: its proposer will hear of it, but nobody
    on the other side, where nothing but beats gets through any more."""

    def __init__(self, number: int, side: set[str], seed: int = 0) -> None:
        super().__init__(seed, CLOSE)
        self._number, self._side = number, side

    def _see(self, roster: Roster) -> None:
        is_new = roster.stamp not in self.chosen
        super()._see(roster)
        if is_new and roster.number == self._number:
            self.clock.after(0, partial(self.part, self._side))

    def _asked(self, name: str, ask: Ask) -> None:
        is_torn = self._number in {number for _, number in self.chosen} and name in self._side
        if not is_torn or isinstance(ask.question, Beat):
            super()._asked(name, ask)


class SlowAnswers(RosterNetwork):
    """To one node, that asks as fast as others."""

    def _asked(self, name: str, ask: Ask) -> None:
        if name != "n0" or self._is_lost(name, ask.of):
            return super()._asked(name, ask)
        for answer in self.take(ask.of, ask.question):
            self.clock.after(3 * SECOND, partial(self.take, name, answer))
        return None


def members(network: RosterNetwork) -> set[str]:
    return {each.name for each in network.newest.members}


@pytest.mark.parametrize("crashes", [False, True])
def test_who_accepted_a_roster_without_hearing_more_of_it_acts_no_longer_in_the_one_before(crashes: bool) -> None:
    """n0 and three that come in are a majority of what n2 accepted; n1 and n2 would be one of the roster before."""
    network = Torn(2, {"n1", "n2"})
    network.give(NAMES[:3])
    network.run_for(3)
    network.cut.add(frozenset(("n0", "n1")))
    for name in NAMES[3:6]:
        network.enter(name, "n0")
    network.run_for(1)
    assert network.newest.number == 2
    if crashes:
        network.crash("n2")
    network.run_for(60)
    assert members(network) == {"n0", *NAMES[3:6]}
    assert (network.standing("n1"), network.standing("n2")) == ("alone", "alone")
    assert not network.wrongs


@pytest.mark.parametrize("meanwhile", range(12))
def test_a_lease_of_members_that_departed_ends_before_the_others_put_its_holder_out(meanwhile: int) -> None:
    """n3 and n4 have not heard of n0 for long, and alone decide about it as soon as n1 and n2 are gone."""
    network = Torn(2, {"n0"})
    network.give(NAMES[:5])
    network.cut |= {frozenset(("n0", "n3")), frozenset(("n0", "n4"))}
    network.run_for(20 + meanwhile)
    assert members(network) == set(NAMES[:5])
    for name in NAMES[1:3]:
        network.take(name, Depart())
    network.run_for(60)
    assert members(network) == {"n3", "n4"}
    assert not network.wrongs


def test_a_lease_counts_from_when_it_was_asked_for() -> None:
    network = SlowAnswers(0, CLOSE)
    network.give(NAMES[:5])
    network.run_for(20)
    assert network.standing("n0") == "member"
    network.part({"n0"})
    network.run_for(30)
    assert members(network) == set(NAMES[1:5])
    assert not network.wrongs


def test_two_that_are_cut_off_from_six_can_change_nothing_and_know_it() -> None:
    network = RosterNetwork()
    network.give(NAMES[:8])
    network.run_for(5)
    assert all(network.standing(name) == "member" for name in NAMES[:8])
    network.part(NAMES[:2])
    network.run_for(6)
    assert [network.standing(name) for name in NAMES[:8]] == ["alone"] * 2 + ["member"] * 6
    network.enter("n8", "n0")
    network.part({"n0", "n1", "n8"})
    network.run_for(30)
    assert members(network) == set(NAMES[2:8])
    network.cut.clear()
    network.run_for(30)
    assert members(network) == set(NAMES)
    assert is_settled(network)


def test_two_of_two_survive_no_crash_without_an_operator() -> None:
    network = RosterNetwork()
    network.give(NAMES[:2])
    network.run_for(5)
    network.stop("n1")
    network.run_for(60)
    assert network.standing("n0") == "alone"
    network.take("n0", Force(("n1",), by="the operator"))
    assert network.standing("n0") == "member"
    assert network.keeper("n0").roster == network.newest
    assert network.newest.forced
    assert network.newest.stamp == (1, 2)
    network.start("n1")
    network.run_for(30)
    assert members(network) == {"n0", "n1"}
    assert is_settled(network)


def test_a_forced_roster_holds_against_whatever_the_others_chose_meanwhile() -> None:
    """The operator was wrong: they still ran. They come in again, as other lives."""
    network = RosterNetwork()
    network.give(NAMES[:5])
    network.run_for(5)
    network.part(NAMES[:2])
    network.run_for(20)
    network.enter("n5", "n3")
    network.run_for(10)
    assert network.newest.number == 3
    network.take("n0", Force(("n2", "n3", "n4"), by="the operator"))
    network.run_for(10)
    assert network.standing("n1") == "member"
    network.cut.clear()
    network.run_for(60)
    assert members(network) == set(NAMES[:6])
    assert network.newest.epoch == 1
    assert is_settled(network)
    assert network.newest.gone == ()


def test_one_node_with_a_bad_line_puts_nobody_out() -> None:
    network = RosterNetwork()
    network.give(NAMES[:5])
    network.cut.add(frozenset(("n0", "n1")))
    network.run_for(5)
    network.take("n0", Suspect("n1"))
    network.run_for(60)
    assert network.newest.number == 1
    assert Kept in {type(each) for each in network.reports["n0"]}
    assert all(network.standing(name) == "member" for name in NAMES[:5])


def test_nodes_that_come_in_together_come_in_by_one_roster() -> None:
    network = RosterNetwork()
    network.found("n0")
    for name in NAMES[1:]:
        network.enter(name, "n0")
    network.run_for(3)
    assert network.newest.number == 2
    assert members(network) == set(NAMES)
    assert is_settled(network)


def test_nodes_that_depart_together_all_do_and_the_last_one_by_itself() -> None:
    network = RosterNetwork()
    network.give(NAMES[:5])
    network.run_for(3)
    for name in NAMES[:5]:
        network.take(name, Depart())
    network.run_for(60)
    assert {network.standing(name) for name in NAMES[:5]} == {"out"}
    assert all(isinstance(network.reports[name][-1], Departed) for name in NAMES[:5])


def test_nobody_departs_and_leaves_a_majority_that_is_down() -> None:
    """n0 and n1 are a majority of three; without n1, n0 would be none of the two that are left."""
    network = RosterNetwork()
    network.give(NAMES[:3])
    network.run_for(5)
    network.stop("n2")
    network.run_for(3)
    network.take("n1", Depart())
    network.run_for(3)
    assert members(network) == set(NAMES[:3])
    network.run_for(10)
    assert members(network) == {"n0"}
    assert is_settled(network)


def test_slow_lines_are_waited_for() -> None:
    """An answer takes up to three seconds, a proposer's first patience is one."""
    network = RosterNetwork(slowest=1500)
    network.give(NAMES[:4])
    network.enter("n4", "n0")
    network.run_for(60)
    assert members(network) == set(NAMES[:5])
    assert is_settled(network)


def test_somebody_is_put_out_though_the_roster_changes_all_the_time() -> None:
    """Each new roster begins the silence anew: others' wishes wait for it."""
    network = RosterNetwork()
    network.give(NAMES[:4])
    network.run_for(3)
    network.stop("n1")
    for turn in range(40):
        name = NAMES[4 + turn % 5]
        if name in members(network):
            network.take(name, Depart())
        elif network.standing(name) != "waiting":
            network.enter(name, "n0")
        network.run_for(1)
    assert "n1" not in members(network)


def test_each_roster_is_reported_once_and_in_order() -> None:
    network = storm(3)
    calm(network)
    for name in network.nodes:
        numbers = [each.roster.stamp for each in network.reports[name] if isinstance(each, Chosen)]
        assert numbers == sorted(set(numbers))


def test_each_key_has_one_owner_in_every_roster() -> None:
    for roster in storm(5).chosen.values():
        for key in (0, 1, SIZE - 1, *(each.id for each in roster.members)):
            owners = [each for each in roster.members if within(key, *roster.range_of(each))]
            assert owners == [roster.owner(key)]


@pytest.mark.parametrize(("nodes", "expected"), [(8, 6), (50, 27), (100, 52)])
def test_what_beats_cost(nodes: int, expected: int) -> None:
    """A majority and two more, for each member and beat; beats become slower above 64 members."""
    network = RosterNetwork()
    network.give([f"n{number}" for number in range(nodes)])
    network.run_for(0.5)
    assert network.asked == {"Beat": nodes * expected}
