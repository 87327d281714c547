"""The harvester of one publication at one node: Dispatcher-Stateful-Reply and Message-Stateful-Reply (paper 001 s3.2).

A node that merges keeps a histogram of all replies behind it, and sends it on once, when the last has come. A node that
does not merge keeps the way back alone, and passes each reply on by it. Both may be in one network: the path of a
request leads to the nearest node before that merges. The publisher's own node, the root, always does.

What one node sends another arrives in its order; what comes from several may be mixed in any way.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from tocsin.model.histogram import MOST_VALUES, Histogram, merged
from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Answer, Effect, Forget, Remember, Send, SetTimer, Started, Woken
from tocsin.routing.machine import Report as Tell
from tocsin.routing.reply.messages import (
    Abandoned,
    Changed,
    Counted,
    Declined,
    Dropped,
    Forwarded,
    Inherited,
    Look,
    NotReached,
    Opened,
    Reached,
    Replied,
    Report,
    Reported,
    Single,
    Terminate,
    Through,
    Told,
    View,
    relay_of,
    upward,
)

GRACE = SECOND  # for those behind, when a view ends at its time
PATIENCE = 60 * SECOND  # how much longer a node waits that hears nothing of an end
SHARE = 8  # of a wait, one part of so many is kept for the way back
HEAD, SOURCE, REPLY, MISSED, CHILD = "", "f ", "r ", "u ", "c "
SETTLED = ""  # stands among the children for what none of them can say otherwise any more: one histogram for all
How = Literal["", "terminated", "expired"]
_COUNTED, _SECOND, _ENDED = Answer(Counted()), Answer(Dropped("second")), Answer(Dropped("ended"))


class Head(Struct, frozen=True):
    """What is remembered of the publication itself; `ending` is until when those behind are waited for, or when it
    ended."""

    opened: Opened
    ended: How = ""
    late: int = 0
    ending: Instant | None = None
    how: How = ""


class Value(Struct, frozen=True, gc=False):
    """What is remembered of a reply, or of one that will not come."""

    value: str


class Branch(Struct):
    """A node that the publication went to, as far as it is known. One that does not merge is counted reply by reply."""

    merges: bool = True
    number: int = -1
    receivers: int = 0
    replied: int = 0
    unreached: int = 0
    late: int = 0
    complete: bool = False
    final: bool = False
    histogram: Histogram = field(default_factory=Histogram)

    @property
    def is_done(self) -> bool:
        return self.final or (not self.merges and self.complete and self.replied + self.unreached >= self.receivers)


class Looking(Struct):
    """A look that is under way: who has not answered it, and until when that is waited for."""

    number: int
    until: Instant
    waiting: set[str]


class Harvester:
    """`merging` is the node's own way; `retention` is how long an ended view can still be seen, in nanoseconds."""

    def __init__(
        self, name: str, rows: Mapping[str, Any], *, merging: bool = True, retention: int = 0, most: int = MOST_VALUES
    ) -> None:
        self.view_id, _, self.node = name.partition("@")
        self._merging, self._retention, self._most = merging, retention, most
        self._changed_view = Tell(Changed(self.view_id))
        self._looking: Looking | None = None
        self._timer: Instant | None = None
        self._number = 0
        self._replied: set[str] = set()
        self._unreached: set[str] = set()
        self._sources: dict[str, Forwarded] = {}
        self._local = Histogram()
        self.children: dict[str, Branch] = {}
        self._open: set[str] = set()  # of the children those from which more is to come
        self.is_root = self.merges = True
        self._recall_all(rows)

    def _recall_all(self, rows: Mapping[str, Any]) -> None:
        self.head: Head | None = rows.get(HEAD)
        for key, row in rows.items():
            self._recall(key[:2], key[2:], row)
        self.receivers = sum(each.receivers for each in self._sources.values())
        if self.head is not None:
            self._open_as(self.head)

    def _inherit(self, rows: Mapping[str, Any], now: Instant) -> list[Effect]:
        """What is known here already is not less."""
        if self.head is not None:
            return []
        self._recall_all(rows)
        return [*(Remember(key, row) for key, row in rows.items()), self._changed_view, *self._settled(now)]

    def _recall(self, kind: str, name: str, row: Any) -> None:
        match kind:
            case "r ":
                self._replied.add(name)
                self._count(row.value)
            case "u ":
                self._unreached.add(name)
            case "f ":
                self._sources[name] = row
            case "c ":
                self.children[name] = row
                if not row.is_done:
                    self._open.add(name)

    def _open_as(self, head: Head) -> list[Effect]:
        """What it was opened with counts as far as nothing newer is known."""
        self.head, opened = head, head.opened
        self.is_root = not opened.request.path
        self.merges = self.is_root or (self._merging and not opened.spread)
        effects: list[Effect] = []
        for each in opened.forwarded:
            if each.source not in self._sources:
                effects += self._take_source(each)
        return effects

    @property
    def is_looking(self) -> bool:
        return self._looking is not None

    @property
    def is_behind(self) -> bool:
        """Whether more is to come from other nodes."""
        return bool(self._open)

    def sources(self) -> Iterable[Forwarded]:
        return self._sources.values()

    def forwarded_to(self) -> list[str]:
        """The other nodes."""
        return [child for each in self._sources.values() for child in each.children]

    # What is seen of it

    @property
    def is_forwarded(self) -> bool:
        """Whether all it went to from here is known."""
        if self.head is None:
            return False
        found = (self._sources.get(each) for each in self.head.opened.awaits)
        return all(each is not None and each.complete for each in found)

    @property
    def entries(self) -> int:
        """Of its histograms: its own, that of all replies which came for good, and of each report which did not."""
        return len(self._local.counts) + sum(len(each.histogram.counts) for each in self.children.values())

    def report(self, *, final: bool = False) -> Report:
        branches = self.children.values()
        return Report(
            self._number,
            self.receivers + sum(each.receivers for each in branches),
            len(self._replied) + sum(each.replied for each in branches),
            len(self._unreached - self._replied) + sum(each.unreached for each in branches),
            (0 if self.head is None else self.head.late) + sum(each.late for each in branches),
            self.is_forwarded and all(each.complete for each in branches),
            final,
            merged([self._local, *(each.histogram for each in branches)]).cut(self._most),
        )

    def view(self) -> View:
        assert self.head is not None
        said, opened = self.report(), self.head.opened
        return View(
            opened.request.view,
            opened.request.type,
            opened.topic,
            opened.request.until,
            said.receivers,
            said.replied,
            said.unreached,
            said.late,
            said.complete,
            self.head.ended,
            said.histogram,
        )

    # What it does

    def step(self, message: Any, now: Instant) -> list[Effect]:
        if type(message) is Replied:  # before all others: there are as many as receivers
            return self._reply(message.receiver, message.value, now)
        if type(message) is Single and self.head is not None:  # and as many of these at a root, where nobody merges
            return self._single(message.by, message.value, now)
        match message:
            case Opened():
                return self._opened(message, now)
            case Inherited(inherited):
                return self._inherit(dict(inherited), now)
            case _ if self.head is None:
                return []
            case Forwarded():
                return self._forwarded(message, now)
            case NotReached(receiver):
                return self._missed(receiver, now)
            case Reached(receiver):
                return self._reached(receiver, now)
            case Reported(by, report):
                return self._reported(by, report, now)
            case Told():
                return self._told(message, now)
            case Declined(by):
                return self._declined(by, now)
            case Look(number, wait):
                return self._look(number, wait, now)
            case Terminate(grace):
                return self._terminate("terminated", grace, now)
            case Abandoned():
                return [Forget(None)]
            case Started() | Woken():
                return self._woken(now)
        return []

    def _opened(self, message: Opened, now: Instant) -> list[Effect]:
        """What came by another way before is told so: one way back is enough."""
        if self.head is None:
            effects = self._open_as(head := Head(message))
            return [Remember(HEAD, head), *effects, self._changed_view, *self._settled(now)]
        asked, known = message.request.path, self.head.opened.request.path
        if asked and asked[-1:] != known[-1:]:
            return [upward(self.view_id, asked, Declined(self.node))]
        return [effect for each in message.forwarded for effect in self._forwarded(each, now)]

    def _reply(self, receiver: str, value: str, now: Instant) -> list[Effect]:
        replied = self._replied
        if receiver in replied:
            return [_SECOND]
        head = self.head
        if head is None or head.ended:
            return [*self._late(1), _ENDED]
        replied.add(receiver)
        effects: list[Effect] = [Remember(REPLY + receiver, Value(value)), _COUNTED]
        if not self.merges:
            effects.append(upward(self.view_id, head.opened.request.path, Single(self.node, value)))
            return effects
        self._count(value)
        if self.is_root:
            effects.append(self._changed_view)
        elif len(replied) + len(self._unreached) >= self.receivers:
            effects += self._settled(now)
        return effects

    def _count(self, value: str) -> None:
        local = self._local
        local.add(value)
        if len(local.counts) > 2 * self._most:
            self._local = local.cut(self._most)

    def _late(self, count: int) -> list[Effect]:
        if self.head is None or count <= 0:
            return []
        self.head = replace(self.head, late=self.head.late + count)
        return [Remember(HEAD, self.head)]

    def _forwarded(self, message: Forwarded, now: Instant) -> list[Effect]:
        effects = self._take_source(message)
        return [Remember(SOURCE + message.source, message), *effects, *self._settled(now)]

    def _take_source(self, message: Forwarded) -> list[Effect]:
        before = self._sources.get(message.source)
        self._sources[message.source] = message
        self.receivers += message.receivers - (0 if before is None else before.receivers)
        return [effect for child in message.children for effect in self._branch(child)] if self.merges else []

    def _missed(self, receiver: str, now: Instant) -> list[Effect]:
        """Of a node that was not reached nothing is known: what is behind it stays outstanding."""
        if receiver in self._unreached or receiver in self.children or self._is_over():
            return []
        self._unreached.add(receiver)
        effects: list[Effect] = [Remember(MISSED + receiver, Value(""))]
        if not self.merges:
            assert self.head is not None
            effects.append(upward(self.view_id, self.head.opened.request.path, Single(self.node, None)))
        return effects + self._settled(now)

    def _reached(self, receiver: str, now: Instant) -> list[Effect]:
        """A node that does not merge has told of it, and cannot take that back."""
        if receiver not in self._unreached or not self.merges or self._is_over():
            return []
        self._unreached.discard(receiver)
        return [Forget(MISSED + receiver), *self._settled(now)]

    # What comes from the nodes behind

    def _branch(self, node: str) -> list[Effect]:
        if node in self.children or node == self.node:
            return []
        self.children[node] = branch = Branch()
        self._open.add(node)
        return [Remember(CHILD + node, branch)]

    def _reported(self, by: str, report: Report, now: Instant) -> list[Effect]:
        before = self.children.get(by)
        if self._is_over():
            return self._late(report.replied - (0 if before is None else before.replied)) if report.final else []
        if before is not None and (before.final or report.number < before.number):
            return []
        self.children[by] = Branch(
            True,
            report.number,
            report.receivers,
            report.replied,
            report.unreached,
            report.late,
            report.complete,
            report.final,
            Histogram() if report.final else report.histogram,
        )
        effects = self._settle(lambda settled: settled.take(report.histogram)) if report.final else []
        return effects + self._heard(by, report.number, now)

    def _settle(self, count: Callable[[Histogram], None]) -> list[Effect]:
        settled = self.children.get(SETTLED)
        if settled is None:
            settled = self.children[SETTLED] = Branch(complete=True, final=True)
        count(settled.histogram)
        if len(settled.histogram.counts) > 2 * self._most:
            settled.histogram = settled.histogram.cut(self._most)
        return [Remember(CHILD + SETTLED, settled)]

    def _single(self, by: str, value: str | None, now: Instant) -> list[Effect]:
        if self._is_over():
            return self._late(1)
        branch = self.children.get(by)
        if branch is None:
            branch = self.children[by] = Branch()
        branch.merges = False
        branch.complete |= self.head is not None and self.head.opened.spread
        effects: list[Effect] = []
        if value is None:
            branch.unreached += 1
        else:
            branch.replied += 1
            effects = self._settle(lambda settled: settled.add(value))
        return effects + self._heard(by, -1, now)

    def _told(self, message: Told, now: Instant) -> list[Effect]:
        if self._is_over():
            return []
        branch = self.children.setdefault(message.by, Branch())
        if message.number < branch.number:
            return []
        branch.merges, branch.number = False, message.number
        branch.receivers, branch.complete = message.receivers, message.complete
        effects: list[Effect] = []
        for child in message.children:
            effects += self._branch(child)
        if self._looking is not None:
            self._looking.waiting |= self._open.intersection(message.children)
        return effects + self._heard(message.by, message.number, now)

    def _declined(self, by: str, now: Instant) -> list[Effect]:
        branch = self.children.get(by)
        if branch is None or branch.replied or branch.final or self._is_over():
            return []
        del self.children[by]
        self._open.discard(by)
        if self._looking is not None:
            self._looking.waiting.discard(by)
        return [Forget(CHILD + by), *self._settled(now)]

    def _heard(self, by: str, number: int, now: Instant) -> list[Effect]:
        branch = self.children[by]
        (self._open.discard if branch.is_done else self._open.add)(by)
        if self._looking is not None and (branch.is_done or number >= self._looking.number):
            self._looking.waiting.discard(by)
        return [Remember(CHILD + by, branch), *self._settled(now)]

    # Looks and ends

    def _look(self, number: int, wait: int, now: Instant) -> list[Effect]:
        """Who has nobody to ask answers at once."""
        if self._is_over():
            return []
        self._number = max(self._number, number)
        self._looking = Looking(number, Instant(now + wait), set(self._open))
        return self._downward(Look(number, wait - wait // SHARE)) + self._settled(now)

    def _terminate(self, how: How, grace: int, now: Instant) -> list[Effect]:
        """Those behind are told, and waited for. Who merges nothing has sent all it had."""
        if self.head is None or self.head.ended or self.head.ending is not None:
            return []
        if not self.merges:
            return [Forget(None)]
        self.head = replace(self.head, ending=Instant(now + grace), how=how)
        return [Remember(HEAD, self.head), *self._downward(Terminate(grace - grace // SHARE)), *self._settled(now)]

    def _woken(self, now: Instant) -> list[Effect]:
        self._timer = None
        if self._is_over():
            return [Forget(None)] if now >= self._when() else self._tick()
        if now >= self._ends():
            return self._terminate("expired", GRACE if self.is_root else 0, now) or self._settled(now)
        return self._settled(now)

    def _settled(self, now: Instant) -> list[Effect]:
        """What follows from how things stand: the last report, the answer to a look, the end of a view."""
        head = self.head
        if head is None or head.ended:
            return self._tick()
        effects: list[Effect] = [self._changed_view] if self.is_root else []
        if self.merges and (self._has_all() and not self.is_root):
            return self._finish()
        if head.ending is not None and (not self._open or now >= head.ending):
            return effects + self._end(head, now) if self.is_root else self._finish()
        if self._looking is not None and (not self._looking.waiting or now >= self._looking.until):
            self._looking = None
            if not self.is_root:
                effects.append(upward(self.view_id, head.opened.request.path, Reported(self.node, self.report())))
        return effects + self._tick()

    def _end(self, head: Head, now: Instant) -> list[Effect]:
        self._looking, self.head = None, replace(head, ended=head.how, ending=now)
        return [Remember(HEAD, self.head), *self._tick()]

    def _finish(self) -> list[Effect]:
        assert self.head is not None
        self._number += 1
        last = Reported(self.node, self.report(final=True))
        return [upward(self.view_id, self.head.opened.request.path, last), Forget(None)]

    def _has_all(self) -> bool:
        """Nothing is outstanding here, nor at any node behind."""
        if self._open or len(self._replied) + len(self._unreached) < self.receivers or not self.is_forwarded:
            return False
        return len(self._replied | self._unreached) >= self.receivers

    def _is_over(self) -> bool:
        return self.head is None or bool(self.head.ended)

    def _ends(self) -> Instant:
        """At its time; those behind wait to be told that it is over."""
        assert self.head is not None
        return Instant(self.head.opened.request.until + (0 if self.is_root else PATIENCE))

    def _when(self) -> Instant:
        """What is next to be woken for."""
        assert self.head is not None
        if self.head.ended:
            return Instant((self.head.ending or 0) + self._retention)
        ends = self._ends() if self.head.ending is None else self.head.ending
        return ends if self._looking is None else min(ends, self._looking.until)

    def _tick(self) -> list[Effect]:
        when = self._when()
        if when == self._timer:
            return []
        self._timer = when
        return [SetTimer(when)]

    def _downward(self, message: Look | Terminate) -> list[Effect]:
        """By the relays of those it was forwarded to, which know themselves whether they merge and have it still. Those
        behind a node that does not merge are told by that one: what skips it would come back by it."""
        direct = set(self.forwarded_to())
        told = self._open & direct
        if self._open - direct:
            told |= {child for child in direct & self.children.keys() if not self.children[child].merges}
        return [Send(relay_of(child), Through(self.view_id, (self.node,), message)) for child in sorted(told)]
