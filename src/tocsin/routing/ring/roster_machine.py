"""A member of a ring and the roster: how it comes in, stays, changes it with the others, and goes.

Roster n+1 is chosen by a majority of the members of roster n. So the smaller part of a ring that was parted can change
nothing, and knows it: its members do not hear of a majority, and stop acting as members.

`now` must pass as time does: only what passes on this node's own clock is ever compared, and one that is set forward
would let a silence pass that was none.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Answer, Ask, Effect, Forget, Remember, Report, SetTimer, Woken
from tocsin.routing.ring.roster import NOWHERE, Life, Member, Roster, Stamp
from tocsin.routing.ring.roster_council import VOTE, Council, Effects
from tocsin.routing.ring.roster_hearing import NEVER, Hearing, Settings
from tocsin.routing.ring.roster_messages import (
    Accept,
    Accepted,
    Beat,
    Beaten,
    Behind,
    Chosen,
    Command,
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
    Members,
    Message,
    Newest,
    Overruled,
    Own,
    Pending,
    Prepare,
    Promised,
    PutOut,
    Refused,
    Reply,
    Stale,
    Suspect,
    Taken,
    Vote,
)
from tocsin.routing.ring.roster_passage import OWN, Passage
from tocsin.routing.ring.roster_wishes import MOST_ELSEWHERE, Wishes

ROSTER = "roster"  # the key of its row; those of its vote and its own are beside these
Standing = Literal["member", "alone", "out", "waiting"]
DEFAULTS = Settings()


class RosterKeeper:
    """`me` is what this node is from now on; its incarnation is the remembered one where that is higher, and its place
    on the circle stays while it is in."""

    def __init__(self, me: Member, rows: Mapping[str, Any], settings: Settings = DEFAULTS) -> None:
        own: Own = rows.get(OWN, Own(me.incarnation))
        me = replace(me, incarnation=max(me.incarnation, own.incarnation))
        self.roster: Roster | None = rows.get(ROSTER)
        known = None if self.roster is None else self.roster.living(me.life)
        self._passage = Passage(me if known is None else replace(me, id=known.id), own, settings)
        self._settings, self._wishes, self._hearing = settings, Wishes(settings), Hearing(me.life, settings)
        self._council = None if self.roster is None or known is None else self._sit(self.roster, rows.get(VOTE))
        self._is_begun = False
        self._timer: Instant | None = None

    def _sit(self, roster: Roster, vote: Vote | None = None, beat_at: Instant = NEVER) -> Council:
        return Council(self.me, roster, self._hearing, self._wishes, self._settings, vote, beat_at)

    # What others look at

    @property
    def me(self) -> Member:
        return self._passage.me

    @property
    def trouble(self) -> str:
        """Why it is not let in."""
        return self._passage.trouble

    @property
    def stamp(self) -> Stamp:
        return NOWHERE if self.roster is None else self.roster.stamp

    @property
    def contacts(self) -> tuple[str, ...]:
        """By whom it enters; none when it does not."""
        return self._passage.contacts

    @property
    def is_in(self) -> bool:
        return self._council is not None

    def standing(self, now: Instant) -> Standing:
        """Only a member may acknowledge anything. One that departs no longer does: the others agree to that without
        waiting for the end of its lease."""
        if self.roster is None or self._council is None:
            return "waiting" if self._passage.is_entering or not (self.roster or self._passage.is_leaving) else "out"
        if self._passage.is_leaving:
            return "alone" if len(self.roster.members) > 1 else "out"
        return "member" if now <= self._hearing.until(self.roster) else "alone"

    # Steps

    def step(self, message: Message, now: Instant) -> list[Effect]:
        if not self._is_begun:
            self._begin(now)
        effects = [*self._step(message, now), *self._decide(now)]
        times = (self._passage.due, self._council.due() if self._council is not None else None)
        due = min((each for each in times if each is not None), default=None)
        if due != self._timer:
            self._timer = due
            effects.append(SetTimer(due))
        return effects

    def _step(self, message: Message, now: Instant) -> Effects:
        if isinstance(message, Members):
            self._hearing.hear(message.by, now)
        match message:
            case Found() | Enter() | Depart() | Suspect() | Heard() | Force():
                return self._commanded(message, now)
            case Beat() | Entering() | Leaving():
                return [Answer(self._answer(message, now))]
            case Prepare() | Accept() | Decided():
                return self._asked(message, now)
            case Promised() | Accepted() | Overruled() if self._council is not None:
                return self._council.answered(message, now)
            case Pending() | Stale() | Refused() if self._passage.is_entering:
                return self._passage.answered(message, now)
            case Beaten():
                return self._beaten(message, now)
            case Learn(roster):
                return [*self._learn(roster, now), Answer(Taken())]
            case Newest(roster):
                return self._learn(roster, now)
            case Behind(by, stamp):
                return self._push(by, stamp)
            case Woken():
                self._timer = None
                return self._woken(now)
        return ()

    def _commanded(self, command: Command, now: Instant) -> Effects:
        match command:
            case Found() if self.roster is None:
                return self._found(now)
            case Enter(address, place):
                return self._enter(address, place, now)
            case Depart():
                return self._passage.leave(self.roster if self._council else None, now)
            case Force():
                return self._force(command, now)
            case Suspect(name) if name != self.me.name:
                self._wishes.suspect(name)
            case Heard(name):
                self._hear(name, now)
        return ()

    def _hear(self, name: str, now: Instant) -> None:
        self._wishes.trust(name)
        if self.roster is not None and (known := self.roster.get(name)) is not None:
            self._hearing.hear(known.life, now)

    def _begin(self, now: Instant) -> None:
        """For the first time or again, with what it remembers."""
        self._is_begun = True
        if self.roster is not None and self._council is not None:
            self._hearing.begin(self.roster, now, self._council.has_accepted)
            self._council.begin(now)
            self._correct(self.roster, now)
        self._passage.begin(now)

    def _woken(self, now: Instant) -> Iterator[Effect]:
        if self._passage.due is not None and self._passage.due <= now:
            yield from self._passage.ask(self.roster, now)
        if self._council is not None:
            yield from self._council.woken(now)

    # Coming in and going

    def _found(self, now: Instant) -> Iterator[Effect]:
        yield self._passage.live_anew(now)
        yield from self._learn(Roster(1, (self.me,), f"{self.me.name} {self.me.incarnation}"), now)

    def _enter(self, address: str, place: int | None, now: Instant) -> Effects:
        """Who is in need not; who left as the last of its ring may enter another."""
        if self.standing(now) not in ("out", "waiting"):
            return ()
        known = () if self.roster is None else self.roster.few(MOST_ELSEWHERE)
        is_last, self._council = self._council is not None, None
        return self._passage.enter(address, place, known, is_last, now)

    # Staying

    def _answer(self, asked: Beat | Entering | Leaving, now: Instant) -> Reply:
        match asked:
            case Beat(by, stamp, at):
                newer = self.roster if stamp < self.stamp else None
                is_granted = stamp == self.stamp and self._council is not None and self._council.grants(by)
                return Beaten(self.me.life, self.stamp, is_granted, at, newer)
            case Entering(member) if self.roster is not None and self._council is not None:
                return self._wishes.let_in(member, self.roster, self._hearing, now)
            case Leaving(base=base) if base != self.stamp:
                return self._elsewhere(base)
            case Leaving(life):
                self._wishes.depart(life, now)
        return Pending(() if self.roster is None else self.roster.few(MOST_ELSEWHERE))

    def _elsewhere(self, base: Stamp) -> Newest | Behind:
        """To a question about another roster than this node's."""
        return Newest(self.roster) if self.roster and base < self.stamp else Behind(self.me.life, self.stamp)

    def _beaten(self, answer: Beaten, now: Instant) -> Effects:
        if answer.granted:
            self._hearing.granted(answer.by, answer.at, now)
        if answer.roster is not None:
            return self._learn(answer.roster, now)
        return self._push(answer.by, answer.stamp)

    def _push(self, to: Life, stamp: Stamp) -> Effects:
        if self.roster is None or stamp >= self.stamp or (behind := self.roster.living(to)) is None:
            return ()
        return [Ask(behind.address, Learn(self.roster))]

    # Changing

    def _asked(self, asked: Prepare | Accept | Decided, now: Instant) -> Effects:
        roster = self.roster
        if roster is None or self._council is None or asked.base != self.stamp or roster.living(asked.by) is None:
            return [Answer(self._elsewhere(asked.base))]
        match asked:
            case Prepare():
                return self._council.prepare(asked, now)
            case Accept():
                return self._council.accept(asked, now)
            case Decided(change=change):
                return [*self._learn(roster.changed(change), now), Answer(Taken())]

    def _decide(self, now: Instant) -> Iterator[Effect]:
        """What this node proposed was chosen, in this very step."""
        if self._council is None or self.roster is None or self._council.chosen is None:
            return
        before, change = self.roster, self._council.chosen
        decided = Decided(self.me.life, before.stamp, change)
        yield from self._learn(before.changed(change), now)
        yield from (Ask(each.address, decided) for each in before.behind(self.me))
        yield from (Ask(each.address, Learn(self.roster)) for each in change.put if each.name != self.me.name)

    def _force(self, asked: Force, now: Instant) -> Iterator[Effect]:
        if self.roster is None or not self.is_in:
            raise Refusal("unknown-name", "this node is in no ring")
        unknown = [name for name in asked.out if self.roster.get(name) is None or name == self.me.name]
        if unknown or not asked.out:
            raise Refusal("unknown-name", f"not another member of the ring: {', '.join(unknown) or 'nobody'}")
        forced = self.roster.forced_without(asked.out)
        yield Report(Forced(forced, asked.out, asked.by))
        yield from self._learn(forced, now)
        yield from (Ask(each.address, Learn(forced)) for each in forced.behind(self.me))
        yield Answer(Newest(forced))

    def _learn(self, roster: Roster, now: Instant) -> Iterator[Effect]:
        """The newest holds; what was between is not missed."""
        was_in, mine = self.is_in, roster.living(self.me.life)
        is_in = mine is not None
        is_same = self.roster is not None and roster.ring == self.roster.ring
        if (was_in and not is_same) or (is_same and roster.stamp <= self.stamp) or not (was_in or is_in):
            return
        self.roster = roster
        if mine is not None:
            self._passage.stand(mine.id)
        self._wishes.learn(roster)
        yield Remember(ROSTER, roster)
        yield from self._belong(roster, now) if is_in else self._fall_out(roster)

    def _belong(self, roster: Roster, now: Instant) -> Iterator[Effect]:
        if self._council is not None:
            self._hearing.learn(roster, now)
            self._council = self._sit(roster, beat_at=self._council.beat_at)
        else:
            self._hearing = Hearing(self.me.life, self._settings)
            self._hearing.begin(roster, now, is_closed=False)
            self._council = self._sit(roster, beat_at=now)
            yield Forget(VOTE)  # it may be of another ring
        self._correct(roster, now)
        yield from self._passage.arrive()
        yield Report(Chosen(roster))
        if self._passage.is_leaving:
            yield from self._passage.leave(roster, now)

    def _correct(self, roster: Roster, now: Instant) -> None:
        """Its own entry: it may have been started at another address."""
        if roster.living(self.me.life) != self.me:
            self._wishes.correct(self.me, now)

    def _fall_out(self, roster: Roster) -> Iterator[Effect]:
        self._council = None
        yield Report(Departed(roster) if self._passage.is_leaving else PutOut(roster))
        yield self._passage.gone()
