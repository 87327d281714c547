"""How the change of a roster is decided: single-decree Paxos (Lamport, Paxos Made Simple s2.2), whose acceptors are the
members of that roster and object to putting out whom they hear of."""

from tocsin.model.identity import Instant
from tocsin.routing.ring.roster import Change, Life, Roster
from tocsin.routing.ring.roster_hearing import Hearing
from tocsin.routing.ring.roster_messages import (
    Accept,
    Accepted,
    Ballot,
    Objected,
    Overruled,
    Prepare,
    Promised,
    Vote,
)

FIRST = Ballot(0, "")


class Acceptor:
    """What it answers holds only when its `vote` is remembered before."""

    def __init__(self, me: Life, hearing: Hearing, vote: Vote) -> None:
        self._me, self._hearing, self.vote = me, hearing, vote

    def prepare(self, asked: Prepare, now: Instant) -> Promised | Overruled:
        vote = self.vote
        if asked.ballot < vote.promised:
            return Overruled(vote.base, asked.ballot, vote.promised)
        self.vote = Vote(vote.base, asked.ballot, vote.accepted, vote.change)
        heard = self._hearing.heard(asked.without, now)
        return Promised(self._me, vote.base, asked.ballot, vote.accepted, vote.change, heard)

    def accept(self, asked: Accept, roster: Roster, now: Instant) -> Accepted | Objected | Overruled:
        """One that was accepted elsewhere is objected to only until the leases of whom it puts out have ended: were it
        for ever, nothing could follow this roster."""
        vote, without = self.vote, roster.without(asked.change)
        if asked.ballot < vote.promised:
            return Overruled(vote.base, asked.ballot, vote.promised)
        if heard := self._hearing.heard(without, now):
            if asked.adopted:
                self._hearing.deny(heard, now)
            return Objected(self._me, vote.base, asked.ballot, heard)
        self._hearing.close(without, now)
        self.vote = Vote(vote.base, asked.ballot, asked.ballot, asked.change)
        return Accepted(self._me, vote.base, asked.ballot)


class Attempt:
    """A proposer's, with one ballot; given up at `until`."""

    def __init__(self, roster: Roster, ballot: Ballot, change: Change, until: Instant) -> None:
        self.roster, self.ballot, self.change, self.until = roster, ballot, change, until
        self.is_voting = self.is_adopted = False
        self._promises: dict[Life, Promised] = {}
        self._accepted: set[Life] = set()
        self._overruled = 0

    def is_lost(self, answer: Overruled) -> bool:
        """Whether there is no majority left for it."""
        self._overruled += answer.ballot == self.ballot
        return self._overruled > len(self.roster.members) - self.roster.majority

    def is_promised(self, answer: Promised) -> bool:
        """Whether a majority has promised by this one."""
        if self.is_voting or not self._is_to_this(answer):
            return False
        self._promises[answer.by] = answer
        return len(self._promises) >= self.roster.majority

    def vote(self, until: Instant) -> dict[Life, str]:
        """On what was accepted last, if anything was, for it may have been chosen; else on the own change without
        those whom somebody hears of: they and by whom."""
        self.is_voting, self.until = True, until
        former = [each for each in self._promises.values() if each.accepted is not None]
        if former:
            last = max(former, key=lambda each: each.accepted or FIRST)
            self.change, self.is_adopted = last.change or Change(), True
            return {}
        heard = {life: each.by[0] for each in self._promises.values() for life in each.heard}
        self.change = _keeping(self.change, heard)
        return heard

    @property
    def wait(self) -> float:
        """How long others ask it to, in seconds. Who puts somebody out does not."""
        is_free = not self.is_adopted and not self.change.out
        return max(each.wait for each in self._promises.values()) if is_free else 0.0

    def is_chosen(self, answer: Accepted) -> bool:
        if not self.is_voting or not self._is_to_this(answer):
            return False
        self._accepted.add(answer.by)
        return len(self._accepted) >= self.roster.majority

    def _is_to_this(self, answer: Promised | Accepted) -> bool:
        is_same = (answer.base, answer.ballot) == (self.roster.stamp, self.ballot)
        return is_same and self.roster.living(answer.by) is not None


def _keeping(change: Change, kept: dict[Life, str]) -> Change:
    names = {name for name, _ in kept}
    put = tuple(each for each in change.put if each.name not in names)
    return Change(put, tuple(each for each in change.out if each not in kept), change.departing)
