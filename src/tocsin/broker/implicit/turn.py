"""One turn of the shell: what came in steps the machines, and all that they ask for is gathered, to be written at once.

Nothing here waits. A turn that cannot be written is thrown away, and the machines it stepped with it.
"""

from collections.abc import Callable, Iterable

import msgspec
from msgspec import Struct

from tocsin.broker.implicit.machines import Again, Asking, Cause, Machines
from tocsin.broker.implicit.registry import Registry
from tocsin.model.identity import Instant, MessageId
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import (
    PUBLICATION,
    Claim,
    Copy,
    Deliver,
    Effect,
    Forward,
    Granted,
    Handled,
    Publish,
    Remember,
    gone,
)
from tocsin.routing.implicit.notifier import Notifier
from tocsin.semantics.interest.partition import Entry
from tocsin.store.implicit import CopyKind, CopyRow, Publication, Residing, State, Writing
from tocsin.store.implicit_outbox import Kind, Outgoing

NOWHERE = ""  # as a peer: the world is to be asked where that is
_encode = msgspec.msgpack.Encoder().encode


class Report(Struct, frozen=True):
    """What became of a copy, for the node that gathers that."""

    to: str
    handled: Handled


class Join(Struct, frozen=True):
    residing: Residing


class Leave(Struct, frozen=True):
    name: str


class Forget(Struct, frozen=True):
    before: Instant


Item = Publish | Copy | Granted | Claim | Report | Join | Leave | Forget | Again | Forward


class Here(Struct, frozen=True):
    """This node among the others: its own address, that of the node with the central history, and those that this node
    had `before`, under which its messages may still be reported on."""

    node: str
    history: str
    before: frozenset[str] = frozenset()


