"""How a node asks to come into a ring, and to go: until it is heard, each time somebody else."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from tocsin.model.identity import Instant, after
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Ask, Effect, Remember, Report
from tocsin.routing.ring.roster import NOWHERE, Member, Roster
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_messages import Departed, Entering, Leaving, Own, Pending, Refused, Stale

OWN = "own"  # the key of its row
MOST_CONTACTS = 16


class Passage:
    """Of `me`, as what it enters or is in the ring."""

    def __init__(self, me: Member, own: Own, settings: Settings) -> None:
        self.me, self._own, self._settings = me, own, settings
        self.trouble = ""
        self.due: Instant | None = None  # when it asks again
        self._tries = 0

    @property
    def contacts(self) -> tuple[str, ...]:
        return self._own.contacts

    @property
    def is_entering(self) -> bool:
        return bool(self._own.contacts)

    @property
    def is_leaving(self) -> bool:
        return self._own.leaving is not None

    def begin(self, now: Instant) -> None:
        self.due = now if self.is_entering or self.is_leaving else None

    def live_anew(self, now: Instant, least: int = 0) -> Effect:
        """Never less than the clock: who lost its rows lost its promises with them, and must not be taken for who made
        them."""
        self.me = replace(self.me, incarnation=max(self.me.incarnation + 1, least, now))
        return self._become(incarnation=self.me.incarnation, leaving=None)

    def enter(
        self, address: str, place: int | None, known: tuple[str, ...], is_last: bool, now: Instant
    ) -> Iterator[Effect]:
        """By this address, or by who was known before and may still be there. Who asked before and was not answered
        may be in already, and goes on as that life: without it the others may not be a majority."""
        if address == self.me.address:
            raise Refusal("unknown-name", f"{address} is this node's own address; name another node of the ring")
        if is_last or not (self.is_entering or self.is_leaving):
            yield self.live_anew(now)
        self._become(leaving=None)
        self.me = replace(self.me, id=self.me.id if place is None else place)
        yield self._meet((address, *self._own.contacts, *known))
        yield from self.ask(None, now)

    def leave(self, roster: Roster | None, now: Instant) -> Iterator[Effect]:
        """It stops to act as a member before it asks, and after a crash does not begin to again. Who is in no roster
        yet leaves the one it may be let into."""
        self.due = None
        if roster is not None or self.is_entering:
            yield self._become(contacts=(), leaving=NOWHERE if roster is None else roster.stamp)
        if roster is not None and len(roster.members) > 1:
            yield from self.ask(roster, now)
        else:
            yield Report(Departed(roster))

    def stand(self, place: int) -> None:
        """Where it was let in: it may have asked for another since. Nobody goes anywhere while it is in."""
        self.me = replace(self.me, id=place)

    def arrive(self) -> Iterator[Effect]:
        self.trouble, self.due = "", None
        if self.is_entering:
            yield self._become(contacts=())

    def gone(self) -> Effect:
        self.due = None
        return self._become(leaving=None)

    def ask(self, roster: Roster | None, now: Instant) -> Iterator[Effect]:
        others = () if roster is None else roster.behind(self.me)
        addresses = self._own.contacts or tuple(each.address for each in others)
        self.due = after(now, self._settings.again) if addresses else None
        self._tries += 1
        if self.is_entering:
            yield Ask(addresses[(self._tries - 1) % len(addresses)], Entering(self.me))
        elif roster is not None and addresses:
            yield Ask(addresses[(self._tries - 1) % len(addresses)], Leaving(self.me.life, roster.stamp))

    def answered(self, answer: Pending | Stale | Refused, now: Instant) -> Iterator[Effect]:
        match answer:
            case Pending(elsewhere, why):
                self.trouble = why
                first, *others = self._own.contacts
                if set(elsewhere) - {first, *others, self.me.address}:
                    yield self._meet((first, *elsewhere, *others))
            case Stale(incarnation) if incarnation >= self.me.incarnation:
                yield self.live_anew(now, incarnation + 1)
                yield from self.ask(None, now)
            case Refused(why):
                self.due = after(now, self._settings.silence)
                if why != self.trouble:
                    yield Report(answer)
                self.trouble = why

    def _meet(self, addresses: Iterable[str]) -> Effect:
        others = (each for each in dict.fromkeys(addresses) if each != self.me.address)
        return self._become(contacts=tuple(others)[:MOST_CONTACTS])

    def _become(self, **changes: object) -> Effect:
        self._own = replace(self._own, **changes)
        return Remember(OWN, self._own)
