"""The notifiers of this node, and the central history where it is here, as a runtime runs them."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct

from tocsin.broker.implicit.host import Host
from tocsin.broker.implicit.on_ring import LETTERS_ON_RING, REPORTS_ON_RING, OnRing
from tocsin.broker.implicit.registry import ON_RING, Registry
from tocsin.broker.implicit.results import Results
from tocsin.delivery.retry import judge
from tocsin.delivery.settings import DeliverySettings
from tocsin.flow.addressing import door_of
from tocsin.mediation.ws.notifier_messages import notify_request
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.refusal import OUR_FAULT, Refusal
from tocsin.routing.implicit.history import CentralHistory, Grant, MessageHistory
from tocsin.routing.implicit.messages import (
    HISTORY,
    PUBLICATION,
    Claim,
    Copy,
    Granted,
    Had,
    Handled,
    Join,
    Leave,
    Membership,
    Message,
    Publication,
    Publish,
    Waiting,
    gone,
    is_history,
    is_of_one_message,
    publication,
)
from tocsin.routing.implicit.notifier import MEMBERSHIP, Notifier
from tocsin.routing.machine import Effect, Machine, Report
from tocsin.runtime.family import HERE, LETTERS, NOWHERE, Family, Place
from tocsin.runtime.peers import Carried, Link, Rows
from tocsin.runtime.questions import Questions
from tocsin.semantics.interest.ino import topic_of
from tocsin.semantics.interest.partition import Entry
from tocsin.store.database import Store
from tocsin.store.errors import StoreError
from tocsin.store.machines import Codec, Letter, MachineTables
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import copy_proof

NAME = "implicit"
FOREIGN = "foreign"  # the lane to a notifier that is somebody else's
MESSAGES = Codec(copy=Copy, publication=Publish, claim=Claim, granted=Granted, report=Handled, published=Publication)
ROWS = Codec(member=Membership, had=Had, waiting=Waiting, grant=Grant)


def tables_of(store: Store) -> MachineTables:
    return store.machines(NAME, MESSAGES, ROWS, store.implicit)


def publication_letter(asked: Publish) -> Letter:
    """Its id is no copy's: those are single words."""
    return Letter(asked.message.root, asked, f"publication {asked.message.id}", fresh=True)


class Here(Struct, frozen=True):
    """This node among the others: its own address, that of the node with the central history, and those that this node
    had `before`, under which these messages were published and may still be reported on."""

    node: str
    history: str
    before: frozenset[str] = frozenset()
    published: frozenset[str] = frozenset()