class Turn:
    """`known` are the ids that were handled before, or wait for it: what comes again changes nothing."""

    def __init__(
        self, here: Here, machines: Machines, registry: Registry, known: Iterable[str], now: Callable[[], Instant]
    ) -> None:
        self._here, self._machines, self._registry, self._now = here, machines, registry, now
        self._known = set(known)
        self.writing = Writing()
        self.tells: list[Copy] = []
        self.local: list[Again] = []
        self.lanes: set[tuple[str, Kind]] = set()
        self.reported: set[MessageId] = set()
        self.handled: list[str] = []

    @property
    def size(self) -> int:
        """Rows, about."""
        return len(self.writing.copies) + len(self.writing.outgoing) + len(self.writing.reports)

    def take(self, item: Item) -> Granted | None:
        """The answer, if it is one that a claimant waits for."""
        match item:
            case Publish() | Copy():
                self._fresh(item)
            case Again(cause, told):
                self._step(cause, told=told)
            case Forward(copy):
                self._forward(copy)
            case Granted():
                self._granted(item)
            case Claim():
                return self._claim(item)
            case Report(to, handled):
                self._report(to, handled)
            case Join(residing):
                self._machines.join(residing)
                self.writing.joined.append(residing)
            case Leave(name):
                self._machines.leave(name)
                self.writing.left.append(name)
            case Forget(before):
                self._machines.forget(before)
                self.writing.forget = before
        return None

    def _fresh(self, cause: Cause) -> None:
        if (name := row_id(cause)) in self._known:
            return
        self._known.add(name)
        if isinstance(cause, Publish):
            said = cause.message
            self.writing.publications.append(Publication(said.id, said.root, said.topic, said.protocol, said.when))
        self._step(cause, told=False)

    def _step(self, cause: Cause, *, told: bool) -> None:
        notifier = self._machines.notifiers.get(_at(cause))
        if notifier is None:
            self._gone(cause)
            return
        try:
            effects = notifier.step(cause, self._now())
        except Refusal:  # a protocol that this version does not know
            self._gone(cause)
            return
        self.handled.append(notifier.name)
        self._do_all([each for each in effects if not (told and isinstance(each, Deliver))], cause, notifier)

    def _granted(self, answer: Granted) -> None:
        """An answer that comes twice finds nothing waiting for it. One from before a restart may not be for what is
        asked now: the notifier passes it over, and goes on waiting."""
        waiting = self._machines.asking.get((answer.message, answer.copy))
        effects = waiting.notifier.step(answer, self._now()) if waiting is not None else []
        if waiting is not None and effects:
            del self._machines.asking[answer.message, answer.copy]
            self._do_all(effects, waiting.cause, waiting.notifier)

    def _do_all(self, effects: Iterable[Effect], cause: Cause, notifier: Notifier) -> None:
        for effect in effects:
            self._do(effect, cause, notifier)
        self._row(cause, "told" if _key(cause) in self._machines.asking else "done")

    def _do(self, effect: Effect, cause: Cause, notifier: Notifier) -> None:
        match effect:
            case Forward(copy):
                self._forward(copy)
            case Deliver(copy):
                self.tells.append(copy)
            case Remember(message):
                self.writing.histories.append((notifier.name, message, self._now()))
            case Handled():
                self._report(cause.message.reports, effect)
            case Claim():
                self._ask(effect, cause, notifier)

    def _ask(self, claim: Claim, cause: Cause, notifier: Notifier) -> None:
        """A history that is here answers at once: its rows and what follows from them are one transaction."""
        if self._machines.history is None:
            self._machines.asking[_key(cause)] = Asking(cause, notifier)
            self._send(self._here.history, "claim", claim)
            return
        for effect in notifier.step(self._claim(claim), self._now()):
            self._do(effect, cause, notifier)

    def _claim(self, claim: Claim) -> Granted:
        history, now = self._machines.history, self._now()
        if history is None:
            raise Refusal("not-here", f"the central history is at {self._here.history}, not here")
        answer, rows = history.step(claim, now)
        self.writing.told += [(row.message, row.notifier, row.copy, now) for row in rows]
        return answer

    def _forward(self, copy: Copy) -> None:
        entry = self._registry.entry(copy.to)
        if self._is_here(copy.to, entry):
            self._row(copy, "waiting")
            self.local.append(Again(copy))
        elif entry is None:
            self._send(NOWHERE, "copy", copy)
        elif entry.node == self._here.node or not place_of(entry):
            self._report(copy.message.reports, gone(copy, self._now()))
        else:
            self._send(place_of(entry), "copy" if entry.node else "foreign", copy)

    def _is_here(self, name: str, entry: Entry | None) -> bool:
        """Not if the world has it at another node by now; a node that has just moved is known by its former address."""
        residing = self._machines.residing.get(name)
        if residing is None:
            return False
        return entry is None or entry.node in ("", self._here.node, residing.service.node)

    def _gone(self, cause: Cause) -> None:
        """Its notifier left while it was on its way; it may be elsewhere now."""
        message = cause.message
        if isinstance(cause, Copy):
            self._forward(cause)
        else:
            nobody = Handled(message.id, PUBLICATION, "", message.root, 0, self._now(), gone=True)
            self._report(message.reports, nobody)
        self._row(cause, "done")

    def _report(self, to: str, handled: Handled) -> None:
        if to == self._here.node or (to in self._here.before and publication_id(handled.message) in self._known):
            self.writing.reports.append((handled.message, handled.copy, _encode(handled)))
            self.reported.add(handled.message)
        elif to:
            self._send(to, "report", handled)

    def _send(self, peer: str, kind: Kind, what: object) -> None:
        self.writing.outgoing.append(Outgoing(peer, kind, self._now(), _encode(what)))
        self.lanes.add((peer, kind))

    def _row(self, cause: Cause, state: State) -> None:
        body = b"" if state == "done" else _encode(cause)
        kind: CopyKind = "copy" if isinstance(cause, Copy) else "publication"
        self.writing.copies.append(CopyRow(row_id(cause), _at(cause), kind, state, body, self._now()))


def row_id(cause: Cause) -> str:
    """Of a publication it is no copy's: those are single words."""
    return cause.id if isinstance(cause, Copy) else publication_id(cause.message.id)


def publication_id(message: MessageId) -> str:
    return f"publication {message}"


def place_of(entry: Entry | None) -> str:
    """What leads to a notifier: the node that runs it, or its own address if it is somebody else's."""
    return NOWHERE if entry is None else entry.node or entry.notifier


def _key(cause: Cause) -> tuple[MessageId, str]:
    return cause.message.id, cause.id if isinstance(cause, Copy) else PUBLICATION


def _at(cause: Cause) -> str:
    return cause.to if isinstance(cause, Copy) else cause.message.root
