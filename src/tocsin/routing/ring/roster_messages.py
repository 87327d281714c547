"""What the members of a ring say to each other about who is in it, what a member is told by its own node, and what it
reports.

A roster is changed by single-decree Paxos among its members (Lamport, Paxos Made Simple s2): one decision for each
roster, which is the change to the next. Members ask each other and hear the answer; nothing is kept for later.
"""

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.machine import Expire, Started, Unanswered, Woken
from tocsin.routing.ring.roster import Change, Life, Member, Roster, Stamp


class Ballot(Struct, frozen=True, order=True):
    round: int
    name: str


# From the node itself


class Found(Struct, frozen=True):
    """A ring of one."""


class Enter(Struct, frozen=True):
    """The ring of which a member is at this address, at that place of the circle, or where it was last."""

    address: str
    place: int | None = None


class Depart(Struct, frozen=True):
    """For good: there is no staying after this, only entering again."""


class Suspect(Struct, frozen=True):
    """Whoever watches thinks that it is down."""

    name: str


class Heard(Struct, frozen=True):
    name: str


class Force(Struct, frozen=True):
    """An operator's last resort when a majority is gone for good: puts these out without asking anybody.

    Dangerous: if they still run and reach each other, there are two rings until they meet; then the forced one holds,
    and what the others acknowledged meanwhile is theirs alone. At one node only, and only when they are surely down.
    """

    out: tuple[str, ...]
    by: str


# Questions between members


class Entering(Struct, frozen=True):
    member: Member


class Leaving(Struct, frozen=True):
    """That life wants out of that roster, and acts as its member no more, whatever becomes of it."""

    life: Life
    base: Stamp


class Beat(Struct, frozen=True):
    """`at` is on the asker's clock, for the asker alone."""

    by: Life
    stamp: Stamp
    at: Instant


class Prepare(Struct, frozen=True):
    """`base` is the roster that is to be changed; `without` whom the proposer would put out for being silent."""

    by: Life
    base: Stamp
    ballot: Ballot
    without: tuple[Life, ...] = ()


class Accept(Struct, frozen=True):
    """`adopted`: others may have accepted it before, so that it can no longer be given up for another."""

    by: Life
    base: Stamp
    ballot: Ballot
    change: Change
    adopted: bool = False


class Decided(Struct, frozen=True):
    """A majority of that roster accepted the change."""

    by: Life
    base: Stamp
    change: Change


class Learn(Struct, frozen=True):
    """A roster whole, to who is behind or comes in."""

    roster: Roster


# Answers; ballots are counted anew in each roster, so those to them name it too


class Newest(Struct, frozen=True):
    """The question was about an older roster, or this is the one that was asked for."""

    roster: Roster


class Pending(Struct, frozen=True):
    """It is heard, nothing is decided; `elsewhere` can be asked too. `why`: what it waits for."""

    elsewhere: tuple[str, ...] = ()
    why: str = ""


class Stale(Struct, frozen=True):
    """The name is in the roster, with this incarnation: yours must be higher."""

    incarnation: int


class Refused(Struct, frozen=True):
    """Also reported by who was refused."""

    why: str


class Beaten(Struct, frozen=True):
    """`granted`: who answers will not put the asker out of that roster for as long as its silence lasts. With a roster,
    the asker is behind."""

    by: Life
    stamp: Stamp
    granted: bool
    at: Instant
    roster: Roster | None = None


class Promised(Struct, frozen=True):
    """With what was accepted before, if anything; `heard`: those of `without` that are not silent here. `wait`: seconds
    after which somebody may have to be put out, for whom other changes are to wait."""

    by: Life
    base: Stamp
    ballot: Ballot
    accepted: Ballot | None = None
    change: Change | None = None
    heard: tuple[Life, ...] = ()
    wait: float = 0.0


class Accepted(Struct, frozen=True):
    by: Life
    base: Stamp
    ballot: Ballot


class Objected(Struct, frozen=True):
    """It is not accepted, for these were heard of."""

    by: Life
    base: Stamp
    ballot: Ballot
    heard: tuple[Life, ...]


class Overruled(Struct, frozen=True):
    """A higher ballot was promised."""

    base: Stamp
    ballot: Ballot
    higher: Ballot


class Behind(Struct, frozen=True):
    """Who answers does not know that roster yet."""

    by: Life
    stamp: Stamp


class Taken(Struct, frozen=True):
    """There is nothing to say to it."""


# What is reported


class Chosen(Struct, frozen=True):
    """The roster of which this node is a member now."""

    roster: Roster


class PutOut(Struct, frozen=True):
    """By the others, for they did not hear of it; it may enter again."""

    roster: Roster


class Departed(Struct, frozen=True):
    """As it asked for; without a roster it was in none."""

    roster: Roster | None


class Forced(Struct, frozen=True):
    """An operator put these out."""

    roster: Roster
    out: tuple[str, ...]
    by: str


class Kept(Struct, frozen=True):
    """A member that is silent here stays in, for others hear of it: the line between is bad."""

    name: str
    heard_by: str


# What is remembered


class Vote(Struct, frozen=True):
    """On what follows the roster `base`: the highest ballot that was promised, and what was accepted last."""

    base: Stamp
    promised: Ballot
    accepted: Ballot | None = None
    change: Change | None = None


class Own(Struct, frozen=True):
    """`contacts`: the addresses by which it enters, none when it does not. `leaving`: the roster it wants out of."""

    incarnation: int
    contacts: tuple[str, ...] = ()
    leaving: Stamp | None = None


Command = Found | Enter | Depart | Suspect | Heard | Force
Question = Entering | Leaving | Beat | Prepare | Accept | Decided | Learn
Reply = Newest | Pending | Stale | Refused | Beaten | Promised | Accepted | Objected | Overruled | Behind | Taken
Members = Beat | Prepare | Accept | Decided | Beaten | Promised | Accepted | Objected  # who says so is named in them
Message = Command | Question | Reply | Started | Woken | Unanswered | Expire
Row = Roster | Vote | Own
