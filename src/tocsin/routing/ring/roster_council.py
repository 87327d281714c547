"""A member among those who decide what follows their roster: it answers the others' proposals, and makes its own."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tocsin.model.identity import Instant, after
from tocsin.routing.machine import Answer, Ask, Effect, Remember, Report
from tocsin.routing.ring.identifiers import SIZE, identifier_of
from tocsin.routing.ring.roster import Change, Life, Member, Roster
from tocsin.routing.ring.roster_hearing import ALWAYS, Hearing, Settings
from tocsin.routing.ring.roster_messages import (
    Accept,
    Accepted,
    Ballot,
    Beat,
    Kept,
    Learn,
    Overruled,
    Prepare,
    Promised,
    Vote,
)
from tocsin.routing.ring.roster_votes import FIRST, Acceptor, Attempt
from tocsin.routing.ring.roster_wishes import Wishes

VOTE = "vote"  # the key of its row
MOST_DOUBLINGS = 4
MOST_SETTLING = 64  # turns over which those who would settle what was left open are spread
Effects = Iterable[Effect]


class Council:
    """Of one roster. When a change is `chosen` there is another."""

    def __init__(
        self,
        me: Member,
        roster: Roster,
        hearing: Hearing,
        wishes: Wishes,
        settings: Settings,
        vote: Vote | None,
        beat_at: Instant,
    ) -> None:
        self.beat_at = beat_at
        self._me, self._roster, self._hearing, self._wishes, self._settings = me, roster, hearing, wishes, settings
        is_fresh = vote is None or vote.base != roster.stamp
        self._acceptor = Acceptor(me.life, hearing, Vote(roster.stamp, FIRST) if is_fresh or vote is None else vote)
        self._others = roster.behind(me)
        self.chosen: Change | None = None
        self._attempt: Attempt | None = None
        self._round = self._failures = self._told = 0
        self._not_before = Instant(0)
        self._settle_at: Instant | None = None

    @property
    def has_accepted(self) -> bool:
        return self._acceptor.vote.accepted is not None

    def begin(self, now: Instant) -> None:
        """Again: who proposed what was accepted may be gone."""
        self.beat_at = now
        if self.has_accepted:
            self._settle_later(now)

    def due(self) -> Instant:
        """When it wants to be woken."""
        return min(self.beat_at, self._proposal_due())

    def _proposal_due(self) -> Instant:
        if self._attempt is not None:
            return self._attempt.until
        wanted = [each for each in (self._wishes.due(), self._settle_at) if each is not None]
        return max(min(wanted), self._not_before) if wanted else ALWAYS

    def woken(self, now: Instant) -> Iterator[Effect]:
        if self.beat_at <= now:
            yield from self._beat(now)
        if self._proposal_due() <= now:
            if self._attempt is None:
                yield from self._propose(now)
            else:
                self._give_up(now)

    def _beat(self, now: Instant) -> Iterator[Effect]:
        watched = self._hearing.watched(self._roster, self._me, now)
        self._wishes.look(self._roster, watched, self._hearing, now)
        self.beat_at = after(now, self._settings.pace(len(self._roster.members)))
        beat = Beat(self._me.life, self._roster.stamp, now)
        yield from (Ask(each.address, beat) for each, _ in watched)
        if self._roster.gone and self._roster.members[0].life == self._me.life:
            self._told += 1
            yield Ask(self._roster.gone[self._told % len(self._roster.gone)], Learn(self._roster))

    def grants(self, life: Life) -> bool:
        """Whether it lets that one act as a member."""
        return self._roster.living(life) is not None and self._hearing.grants(life)

    # As an acceptor

    def prepare(self, asked: Prepare, now: Instant) -> Effects:
        """Who has promised lets the other one try first."""
        before, answer = self._acceptor.vote, self._acceptor.prepare(asked, now)
        self._round = max(self._round, self._acceptor.vote.promised.round)
        if isinstance(answer, Promised):
            self._not_before = max(self._not_before, after(now, self._patience))
            answer = replace(answer, wait=self._wishes.hold(now))
        return [*self._remember(before), Answer(answer)]

    def accept(self, asked: Accept, now: Instant) -> Effects:
        before, answer = self._acceptor.vote, self._acceptor.accept(asked, self._roster, now)
        if isinstance(answer, Accepted):
            self._settle_later(now)
        return [*self._remember(before), Answer(answer)]

    def _remember(self, before: Vote) -> Effects:
        return [] if self._acceptor.vote == before else [Remember(VOTE, self._acceptor.vote)]

    def _settle_later(self, now: Instant) -> None:
        """Whoever proposed it should have told by then what became of it."""
        turns = min(len(self._roster.members), MOST_SETTLING) * self._share("settle")
        self._settle_at = after(now, 2 * self._patience + turns * self._settings.turn)

    # As a proposer

    def _propose(self, now: Instant) -> Iterator[Effect]:
        """Only who acts as a member proposes changes; whoever accepted one may have to bring it to its end."""
        change = self._wanted(now) if now <= self._hearing.until(self._roster) else Change()
        self._settle_at = None
        if not change and not self.has_accepted:
            self._not_before = after(now, self._settings.beat)
            return
        self._round = max(self._round, self._acceptor.vote.promised.round) + 1
        ballot = Ballot(self._round, self._me.name)
        asked = Prepare(self._me.life, self._roster.stamp, ballot, self._roster.without(change))
        self._attempt = Attempt(self._roster, ballot, change, after(now, self._patience))
        own = self._acceptor.prepare(asked, now)
        yield Remember(VOTE, self._acceptor.vote)
        yield from (Ask(each.address, asked) for each in self._others)
        assert isinstance(own, Promised), "no ballot of before is as high"
        yield from self._promised(own, now)

    def _wanted(self, now: Instant) -> Change:
        """Nothing that leaves a roster whose majority may be down: who departs waits for who is to be put out."""
        change = self._wishes.change(self._roster, self._hearing, now)
        coming = [each.life for each in change.put]
        return change if self._hearing.carries(self._roster.changed(change), coming, now) else Change()

    def answered(self, answer: Promised | Accepted | Overruled, now: Instant) -> Effects:
        match answer:
            case Promised():
                return self._promised(answer, now)
            case Accepted():
                self._accepted(answer)
            case Overruled():
                self._overruled(answer, now)
        return ()

    def _promised(self, answer: Promised, now: Instant) -> Iterator[Effect]:
        attempt = self._attempt
        if attempt is None or not attempt.is_promised(answer):
            return
        for life, by in attempt.vote(after(now, self._patience)).items():
            self._hearing.keep(life, now)
            yield Report(Kept(life[0], by))
        if attempt.change and not attempt.wait:
            yield from self._put_to_vote(attempt, now)
        else:
            self._attempt, self._not_before = None, after(now, attempt.wait or self._settings.beat)

    def _put_to_vote(self, attempt: Attempt, now: Instant) -> Iterator[Effect]:
        asked = Accept(self._me.life, self._roster.stamp, attempt.ballot, attempt.change, attempt.is_adopted)
        before, own = self._acceptor.vote, self._acceptor.accept(asked, self._roster, now)
        yield from self._remember(before)
        yield from (Ask(each.address, asked) for each in self._others)
        if isinstance(own, Accepted):
            self._accepted(own)

    def _accepted(self, answer: Accepted) -> None:
        if self._attempt is not None and self._attempt.is_chosen(answer):
            self.chosen, self._attempt = self._attempt.change, None

    def _overruled(self, answer: Overruled, now: Instant) -> None:
        if self._attempt is not None and answer.base == self._roster.stamp:
            self._round = max(self._round, answer.higher.round)
            if self._attempt.is_lost(answer):
                self._give_up(now)

    def _give_up(self, now: Instant) -> None:
        """For a while that is another for each name, and longer each time: of two that compete one comes through."""
        self._attempt = None
        wait = self._settings.turn * self._doubled * (0.5 + self._share(str(self._failures)))
        self._failures += 1
        self._not_before = max(self._not_before, after(now, wait))
        self._settle_at = now if self.has_accepted else None

    @property
    def _doubled(self) -> int:
        return 1 << min(self._failures, MOST_DOUBLINGS)

    @property
    def _patience(self) -> float:
        """The more was given up, the slower others may be."""
        return self._settings.patience * self._doubled

    def _share(self, salt: str) -> float:
        """Of a whole, as if by chance."""
        return identifier_of(f"{self._me.name} {self._roster.number} {salt}") / SIZE
