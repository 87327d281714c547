"""A node of the tree: whom it asks, what it asks for, and who asks it (Siena's hierarchical dispatch).

What is asked for here or below goes up with covering. What is published goes up always, and down where it was asked
for: so a parent's interests need not be known to its children. Notifications themselves travel by subscriptions, one
for each neighbour, which this machine has its node keep.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tocsin.model.identity import Instant, after
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Answer, Ask, Deliver, Effect, Expire, Forget, Remember, SetTimer, Started, Unanswered
from tocsin.routing.machine import Woken as Woken
from tocsin.routing.tree.interest import EVERYTHING, Interest, Union
from tocsin.routing.tree.messages import (
    Above,
    Child,
    End,
    Former,
    Join,
    Joined,
    Leave,
    Left,
    Message,
    Open,
    Own,
    Refused,
    Remove,
    Removed,
    Stand,
    Unknown,
)
from tocsin.routing.tree.widening import Conjunction

QUIET = 0.05  # seconds in which changes are gathered before the parent is told
STILL_THERE = 30.0  # seconds after which a child says so
AGAIN_FIRST, AGAIN_LAST = 0.25, 5.0  # seconds, when the parent does not answer
REFUSED_AGAIN = 30.0  # seconds, when it refuses
DEEPEST = 32  # nodes from the root down
LONGEST_LEAVING = 86_400.0  # seconds in which a former parent is told; then it is up to its operator
PARENT = "parent"  # the key of its row
Alternatives = tuple[Conjunction, ...]


class Position(Struct, frozen=True):
    """Of a node in the tree: its own address and name, its parent's address, and how many children it takes; `closed`
    says why none."""

    node: str
    name: str = ""
    parent: str = ""
    most: int = 32
    closed: str = ""


class TreeNode:
    """`session` is when its process began. `own` are what its own subscriptions ask for: known from the beginning, for
    who told its parent less would lose what comes meanwhile."""

    def __init__(
        self, at: Position, session: Instant, rows: Mapping[str, Any], own: Mapping[str, Alternatives] | None = None
    ) -> None:
        self.at, self._session = at, session
        self._row: Above | None = rows.get(PARENT)
        self.children = {
            each.node: each for each in rows.values() if isinstance(each, Child) and each.node != at.parent
        }
        self._formers = {each.parent: each for each in rows.values() if isinstance(each, Former)}
        self._stale = [key for key, each in rows.items() if isinstance(each, Child) and each.node == at.parent]
        self._union = Union()
        for who, alternatives in (own or {}).items() if at.parent else ():
            self._union.put(f"own {who}", alternatives)
        for child in self._present():
            self._union.put(f"child {child.node}", child.interest.alternatives)
        self.heard: dict[str, Instant] = {}  # when each child was heard of last
        self.above: tuple[str, ...] = ()
        self.trouble = ""
        self._version, self._said, self._asked = 0, Interest(), Interest()
        self._changed = self._whole = True
        self._asking, self._failures = False, 0
        self._join_at: Instant | None = None
        self._leave_at: Instant | None = None
        self._timer: Instant | None = None

    # What others look at

    @property
    def joined(self) -> Instant | None:
        return None if self._row is None else self._row.joined

    @property
    def interest(self) -> Interest:
        return self._union.interest()

    @property
    def is_too_much(self) -> bool:
        return self._union.is_too_much

    @property
    def is_heard(self) -> bool:
        """Whether the parent knows all that is asked for here by now."""
        return not self._changed and not self._asking and self.joined is not None

    def present(self) -> list[Child]:
        return sorted(self._present(), key=lambda each: each.node)

    def formers(self) -> list[str]:
        return sorted(self._formers)

    def neighbours(self) -> list[str]:
        return [*([self.at.parent] if self.at.parent else []), *(each.node for each in self.present())]

    def takes_from(self, neighbour: str) -> bool:
        """Of a former parent as long as it was not told: what it had for this node is on its way."""
        child = self.children.get(neighbour)
        known = neighbour == self.at.parent or neighbour in self._formers
        return bool(neighbour) and (known or (child is not None and not child.removed))

    def _present(self) -> Iterator[Child]:
        return (each for each in self.children.values() if not each.removed)

    # Steps

    def step(self, message: Message, now: Instant) -> list[Effect]:
        effects = list(self._step(message, now))
        due = min((each for each in (self._join_at, self._leave_at) if each is not None), default=None)
        if due != self._timer:
            self._timer = due
            effects.append(SetTimer(due))
        return effects

    def _step(self, message: Message, now: Instant) -> Iterable[Effect]:
        match message:
            case Started():
                return self._start(now)
            case Own(subscription, alternatives):
                return self._put(f"own {subscription}", alternatives, now)
            case Join():
                return self._join(message, now)
            case Leave():
                return self._leave(message, now)
            case Joined():
                return self._is_joined(message, now)
            case Unknown():
                return self._ask_again(now) if self._asking else ()
            case Refused(why):
                return self._is_refused(why, now) if self._asking else ()
            case Left(called):
                return self._has_left(called)
            case Unanswered(question, why):
                return self._unanswered(question, why, now)
            case Remove(neighbour):
                return self._remove(neighbour, now)
            case Woken():
                self._timer = None
                return self._woken(now)
            case Expire():
                return ()

    def _start(self, now: Instant) -> Iterator[Effect]:
        """With all neighbours as they are remembered, and another parent if there is one."""
        parent, row = self.at.parent, self._row
        yield from map(Forget, self._stale)  # a child that is the parent now
        for child in self._present():
            yield Deliver(Stand(child.node, child.interest, child.called))
        if row is not None and row.parent != parent:
            self._formers[row.parent] = former = Former(row.parent, now)
            yield Remember(_former(row.parent), former)
        if parent:
            if self._formers.pop(parent, None) is not None:
                yield Forget(_former(parent))
            yield from self._start_below(parent, row, now)
        elif row is not None:
            self._row = None
            yield Forget(PARENT)
            yield Deliver(End(row.parent))
        self._leave_at = now if self._formers and not parent else None
        yield from self._woken(now)

    def _start_below(self, parent: str, row: Above | None, now: Instant) -> Iterator[Effect]:
        former = row.parent if row is not None and row.parent != parent else ""
        joined = None if row is None or former else row.joined
        self._row = Above(parent, self.at.node if row is None or former else row.node, joined)
        self._join_at = now
        yield Remember(PARENT, self._row)
        yield Deliver(Stand(parent, EVERYTHING, self.at.node, former))
        yield Deliver(Open(parent, joined is not None))

    # To the parent

    def _put(self, who: str, alternatives: Alternatives, now: Instant) -> Iterable[Effect]:
        """Who has no parent asks for nothing."""
        if self.at.parent:
            self._union.put(who, alternatives)
            self._changed = True
            if not self._asking and self.joined is not None and not self._failures:
                self._join_at = min(self._join_at or now, after(now, QUIET))
        return ()

    def _woken(self, now: Instant) -> Iterator[Effect]:
        if self._join_at is not None and self._join_at <= now and not self._asking:
            yield self._ask(now)
        if self._leave_at is not None and self._leave_at <= now:
            self._leave_at = None
            for each in list(self._formers.values()):
                yield from self._ask_to_leave(each, now)

    def _ask(self, now: Instant) -> Effect:
        self._asking, self._join_at = True, None
        self._union.look_again()
        if self._changed:
            interest, self._changed = self._union.interest(), False
            if self._whole or set(interest.alternatives) != set(self._said.alternatives):
                self._said, self._whole = interest, True
        if self._whole:
            self._version = max(self._version + 1, now)
        assert self._row is not None
        before = self._row.node if self._row.node != self.at.node else ""
        said = self._said if self._whole else None
        return Ask(
            self.at.parent, Join(self.at.node, self.at.name, self.at.parent, self._session, self._version, said, before)
        )

    def _is_joined(self, answer: Joined, now: Instant) -> Iterable[Effect]:
        """To what was asked last; a parent that knows a later version heard it while our clock was ahead."""
        if not self._asking or answer.version < self._version:
            return ()
        if answer.version > self._version:
            self._version = answer.version
            return self._ask_again(now)
        is_back, self._failures, self.trouble = self._failures > 0, 0, ""
        self.above, self._asking, self._whole = answer.above, False, False
        if self.at.node in answer.above or len(answer.above) >= DEEPEST:
            return self._is_refused(self._circle(answer.above), now)
        self._join_at = after(now, QUIET if self._changed else STILL_THERE)
        self._leave_at = now if self._formers and self._leave_at is None else self._leave_at
        effects: list[Effect] = []
        row = Above(self.at.parent, self.at.node, self.joined or now)
        if self._row != row:
            effects.append(Remember(PARENT, row))
        if self._row != row or is_back:
            effects.append(Deliver(Open(self.at.parent, True)))
        self._row = row
        return [*effects, *self._woken(now)]

    def _ask_again(self, now: Instant) -> Iterable[Effect]:
        self._asking, self._whole, self._join_at = False, True, now
        return self._woken(now)

    def _circle(self, above: tuple[str, ...]) -> str:
        if len(above) >= DEEPEST:
            return f"this node would be more than {DEEPEST} below the root; join one that is higher up"
        way = " -> ".join((self.at.node, *above[: above.index(self.at.node) + 1]))
        return f"the nodes would be joined in a circle, {way}; start one of them without --parent"

    def _is_refused(self, why: str, now: Instant) -> Iterable[Effect]:
        """There may be room later."""
        self.trouble, self._asking, self._whole = why, False, True
        self._join_at = after(now, REFUSED_AGAIN)
        if self._row is None or self._row.joined is None:
            return ()
        self._row = replace(self._row, joined=None)
        leave = Ask(self.at.parent, Leave(self.at.node, self.at.parent, self._session))
        return [Remember(PARENT, self._row), Deliver(Open(self.at.parent, False)), leave]

    def _unanswered(self, question: object, why: str, now: Instant) -> Iterable[Effect]:
        wait = min(AGAIN_LAST, AGAIN_FIRST * 2 ** min(self._failures, 20))
        match question:
            case Join(session=session) if session == self._session and self._asking:
                self._asking, self._whole, self._changed = False, True, True
                self._failures, self.trouble = self._failures + 1, why
                self._join_at = after(now, wait)
            case Leave(called=called) if called in self._formers:
                if after(self._formers[called].since, LONGEST_LEAVING) <= now:
                    return self._has_left(called)
                self._leave_at = after(now, REFUSED_AGAIN)
        return ()

    def _ask_to_leave(self, former: Former, now: Instant) -> Iterable[Effect]:
        del now
        return [Ask(former.parent, Leave(self.at.node, former.parent, self._session))]

    def _has_left(self, called: str) -> Iterable[Effect]:
        return [Forget(_former(called))] if self._formers.pop(called, None) is not None else []

    # From children

    def _join(self, asked: Join, now: Instant) -> Iterable[Effect]:
        known, above = self.children.get(asked.node), (self.at.node, *self.above)
        if (why := self._refusal(asked, known)) is not None:
            return [Answer(Refused(why))]
        if known is None or known.removed:
            if asked.interest is None:
                return [Answer(Unknown())]
        elif asked.version < known.version or (asked.version, asked.session) == (known.version, known.session):
            self.heard[asked.node] = now
            return [Answer(Joined(known.version, above))]
        elif asked.interest is None:
            return [Answer(Unknown())]
        return [*self._take_in(asked, asked.interest, known, now), Answer(Joined(asked.version, above))]

    def _refusal(self, asked: Join, known: Child | None) -> str | None:
        others = [each for each in self._present() if each.node not in (asked.node, asked.before)]
        if self.at.closed:
            return self.at.closed
        if asked.node in (self.at.node, self.at.parent, *self.above):
            return f"{asked.node} is above {self.at.node}; a tree has no circle: start one of them without --parent"
        if known is not None and known.removed and asked.session <= known.session:
            return f"{asked.node} was removed at {self.at.node}; start it again to join again"
        if len(self.above) + 1 >= DEEPEST:
            return f"{self.at.node} is {DEEPEST} below the root, the deepest there can be; join one that is higher up"
        if len(others) >= self.at.most:
            return (
                f"{self.at.node} has {len(others)} children, and takes no more; join one of them, or another node"
                " (tree.children is how many it takes)"
            )
        return None

    def _take_in(self, asked: Join, interest: Interest, known: Child | None, now: Instant) -> Iterator[Effect]:
        moved = self.children.get(asked.before)
        former = asked.before if moved is not None and moved.name == asked.name else ""
        if former:
            del self.children[former]
            self.heard.pop(former, None)
            yield Forget(_child(former))
            yield from self._put(_child(former), (), now)
        if self._formers.pop(asked.node, None) is not None:
            yield Forget(_former(asked.node))
        since = now if known is None or known.removed else known.since
        child = Child(asked.node, asked.name, asked.called, asked.session, asked.version, interest, since)
        self.children[asked.node], self.heard[asked.node] = child, now
        yield Remember(_child(asked.node), child)
        yield Deliver(Stand(asked.node, interest, asked.called, former))
        yield from self._put(_child(asked.node), interest.alternatives, now)

    def _leave(self, asked: Leave, now: Instant) -> Iterable[Effect]:
        """What an earlier process of the child said late does not take away what it is by now."""
        child = self.children.get(asked.node)
        if child is None or child.removed or asked.session < child.session:
            return [Answer(Left(asked.called))]
        del self.children[asked.node]
        gone = self._gone(asked.node, now)
        return [Forget(_child(asked.node)), *gone, Answer(Left(asked.called))]

    def _remove(self, neighbour: str, now: Instant) -> Iterable[Effect]:
        if neighbour in self._formers:
            return [*self._has_left(neighbour), Answer(Removed(neighbour))]
        child = self.children.get(neighbour)
        if child is None or child.removed:
            raise Refusal("unknown-name", f"{neighbour[:200]!r} is no child of this node; `tocsin tree` lists them")
        self.children[neighbour] = removed = replace(child, interest=Interest(), removed=True)
        return [Remember(_child(neighbour), removed), *self._gone(neighbour, now), Answer(Removed(neighbour))]

    def _gone(self, child: str, now: Instant) -> Iterable[Effect]:
        self.heard.pop(child, None)
        return [*self._put(_child(child), (), now), Deliver(End(child))]


def _child(node: str) -> str:
    return f"child {node}"


def _former(node: str) -> str:
    return f"former {node}"