class Notifiers(Family[Machine[Any]]):
    """`ring` is that which this node shares with others, None where there are none."""

    title = "implicit notification"
    begins = (Join, Claim)  # a message's own history begins with the first claim

    def __init__(
        self,
        here: Here,
        host: Host,
        registry: Registry,
        results: Results,
        questions: Questions,
        report: Callable[[str], None],
        ring: Callable[[], OnRing | None] = lambda: None,
    ) -> None:
        self._here, self._host, self._registry, self._results = here, host, registry, results
        self._ring = ring
        self._questions, self._report = questions, report
        self.always = (HISTORY,) if here.history == here.node else ()

    def make(self, name: str, rows: Mapping[str, Any]) -> Machine[Any] | None:
        """The neighbours are asked for anew with each message: edges and services come and go."""
        if is_history(name):
            made = MessageHistory if is_of_one_message(name) else CentralHistory
            return made(rows.values()) if rows or self.always or self.holds(name) else None
        leaving = bool(rows) and MEMBERSHIP not in rows
        return Notifier(name, partial(self._registry.neighbours, name), rows, leaving=leaving)

    def resident(self, machine: Machine[Any]) -> bool:
        return not isinstance(machine, Notifier) or (machine.membership is not None and self.holds(machine.name))

    def holds(self, name: str) -> bool:
        if (ring := self._ring()) is not None:
            return ring.holds(name)
        return bool(self.always) or not is_history(name)

    def admit(self, letter: Letter) -> None:
        """The roster may have changed since it was let in, and another may go on from what was here then."""
        if isinstance(letter.message, Claim | Join | Leave) and not self.holds(letter.to):
            raise Refusal("not-here", f"{letter.to[:80]!r} is at another node of the ring by now; try again")

    def place(self, letter: Letter, machine: Machine[Any] | None) -> Place | None:
        membership = machine.membership if isinstance(machine, Notifier) else None
        if (ring := self._ring()) is not None:
            return self._on_ring(ring, letter, membership)
        if not isinstance(letter.message, Copy):
            return None if membership is None else HERE
        entry = self._registry.entry(letter.to)
        if self._is_here(membership, entry):
            return HERE
        if entry is None:
            return Place(NOWHERE, LETTERS)
        return None if entry.node in (self._here.node, ON_RING) else _place_of(entry)

    def _on_ring(self, ring: OnRing, letter: Letter, membership: Membership | None) -> Place | None:
        """One that is somebody else's is told at its own address, whoever has the key."""
        entry = self._registry.entry(letter.to)
        if entry is not None and not entry.node and entry.notifier and membership is None:
            return _place_of(entry)
        if ring.holds(letter.to):
            return None if membership is None else HERE
        return ring.place(letter.to, LETTERS_ON_RING)

    def absent(self, letter: Letter, now: Instant) -> Iterable[Effect]:
        """Its notifier left while it was on its way."""
        match letter.message:
            case Copy() as copy:
                return [Report(gone(copy, now), copy.message.reports)]
            case Publish(message):
                nobody = Handled(message.id, PUBLICATION, "", message.root, 0, now, gone=True)
                return [Report(publication(message)), Report(nobody, message.reports)]
        return []

    def report_place(self, report: Report) -> Place:
        ring = self._ring()
        return super().report_place(report) if ring is None else ring.place(_message(report), REPORTS_ON_RING)

    def gathers(self, report: Report) -> bool:
        if (ring := self._ring()) is not None:
            return ring.holds(_message(report))
        if report.to in ("", self._here.node):
            return True
        return report.to in self._here.before and report.what.message in self._here.published

    def reported(self, what: Any) -> None:
        if isinstance(what, Handled):
            self._results.heard(what.message)

    def not_here(self, machine: str) -> str:
        del machine
        return f"the central history is at {self._here.history}; name it in implicit.history"

    async def deliver(self, name: str, message: Copy) -> None:
        """One that can never be told costs the others nothing, and its notifier still passes the message on."""
        try:
            await self._host.tell_service(message, *self.described(message.message))
        except Exception as problem:
            if isinstance(problem, StoreError) or (isinstance(problem, Refusal) and problem.reason in OUR_FAULT):
                raise
            self._report(f"the service {name!r} cannot be told of {message.message.id}: {problem}")

    async def ask(self, name: str, of: str, question: Claim) -> Any:
        del name
        if (ring := self._ring()) is not None:
            return await ring.ask(of, question)
        return await self._questions.ask(self._here.history, of, question)

    async def look_up(self, names: Iterable[str]) -> Mapping[str, Place]:
        found, ring = await self._registry.look_up(names), self._ring()
        placed = {name: place for name, entry in found.items() if (place := _place_of(entry)) is not None}
        if ring is None:
            return placed
        return {name: ring.place(name, LETTERS_ON_RING) if found[name].node else placed[name] for name in placed}

    def described(self, message: Message) -> tuple[Topic, str]:
        """The topic and the producer that services are told; a topic that the world no longer has by its own name."""
        return topic_of(self._registry.topics, message.topic), f"{message.reports}{door_of(message.root)}"

    def _is_here(self, membership: Membership | None, entry: Entry | None) -> bool:
        """Not if the world has it at another node by now; a node that has just moved is known by its former address."""
        if membership is None:
            return False
        return entry is None or entry.node in ("", self._here.node, membership.service.node)


def _message(report: Report) -> str:
    said: Handled | Publication = report.what
    return said.id if isinstance(said, Publication) else said.message


def _place_of(entry: Entry) -> Place | None:
    """What leads to a notifier: the node that runs it, or its own address if it is somebody else's."""
    if entry.node:
        return Place(entry.node, LETTERS)
    return Place(entry.notifier, FOREIGN) if entry.notifier else None


class ForeignCarrier:
    """To a notifier of others, by Notify in SOAP: it reports to nobody, so what is known of it is said here."""

    most = 1

    def __init__(self, link: Link, patience: DeliverySettings) -> None:
        self._link, self._patience = link, patience

    async def carry(self, peer: str, rows: Rows, attempt: int) -> Carried:
        copy: Copy = MESSAGES.decode(rows[0].body)
        answer = await self._notify(peer, copy)
        match judge(answer, attempt, self._patience):
            case "retry":
                return Carried(answer, left=rows)
            case "dead":
                return Carried(answer, lost=rows)
        handled = Handled(copy.message.id, copy.id, copy.sender, copy.to, copy.hop, self._link.now())
        return Carried(answer, items=[Report(handled, copy.message.reports)])

    async def _notify(self, address: str, copy: Copy) -> Answer:
        try:
            headers, body = notify_request(copy, copy_proof(self._link.key, copy))
        except Refusal as refusal:
            return Answer(0, error=refusal.text, refused=True)
        return await self._link.http.request("POST", address, headers, body)
