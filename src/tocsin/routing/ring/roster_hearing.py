"""Whom a member hears of, and who hears of it: what it may put out, and how long it may act itself.

A member acts as one only while a majority *granted* it to, each for a lease. Who grants does not agree to put it out
before a silence has passed, which is longer. Majorities meet: so who is put out has stopped acting before. Three rules
carry this across changes of the roster and crashes:
- a lease counts from when it was asked for, a silence from when it was granted: both are durations on one clock;
- who accepted a change grants nothing more in the roster of before, not even to itself;
- who learns of a roster, or starts again, takes all in it for heard of at that moment.
"""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.roster import Life, Member, Roster

DRIFT = 1.1  # how much longer a silence must be than a lease: clocks do not run at one speed
SPARE = 2  # members that are asked beyond a majority
FEW = 64  # members up to which beats keep their pace
NEVER, ALWAYS = Instant(-(1 << 62)), Instant(1 << 62)


class Settings(Struct, frozen=True):
    """In seconds. `gather`: in which changes are gathered for one proposal. `turn`: by how much the next one waits for
    who is before it. `patience`: with a proposal. `again`: after which who enters or departs asks again.

    What a member has is at so many `replicas`, its own among them. Where no other is, what it has is on its own disk
    alone: then it is waited for, however long it is silent."""

    beat: float = 1.0
    lease: float = 5.0
    silence: float = 8.0
    gather: float = 0.05
    turn: float = 0.25
    patience: float = 1.0
    again: float = 1.0
    replicas: int = 3

    def __post_init__(self) -> None:
        if self.silence < self.lease * DRIFT:
            raise ValueError(f"silence must be at least {DRIFT} times the lease, else who is put out may still act")
        if self.lease < self.beat * 2:
            raise ValueError("lease must be at least two beats, else one that is lost ends it")

    def pace(self, members: int) -> float:
        """How often beats go out: in large rosters as seldom as leases allow."""
        return max(self.beat, min(self.beat * members / FEW, self.lease / 3))


class Hearing:
    """Of the life `me`, as a member of a roster."""

    def __init__(self, me: Life, settings: Settings) -> None:
        self._me = me
        self._lease, self._silence = round(settings.lease * SECOND), round(settings.silence * SECOND)
        self._heard: dict[Life, Instant] = {}  # or when it was learned of
        self._spoke: dict[Life, Instant] = {}
        self._granted: dict[Life, Instant] = {}  # to this node: when that was asked for
        self._kept: dict[Life, Instant] = {}  # silent here, heard by others
        self._began = self._since = NEVER
        self._is_closed = False  # it accepted a change
        self._denied: set[Life] = set()
        self._until: Instant | None = None

    def begin(self, roster: Roster, now: Instant, is_closed: bool) -> None:
        """Again, knowing nothing of what it granted before."""
        self.learn(roster, now)
        self._began, self._is_closed = now, is_closed

    def learn(self, roster: Roster, now: Instant) -> None:
        lives = [each.life for each in roster.members]
        self._heard = {life: self._heard.get(life, now) for life in lives}
        self._spoke = {life: self._spoke[life] for life in lives if life in self._spoke}
        self._granted = {life: self._granted[life] for life in lives if life in self._granted}
        self._kept = {life: self._kept[life] for life in lives if life in self._kept}
        self._since, self._is_closed, self._until = now, False, None
        self._denied.clear()

    # Others

    def hear(self, life: Life, now: Instant) -> None:
        """One that is denied is not heard: it could not be put out as long as it speaks."""
        if life in self._heard and life not in self._denied:
            self._heard[life] = self._spoke[life] = now

    def carries(self, roster: Roster, coming: Iterable[Life], now: Instant) -> bool:
        """Whether a majority of that roster is surely there: those it heard of just now, and those that come in."""
        sure = {*coming, self._me, *(life for life, at in self._spoke.items() if 2 * (now - at) <= self._lease)}
        return sum(each.life in sure for each in roster.members) >= roster.majority

    def keep(self, life: Life, now: Instant) -> None:
        self._kept[life] = now

    def silent_at(self, life: Life) -> Instant:
        """When it will be, if nothing is heard of it."""
        if life != self._me:
            heard = self._heard.get(life, NEVER)
        else:
            heard = self._granted.get(life, NEVER) if self._is_ended else ALWAYS
        return Instant(max(heard, self._since) + self._silence)

    def heard(self, lives: Iterable[Life], now: Instant) -> tuple[Life, ...]:
        """Those of them that may not be put out."""
        return tuple(each for each in lives if self.silent_at(each) > now)

    def is_kept(self, life: Life, now: Instant) -> bool:
        return now - self._kept.get(life, NEVER) < 2 * self._silence

    def is_doubtful(self, life: Life, now: Instant) -> bool:
        """Whether nothing was heard of it for so long that it may soon have to be put out; other than of silence, a
        new roster takes nothing away from that."""
        return now - self._heard.get(life, now) > self._lease

    def watched(self, roster: Roster, me: Member, now: Instant) -> list[tuple[Member, int]]:
        """Whom to ask for a lease: as many behind this node as make a majority, and some more for each that does not
        answer. With how many there are between that would see the same before."""
        found, fresh = list[tuple[Member, int]](), 0
        for each in roster.behind(me):
            if fresh >= roster.majority - 1 + SPARE:
                break
            found.append((each, fresh))
            fresh += 2 * (now - self._heard.get(each.life, now)) <= self._lease
        return found

    # Leases

    def grants(self, life: Life) -> bool:
        return not self._is_closed and life not in self._denied

    def close(self, without: Iterable[Life], now: Instant) -> None:
        """It accepted a change. Its own lease ends as one that it granted now."""
        self.deny(without, now)
        if not self._is_ended:
            self._granted[self._me] = now
        self._is_closed, self._until = True, None

    def deny(self, lives: Iterable[Life], now: Instant) -> None:
        """They are to be put out, for that can no longer be given up; but not before the lease they have has ended."""
        lives = set(lives)
        if self._me in lives and not self._is_ended:
            self._granted[self._me] = now
        self._denied |= lives
        self._until = None

    def granted(self, by: Life, at: Instant, now: Instant) -> None:
        if by in self._heard and by != self._me and self._began <= at <= now:
            self._granted[by] = max(at, self._granted.get(by, NEVER))
            self._until = None

    def until(self, roster: Roster) -> Instant:
        """How long a majority lets it act, if nothing more is heard."""
        if self._until is None:
            own = self._granted.get(self._me, NEVER) if self._is_ended else ALWAYS
            others = (self._granted.get(each.life, NEVER) for each in roster.members if each.life != self._me)
            self._until = Instant(sorted((own, *others), reverse=True)[roster.majority - 1] + self._lease)
        return self._until

    @property
    def _is_ended(self) -> bool:
        """Whether it no longer grants to itself."""
        return self._is_closed or self._me in self._denied
