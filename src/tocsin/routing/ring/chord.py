"""A node of the ring (Chord s4-5): it joins by any other, keeps its table right while others come, crash and go, and
finds its ring again when the network fell apart.

It asks and is asked; nothing it says is kept by anybody, for a moment later something else may be true.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tocsin.model.identity import Instant, after
from tocsin.routing.machine import (
    Answer,
    Deliver,
    Effect,
    Expire,
    Remember,
    Report,
    SetTimer,
    Started,
    Unanswered,
    Woken,
)
from tocsin.routing.ring.acquaintances import Acquaintances
from tocsin.routing.ring.agenda import Agenda, Round, Settings, Task
from tocsin.routing.ring.chord_messages import (
    Depart,
    Departed,
    Doubt,
    Find,
    Follow,
    Found,
    Gone,
    Heard,
    Here,
    Known,
    Leave,
    Look,
    Looked,
    Message,
    Neighbours,
    Own,
    Ping,
    Question,
    Reply,
    Responsible,
    Stabilise,
    Suspected,
)
from tocsin.routing.ring.finger_rounds import FingerRounds
from tocsin.routing.ring.identifiers import SIZE, within
from tocsin.routing.ring.questions import Questions, Waiting
from tocsin.routing.ring.search import ForFinger, ForJoin, ForLook, ForRing, Purpose, Search
from tocsin.routing.ring.table import Peer, Run, Table

OWN, KNOWN = "own", "known"  # the keys of its rows
MOST_REMEMBERED = 16
LONGEST_AGAIN = 5.0  # seconds


class ChordNode:
    """`joined`: it is in a ring, if only its own. With a `table` it goes on where another left off."""

    def __init__(
        self,
        own: Peer,
        settings: Settings | None = None,
        rows: Mapping[str, Any] | None = None,
        table: Table | None = None,
    ) -> None:
        self.settings, rows = settings or Settings(), rows or {}
        self.table, self.joined = table or Table(own), table is not None
        self._known = rows[KNOWN].peers if KNOWN in rows else ()
        self._acquaintances = Acquaintances(own, self.settings.join, self._known)
        joins = [each for each in self.settings.join if each != own.address]
        self._may_begin = self.joined or OWN in rows or len(joins) < len(self.settings.join) or not joins
        self._left, self._failed = False, 0
        self._questions = Questions()
        self._agenda, self._rounds = Agenda(own, self.settings), FingerRounds(self.settings.burst)
        self._timer: Instant | None = None
        self._predecessor_heard = Instant(0)

    @property
    def own(self) -> Peer:
        return self.table.own

    @property
    def is_alone(self) -> bool:
        return self.table.successor is None

    # Steps

    def step(self, message: Message, now: Instant) -> list[Effect]:
        before = self._responsible()
        effects = list(self._step(message, now))
        responsible = self._responsible()
        if responsible is not None and responsible != before:
            effects.append(Deliver(responsible))
        if self._agenda.next != self._timer:
            self._timer = self._agenda.next
            effects.append(SetTimer(self._timer))
        return effects

    def _step(self, message: Message, now: Instant) -> Iterable[Effect]:
        match message:
            case Started():
                return self._start(now)
            case Woken():
                self._timer = None
                return self._woken(now)
            case Find() | Stabilise() | Follow() | Leave() | Ping():
                return self._asked(message, now)
            case Found() | Neighbours() | Here():
                return self._answered(message, now)
            case Unanswered(question):
                waiting = self._questions.of(question)
                return () if waiting is None else self._silent(waiting, now)
            case Look(key):
                return self._look(key, now)
            case Doubt(peer):
                return self._doubt(peer, now)
            case Depart():
                return self._depart(now)
            case Expire():
                return ()

    def _responsible(self) -> Responsible | None:
        return Responsible(self.table.after, self.own.id) if self.joined else None

    def _start(self, now: Instant) -> Iterator[Effect]:
        self._questions.begin(now)
        yield from self._is_joined(None, now) if self.joined else self._join(now)

    def _woken(self, now: Instant) -> Iterator[Effect]:
        for each in self._questions.overdue(now, self.settings.patience):
            yield from self._silent(each, now)
        tasks: dict[Task, Callable[[Instant], Iterable[Effect]]] = {
            "join": self._join,
            "stabilise": self._stabilise,
            "fingers": self._fix_fingers,
            "reunite": self._reunite,
        }
        for name, task in tasks.items():
            if self._agenda.take(name, now):
                yield from task(now)

    # What is asked of others

    def _ask_to_stabilise(self, peer: Peer, now: Instant) -> Iterator[Effect]:
        if not self._questions.wait_for(Stabilise, peer):
            yield self._questions.ask(peer, Stabilise(self.own, self._questions.number()), now)

    def _ping(self, peer: Peer, now: Instant) -> Iterator[Effect]:
        if not self._questions.wait_for(Ping, peer):
            yield self._questions.ask(peer, Ping(self.own, self._questions.number()), now)

    def _answered(self, reply: Reply, now: Instant) -> Iterator[Effect]:
        waiting = self._questions.to(reply)
        if waiting is None:
            return
        if not waiting.fits(reply) or reply.by.id == self.own.id:
            yield from self._silent(waiting, now)
            return
        self._questions.end(waiting)
        yield from self._hear(reply.by, now)
        match reply:
            case Found() if waiting.search is not None:
                yield from self._go_on(waiting.search, now, waiting.search.told(reply))
            case Neighbours():
                yield from self._stabilised(reply, now)
        yield from self._departed(waiting)

    def _silent(self, waiting: Waiting, now: Instant) -> Iterator[Effect]:
        self._questions.end(waiting)
        peer = waiting.peer
        if peer is not None and self._acquaintances.silent(peer, waiting.asked, now):
            yield from self._suspect(peer, now)
        elif peer is not None and peer in (self.table.successor, self.table.predecessor):
            self._agenda.soon("stabilise", now, self.settings.again)
        if waiting.search is not None:
            yield from self._go_on(waiting.search, now)
        yield from self._departed(waiting)

    def _suspect(self, peer: Peer, now: Instant) -> Iterator[Effect]:
        yield Report(Suspected(peer))
        self._take_out(peer, now)

    def _take_out(self, peer: Peer, now: Instant) -> None:
        """Who has lost all that stand behind it looks for its place anew."""
        was_next = self.table.successor is not None and self.table.successor.id == peer.id
        if self.table.points_to(peer):
            self._distrust_fingers(now)
        self.table = replace(self.table.without(peer), dead=self._acquaintances.dead)
        if was_next and self.joined:
            self._agenda.soon("join" if self.is_alone else "stabilise", now)

    def _hear(self, by: Peer, now: Instant) -> Iterator[Effect]:
        if self._acquaintances.heard(by):
            self.table = replace(self.table, dead=self._acquaintances.dead)
            self._agenda.soon("reunite", now, self.settings.stabilise)
            yield Report(Heard(by))
        if self.table.predecessor is not None and self.table.predecessor.id == by.id:
            self._predecessor_heard = now
        if self.table.peers.get(by.id, by) != by:
            self.table = self.table.moved(by)

    # Searches

    def _go_on(self, search: Search, now: Instant, run: Run | None = None) -> Iterator[Effect]:
        if run is None:
            of = search.next(self._acquaintances.dead if not isinstance(search.purpose, ForRing) else frozenset())
            if of is not None:
                yield self._questions.ask(of, Find(self.own, self._questions.number(), search.key), now, search)
                return
        yield from self._searched(search.purpose, search, run, now)

    def _searched(self, purpose: Purpose, search: Search, run: Run | None, now: Instant) -> Iterable[Effect]:
        match purpose:
            case ForJoin():
                return self._is_joined(run, now)
            case ForFinger(finger):
                return self._points(finger, run, now)
            case ForRing(by):
                return self._compare(by, run, now)
            case ForLook():
                return (Deliver(Looked(search.key, None if run is None else run.peers[0], search.asked)),)

    def _look(self, key: int, now: Instant) -> Iterable[Effect]:
        run = self.table.run(key, self.settings.successors) if self.joined else None
        search = Search(key, ForLook(), self.table.preceding(key))
        return self._go_on(search, now, run)

    # Join and leave

    @property
    def _behind(self) -> int:
        """The key behind its own place: its owner is the successor, even where this node is known already."""
        return (self.own.id + 1) % SIZE

    def _join(self, now: Instant) -> Iterator[Effect]:
        known = [each.peer for each in self.table.reaches]
        others = [each.address for each in self._acquaintances.waiting]
        addresses = dict.fromkeys([*self._acquaintances.addresses, *others])
        yield from self._go_on(Search(self._behind, ForJoin(), known, addresses), now)

    def _is_joined(self, run: Run | None, now: Instant) -> Iterator[Effect]:
        """Who finds nobody begins a ring of its own, if it is one that may; it goes on looking for the others."""
        if run is None and not self._may_begin:
            self._failed += 1
            self._agenda.soon("join", now, min(LONGEST_AGAIN, self.settings.again * 2 ** min(self._failed, 10)))
            return
        if run is not None:
            others = (each for each in run.peers if each.id != self.own.id)
            self.table = self.table.following(others, self.settings.successors)
        if not self.joined:
            yield Remember(OWN, Own(self.own))
        self.joined = self._may_begin = True
        self._failed = 0
        self._agenda.soon("reunite", now, self._agenda.pace("reunite"))
        self._distrust_fingers(now)
        yield from self._stabilise(now)

    def _depart(self, now: Instant) -> Iterator[Effect]:
        neighbours = {each.id: each for each in (self.table.predecessor, self.table.successor) if each is not None}
        self._left = True
        self._questions.clear()
        self._agenda.close()
        if not self.joined or not neighbours:
            yield Deliver(Departed())
        for peer in neighbours.values() if self.joined else ():
            told = Leave(self.own, self._questions.number(), self.table.predecessor, self.table.successors)
            yield self._questions.ask(peer, told, now)
        self.joined = False

    def _departed(self, waiting: Waiting) -> Iterator[Effect]:
        if isinstance(waiting.question, Leave) and not self._questions:
            yield Deliver(Departed())

    # What others ask

    def _asked(self, question: Question, now: Instant) -> Iterator[Effect]:
        """Who is not in the ring says nothing about it."""
        by = question.by
        if self._left or not by.is_sound or by.id == self.own.id:
            return
        if not self.joined and not isinstance(question, Ping):
            return
        if isinstance(question, Leave):
            yield from self._lose(question, now)
        else:
            yield from self._hear(by, now)
        yield from self._reply(question, now)

    def _reply(self, question: Question, now: Instant) -> Iterator[Effect]:
        table, number, length = self.table, question.number, self.settings.successors
        match question:
            case Find(key=key):
                if 0 <= key < SIZE:
                    run = table.run(key, length, question.by.id)
                    closer = () if run else tuple(table.preceding(key, length, question.by.id))
                    yield Answer(Found(self.own, number, run, closer))
            case Stabilise(by):
                yield Answer(Neighbours(self.own, number, table.predecessor, table.successors))
                self._notified(by, now)
            case Follow(by):
                yield Answer(Here(self.own, number))
                if self.is_alone or self._is_closer(by):
                    yield from self._ask_to_stabilise(by, now)
            case Leave() | Ping():
                yield Answer(Here(self.own, number))

    def _is_closer(self, peer: Peer) -> bool:
        """Does it stand between this node and its successor?"""
        successor = self.table.successor
        return successor is not None and 0 < self.table.place(peer.id) < self.table.place(successor.id)

    def _notified(self, by: Peer, now: Instant) -> None:
        before = self.table.predecessor
        if before is None or within(by.id, before.id, self.own.id):
            self._precede(by, now)
        if self.is_alone:
            self.table = self.table.following((by,), self.settings.successors)
            self._agenda.soon("stabilise", now)

    def _precede(self, peer: Peer, now: Instant) -> None:
        self.table = replace(self.table, predecessor=peer)
        self._predecessor_heard = now

    def _is_usable(self, peer: Peer) -> bool:
        return peer.is_sound and peer.id != self.own.id and peer.id not in self.table.dead

    def _lose(self, said: Leave, now: Instant) -> Iterator[Effect]:
        gone, table = said.by, self.table
        self._acquaintances.gone(gone)
        self._take_out(gone, now)
        if table.predecessor == gone and said.predecessor is not None and self._is_usable(said.predecessor):
            self._precede(said.predecessor, now)
        if gone in table.successors:
            at = table.successors.index(gone)
            behind = (*table.successors[:at], *said.successors)
            self.table = self.table.following(behind, self.settings.successors)
            self._agenda.soon("stabilise", now)
        yield Report(Gone(gone))

    # Rounds

    def _stabilise(self, now: Instant) -> Iterator[Effect]:
        """The predecessor is asked only when it was not heard of: it asks this node as often as this one another."""
        self._agenda.soon("stabilise", now, self._agenda.pace("stabilise"))
        successor, predecessor = self.table.successor, self.table.predecessor
        if successor is not None:
            yield from self._ask_to_stabilise(successor, now)
        if predecessor is not None and after(self._predecessor_heard, 3 * self.settings.stabilise) <= now:
            yield from self._ping(predecessor, now)

    def _stabilised(self, told: Neighbours, now: Instant) -> Iterator[Effect]:
        by, before = told.by, told.predecessor
        if self.is_alone or by == self.table.successor or self._is_closer(by):
            successors = self.table.successors
            self.table = self.table.following((by, *told.successors), self.settings.successors)
            if self.table.successors != successors and self.table.lacks_fingers:
                self._distrust_fingers(now)
        if before is None and not told.successors:
            before = by  # that was alone
        yield from self._try_again(told.successors if before is None else (before, *told.successors), now)
        if before is None or not self._is_usable(before):
            return
        if self._is_closer(before):
            yield from self._ask_to_stabilise(before, now)
        elif self.table.predecessor is None:
            self._precede(before, now)
            yield self._questions.ask(before, Follow(self.own, self._questions.number()), now)

    def _try_again(self, named: Iterable[Peer], now: Instant) -> Iterator[Effect]:
        """Others say that somebody is there who was thought to be dead: it may have come back."""
        dead = next((each for each in named if each.is_sound and each.id in self.table.dead), None)
        if dead is not None:
            yield from self._ping(dead, now)

    def _doubt(self, peer: Peer, now: Instant) -> Iterable[Effect]:
        if not peer.is_sound or peer.id == self.own.id:
            return ()
        return self._suspect(peer, now) if self._acquaintances.silent(peer, now, now) else self._ping(peer, now)

    # Fingers

    def _distrust_fingers(self, now: Instant) -> None:
        """Where one is missing, or is not what it was."""
        self._rounds.distrust()
        if self.joined:
            self._agenda.soon("fingers", now, self.settings.stabilise)

    def _fix_fingers(self, now: Instant) -> Iterator[Effect]:
        self.table = self.table.keeping(self.table.wanted())
        self._agenda.soon("fingers", now, self._agenda.pace(self._finger_pace()))
        for search in self._rounds.searches(self.table):
            yield from self._go_on(search, now)

    def _finger_pace(self) -> Round:
        return "fingers" if self._rounds.are_right(self.table) else "stabilise"

    def _points(self, finger: int, run: Run | None, now: Instant) -> Iterator[Effect]:
        if run is None:
            return
        if not self._rounds.found(self.table.fingers[finger], run):
            self._distrust_fingers(now)
        self.table = self.table.pointing(finger, run)
        yield from self._try_again(run.peers[:1], now)

    # Rings that came apart

    def _reunite(self, now: Instant) -> Iterator[Effect]:
        """Alone, or with somebody heard of that was thought to be gone, there is no time to lose."""
        others = [each.peer for each in self.table.reaches[-1:]]
        whom = self._acquaintances.next(others)
        pace = self._agenda.pace("reunite")
        self._agenda.soon("reunite", now, min(pace, LONGEST_AGAIN) if self.is_alone else pace)
        if whom is not None:
            peers, addresses = ([whom], []) if isinstance(whom, Peer) else ([], [whom])
            yield from self._go_on(Search(self._behind, ForRing(whom), peers, addresses), now)
        yield from self._remember()

    def _compare(self, by: Peer | str, run: Run | None, now: Instant) -> Iterator[Effect]:
        """Who is this node's successor in the ring of that one? If it is another, each is told of the other."""
        if run is None:
            return
        if isinstance(by, Peer):
            self._acquaintances.same(by)
        first = next(filter(self._is_usable, run.peers), None)
        successor = self.table.successor
        if first is not None and (successor is None or first.id != successor.id):
            yield from self._ask_to_stabilise(first, now)
        if self._acquaintances.waiting:
            self._agenda.soon("reunite", now, self.settings.stabilise)

    def _remember(self) -> Iterator[Effect]:
        near = [*self.table.successors, *(each.peers[0] for each in self.table.fingers if each is not None)]
        known = tuple({each.id: each for each in (*near, *self._acquaintances.waiting)}.values())[:MOST_REMEMBERED]
        if known != self._known and known:
            self._known = known
            yield Remember(KNOWN, Known(known))
