"""Rings of nodes that agree on who is in them, on lines that fail and clocks that differ."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import partial
from random import Random
from typing import Any

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Ask, Effect, Machine, Report, Unanswered
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.roster import Change, Member, Roster, Stamp
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_machine import DEFAULTS, ROSTER, RosterKeeper
from tocsin.routing.ring.roster_messages import Ballot, Departed, Enter, Found, Own, PutOut, Vote
from tocsin.routing.ring.roster_passage import OWN
from tocsin.sim.network import MILLISECOND, Network

SLOWEST, FASTEST = 980, 1020  # thousandths of true time, as clocks run
FARTHEST = 7_200 * SECOND  # as much as they are off
PATIENCE = 2 * SECOND  # with which a question is given up
SCHEME = "tcp://"


class Clockwork(Struct, frozen=True):
    offset: int
    rate: int

    def read(self, true: int) -> Instant:
        return Instant(self.offset + true * self.rate // 1000)

    def when(self, shown: Instant) -> int:
        return -((self.offset - shown) * 1000 // self.rate)


class RosterNetwork(Network):
    """`loss` is the share of questions and answers that do not arrive; lines that are `cut` carry nothing.

    What is `chosen` is known here before any node knows it: as soon as a majority has written that it accepts.
    """

    def __init__(self, seed: int = 0, settings: Settings = DEFAULTS, *, slowest: int = 50) -> None:
        self.random = Random(seed)
        super().__init__(self._made, ask=lambda: self.random.randint(1, slowest) * MILLISECOND)
        self.settings, self.loss = settings, 0.0
        self.nodes: dict[str, Member] = {}
        self.clockworks: dict[str, Clockwork] = {}
        self.up: set[str] = set()
        self.cut: set[frozenset[str]] = set()
        self.asked, self.reports = Counter[str](), defaultdict[str, list[Any]](list)
        self.wanting: set[str] = set()  # nodes that want to be in
        self.chosen: dict[Stamp, Roster] = {}
        self.wrongs: list[str] = []  # what must not be
        self._votes: defaultdict[tuple[Stamp, Ballot], set[str]] = defaultdict(set)

    # What happens to nodes

    def start(self, name: str, *, site: str = "") -> None:
        """For the first time, or again with what it remembers."""
        self.nodes.setdefault(name, Member(name, identifier_of(name), SCHEME + name, site=site))
        offset, rate = self.random.randint(0, FARTHEST), self.random.randint(SLOWEST, FASTEST)
        self.clockworks.setdefault(name, Clockwork(offset, rate))
        self.up.add(name)
        self.crash(name)

    def stop(self, name: str) -> None:
        self.up.discard(name)
        self.machines.pop(name, None)
        self._set_timer(name, None)

    def found(self, name: str) -> None:
        self.start(name)
        self.wanting.add(name)
        self.take(name, Found())

    def enter(self, name: str, by: str) -> None:
        self.start(name)
        self.wanting.add(name)
        self.take(name, Enter(SCHEME + by))

    def give(self, names: Iterable[str]) -> Roster:
        """All of them, up and in one roster, as if they had come in before."""
        for name in names:
            self.nodes[name] = Member(name, identifier_of(name), SCHEME + name, incarnation=1)
        members = sorted(self.nodes.values(), key=lambda each: each.id)
        roster = self.chosen[0, 1] = Roster(1, tuple(members), "given")
        for name in names:
            self.rows[name] = {ROSTER: roster, OWN: Own(1)}
            self.wanting.add(name)
            self.start(name)
        return roster

    def part(self, side: Iterable[str]) -> None:
        """From all the others that there are."""
        these = set(side)
        self.cut |= {frozenset((one, other)) for one in these for other in set(self.nodes) - these}

    def run_for(self, seconds: float) -> None:
        until = self.clock.now + round(seconds * SECOND)
        self.clock.after(round(seconds * SECOND), lambda: None)
        while self.clock.now < until and self.clock.step():
            pass

    # What is seen of them

    def keeper(self, name: str) -> RosterKeeper:
        found = self.machine(name)
        assert isinstance(found, RosterKeeper)
        return found

    def now(self, name: str) -> Instant:
        return self.clockworks[name].read(self.clock.now)

    def standing(self, name: str) -> str:
        return self.keeper(name).standing(self.now(name)) if name in self.up else "down"

    @property
    def newest(self) -> Roster:
        return self.chosen[max(self.chosen)]

    def is_healthy(self) -> bool:
        """Whether those who are up can go on by themselves: of the newest roster that one of them knows, and of all
        that were chosen since without anybody's knowing, there is a majority."""
        keepers = [self.keeper(name) for name in self.up]
        lives = {each.me.life for each in keepers}
        known = max((each.stamp for each in keepers if each.is_in), default=(0, 0))
        rosters = [each for stamp, each in self.chosen.items() if stamp >= known]
        return all(sum(member.life in lives for member in each.members) >= each.majority for each in rosters)

    def _look_at(self, name: str) -> None:
        """Nobody may act as a member while a roster without it is chosen. As time passes a node only stops to: it is
        enough to look when it did something, and when something is chosen."""
        keeper = self.machines.get(name)
        is_outside = isinstance(keeper, RosterKeeper) and self.newest.living(keeper.me.life) is None
        if is_outside and self.standing(name) == "member":
            self.wrongs.append(f"{name} acts outside {self.newest.stamp} at {self.clock.now / SECOND} s")

    # How it is done

    def take(self, to: str, message: Any) -> list[Any]:
        name = to.removeprefix(SCHEME)
        if name not in self.up or (machine := self.machine(name)) is None:
            return []
        answers = self._do_all(name, machine.step(message, self.now(name)))
        if self.chosen:
            self._look_at(name)
        return answers

    def remembered(self, name: str, key: str, row: Any) -> None:
        super().remembered(name, key, row)
        match row:
            case Vote(base, _, Ballot() as ballot, Change() as change):
                self._count(name, base, ballot, change)
            case Roster():
                self._see(row)

    def _count(self, name: str, base: Stamp, ballot: Ballot, change: Change) -> None:
        roster, votes = self.chosen[base], self._votes[base, ballot]
        votes.add(name)
        if len(votes) >= roster.majority:
            self._see(roster.changed(change))

    def _see(self, roster: Roster) -> None:
        known = self.chosen.get(roster.stamp)
        if known is None:
            self.chosen[roster.stamp] = roster
            for name in self.up:
                self._look_at(name)
        elif known != roster:
            self.wrongs.append(f"{known} and {roster}")

    def _do(self, name: str, effect: Effect) -> None:
        match effect:
            case Ask(question=question):
                self.asked[type(question).__name__] += 1
            case Report(what=what):
                self.reports[name].append(what)
                self._reported(name, what)
        super()._do(name, effect)

    def _reported(self, name: str, what: Any) -> None:
        """Who was put out comes in again by somebody."""
        match what:
            case Departed():
                self.wanting.discard(name)
            case PutOut(roster):
                by = self.random.choice(roster.members).address
                self.clock.after(SECOND, partial(self._enter_again, name, by))

    def _enter_again(self, name: str, by: str) -> None:
        if name in self.wanting:
            self.take(name, Enter(by))

    def _asked(self, name: str, ask: Ask) -> None:
        """A question that does not arrive is given up; so is one whose answer does not, though it was heard."""
        answers = [] if self._is_lost(name, ask.of) else self.take(ask.of, ask.question)
        if not answers or self._is_lost(name, ask.of):
            self.clock.after(PATIENCE, partial(self.take, name, Unanswered(ask.question)))
            return
        for answer in answers:
            self.clock.after(self._ask_delay(), partial(self.take, name, answer))

    def _is_lost(self, name: str, to: str) -> bool:
        is_cut = frozenset((name, to.removeprefix(SCHEME))) in self.cut
        return is_cut or (self.loss > 0 and self.random.random() < self.loss)

    def _set_timer(self, name: str, when: Instant | None) -> None:
        true = None if when is None else Instant(self.clockworks[name].when(when))
        super()._set_timer(name, true)

    def _made(self, name: str, rows: Mapping[str, Any]) -> Machine[Any] | None:
        return RosterKeeper(self.nodes[name], rows, self.settings) if name in self.nodes else None
