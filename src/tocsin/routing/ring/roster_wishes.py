"""What a member would have changed in its roster, gathered for one proposal."""

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant, after
from tocsin.routing.ring.roster import Change, Life, Member, Roster
from tocsin.routing.ring.roster_hearing import ALWAYS, Hearing, Settings
from tocsin.routing.ring.roster_messages import Newest, Pending, Refused, Stale

LONGEST_LINE = 64  # turns that a proposer waits at most for those before it
FRESH = 2.5  # times that who enters asks, after which it is no longer taken to want to
MOST_ELSEWHERE = 16
_COLLISION = "{} has the identifier {}, which is that of {}: start it under another"
Answer = Newest | Pending | Stale | Refused


class _Wish(Struct):
    member: Member
    first: Instant
    last: Instant


class Wishes:
    """Not remembered: who enters or departs asks again, and who is silent stays so."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._entering: dict[str, _Wish] = {}
        self._departing: dict[Life, Instant] = {}
        self._silent: dict[Life, Instant] = {}  # when it is this node's turn to put it out
        self._hinted: set[str] = set()
        self._hold = Instant(0)

    def let_in(self, member: Member, roster: Roster, hearing: Hearing, now: Instant) -> Answer:
        """What a node is told that would come in."""
        known, wishes = roster.get(member.name), (each.member for each in self._entering.values())
        if known is not None and known.life == member.life:  # it may be at another place than it asks for by now
            return Newest(roster)
        if (refused := refusal(member, roster)) is not None:
            return refused
        if (other := next((each for each in wishes if _collide(each, member)), None)) is not None:
            return Refused(_COLLISION.format(member.name, member.id, other.name))
        self.enter(member, now)
        is_heard = known is not None and hearing.heard([known.life], now)
        return Pending(roster.few(MOST_ELSEWHERE), f"{member.name} was heard of under its former life" * bool(is_heard))

    def enter(self, member: Member, now: Instant) -> None:
        known = self._entering.get(member.name)
        first = now if known is None else known.first
        self._entering[member.name] = _Wish(member, first, now)

    def correct(self, me: Member, now: Instant) -> None:
        """This node's own entry: it does not ask again."""
        self._entering[me.name] = _Wish(me, now, ALWAYS)

    def depart(self, life: Life, now: Instant) -> None:
        self._departing.setdefault(life, now)

    def suspect(self, name: str) -> None:
        self._hinted.add(name)

    def trust(self, name: str) -> None:
        self._hinted.discard(name)

    def learn(self, roster: Roster) -> None:
        """A departure is from one roster: from the next it is asked for anew."""
        self._departing.clear()
        self._silent.clear()
        self._hinted = {each for each in self._hinted if roster.get(each) is not None}
        self._entering = {name: each for name, each in self._entering.items() if not refusal(each.member, roster)}

    def look(self, roster: Roster, watched: list[tuple[Member, int]], hearing: Hearing, now: Instant) -> None:
        """Who is silent by now; and how long others' wishes wait for who soon may be.

        Would they not wait, a roster that changes all the time would never be one in which somebody is silent.
        """
        hinted = [(each, len(watched)) for name in sorted(self._hinted) if (each := roster.get(name)) is not None]
        watched = [pair for pair in (*hinted, *watched) if roster.keepers(pair[0], self._settings.replicas)]
        turns = {each.life: turn for each, turn in watched if not hearing.is_kept(each.life, now)}
        silent = {life: turn for life, turn in turns.items() if hearing.silent_at(life) <= now}
        self._silent = {
            life: after(hearing.silent_at(life), self._settings.turn * min(turn, LONGEST_LINE))
            for life, turn in silent.items()
        }
        doubtful = (life for life in turns if life not in silent and hearing.is_doubtful(life, now))
        self._hold = max(map(hearing.silent_at, doubtful), default=now)

    def hold(self, now: Instant) -> float:
        """For how many seconds."""
        return max(0, self._hold - now) / SECOND

    def _forget(self, before: Instant) -> None:
        """Whoever does not ask any more: one that is let in and is not there counts against the majority."""
        self._entering = {name: each for name, each in self._entering.items() if each.last > before}

    def due(self) -> Instant | None:
        asked = [*(each.first for each in self._entering.values()), *self._departing.values()]
        held = [max(after(min(asked), self._settings.gather), self._hold)] if asked else []
        return min((*held, *self._silent.values()), default=None)

    def change(self, roster: Roster, hearing: Hearing, now: Instant) -> Change:
        """Former lives of those that come in must be silent, as all that are put out."""
        out = tuple(life for life in self._silent if hearing.silent_at(life) <= now and roster.living(life) is not None)
        departing = tuple(life for life in self._departing if roster.living(life) is not None and life not in out)
        gone = {name for name, _ in departing}
        self._forget(after(now, -FRESH * self._settings.again))
        wishes = [each for each in self._entering.values() if each.member.name not in gone]
        put = tuple(each.member for each in wishes if not hearing.heard(_former(each, roster), now))
        names = {each.name for each in put}
        return Change(put, tuple(each for each in out if each[0] not in names), departing)


def _former(wish: _Wish, roster: Roster) -> tuple[Life, ...]:
    return roster.without(Change((wish.member,)))


def refusal(member: Member, roster: Roster) -> Stale | Refused | None:
    """Why it cannot come in as what it is."""
    known, other = roster.get(member.name), roster.owner(member.id)
    if known is not None and known.incarnation >= member.incarnation:
        return Stale(known.incarnation)
    return Refused(_COLLISION.format(member.name, member.id, other.name)) if _collide(other, member) else None


def _collide(one: Member, other: Member) -> bool:
    return one.id == other.id and one.name != other.name
