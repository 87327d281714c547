"""The replies to publications at this node: what the dispatcher tells of them, and what receivers say.

The log has every publication that asks for replies, so its harvester is written a little later, with others; until then
the engine does not pass over the record, and a crash in between opens it again.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.journal import Arrival
from tocsin.broker.reply.asking import Asking
from tocsin.broker.reply.elsewhere import PART, Elsewhere, KeptElsewhere, Told, awaited
from tocsin.broker.reply.family import Harvesters, tables_of
from tocsin.broker.reply.inheritance import Rows, inherited
from tocsin.broker.settings import ReplySettings
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import SECOND, Instant, MessageId, Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Position
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Subscription, neighbour_of
from tocsin.routing.machine import Expire
from tocsin.routing.reply.harvester import HEAD, Harvester
from tocsin.routing.reply.messages import (
    OWN,
    Abandoned,
    Forwarded,
    Inherited,
    NotReached,
    Opened,
    Reached,
    harvester_of,
)
from tocsin.routing.reply.register import Register, Registered, register_of
from tocsin.routing.ring.identifiers import is_named
from tocsin.runtime.peers import Way
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import LATEST, Letter, Writing

MAILBOXES, SPREAD = "mailboxes", "dissemination"  # sources of forwarding, besides the engine
FORGET_SECONDS = 60.0
OPENING_SECONDS = 10.0
FLUSH_SECONDS = 0.1  # that new harvesters wait for others to be written with
_KEPT = 86_400 * SECOND  # ids of letters
_decode_reply = msgspec.json.Decoder(dict[str, Any]).decode
Place = tuple[int, int]
Mailboxes = Callable[[Notification], tuple[int, bool]]


class Open(NamedTuple):
    """A record that asks for replies; `receiver` is the service it is for alone. `part` is what is asked for where
    another node of the ring has the view."""

    view: str
    receiver: str
    part: ReplyRequest | None = None


class Harvests:
    """`named` makes names of views by which all nodes of a ring find them, `elsewhere` are those at other nodes, and
    `copies` are those of this node's own there."""

    def __init__(
        self,
        base_url: str,
        node: Node,
        settings: ReplySettings,
        store: Store,
        key: bytes,
        way: Way,
        now: Callable[[], Instant],
        report: Callable[[str], None],
        named: Callable[[str], str] = str,
        elsewhere: Callable[[], Elsewhere | None] = lambda: None,
        copies: Callable[[], KeptElsewhere | None] = lambda: None,
    ) -> None:
        self._copies = copies
        self._base_url, self._node, self.now, self._elsewhere = base_url, node, now, elsewhere
        self._roots: set[str] = set()
        self.asking = Asking(base_url, key, settings, lambda: len(self._roots), named)
        self._retention = retention = round(settings.retention * SECOND)
        family = Harvesters(
            base_url,
            self.find,
            self._changed,
            self._written,
            self._over,
            self._wrote,
            merging=settings.merge,
            retention=retention,
        )
        tables = tables_of(store)
        self.written_rows, self.changed_rows, self.read_row = tables.written, tables.changes, tables.read
        self.runtime = Runtime(family, tables, now, report, way)
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.closing = False
        self._ahead: set[str] = set()  # views of records that are told of before they are on disk
        self.by_place: dict[Place, Open] = {}
        self._places: defaultdict[str, list[Place]] = defaultdict(list)
        self._parts: dict[str, Instant] = {}  # views at other nodes that have receivers here, and until when
        self._watched: dict[Place, str] = {}  # records that Spark has not matched yet
        self._tasks: set[asyncio.Task[None]] = set()
        self._gathered: dict[Place, Forwarded] = {}
        self._unwritten: dict[str, int] = {}  # views whose harvester is on its way to the disk, by their record
        self._opening: list[tuple[str, Opened | NotReached]] = []
        self._registered: dict[str, Opened] = {}  # that nothing was heard of yet
        self._registering: list[Opened] = []
        self._pending: set[str] = set()  # that were registered, and are being opened
        self._flushing: asyncio.TimerHandle | None = None
        self._replied = self._resumed(family)

    # The life of the service

    def start(self) -> None:
        self.runtime.start()

    def stop_waiting(self) -> None:
        self.closing = True
        for view in list(self._waiting):
            self._wake(view)

    async def close(self) -> None:
        self._flush()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.runtime.close()

    async def forget(self) -> None:
        """What nobody replied to goes when its view could not be seen any more."""
        kept = self.now() - self._retention
        for view in [view for view, each in self._registered.items() if each.request.until < kept]:
            del self._registered[view]
            self._over(view)
        for view in [view for view, until in self._parts.items() if until < kept]:
            self._over(view)
        await self.runtime.take([Expire(Instant(self.now() - max(_KEPT, self._retention)))])

    def _resumed(self, family: Harvesters) -> list[Outcome]:
        """As the store has them: what was replied is told to the history once more, which knows repeats."""
        for harvester in self.all():
            if harvester.is_root:
                self._roots.add(harvester.view_id)
            for source in harvester.sources():
                if source.at >= 0:
                    place = (source.at, source.index)
                    self._remember(place, Open(harvester.view_id, source.receiver))
                    if not harvester.is_forwarded:
                        self._watched[place] = harvester.view_id
        register, kept = self.runtime.machines[register_of(self._base_url)], self.now() - self._retention
        for opened in register.opened() if isinstance(register, Register) else ():
            view = opened.request.view
            if opened.request.is_part and opened.request.until > kept:
                for source in opened.forwarded:
                    self._remember_part((source.at, source.index), opened.request)
            elif self.find(view) is None and opened.request.until > kept:
                self._registered[view] = opened
                self._roots.add(view)
                for source in opened.forwarded:
                    self._remember((source.at, source.index), Open(view, source.receiver))
        return [self._outcome(*each) for each in family.recalled()]

    def find(self, view: str) -> Harvester | None:
        found = self.runtime.machines.get(harvester_of(view, self._base_url))
        return found if isinstance(found, Harvester) else None

    def all(self) -> list[Harvester]:
        """Those that are only registered as they would be."""
        opened = [each for each in self.runtime.machines.values() if isinstance(each, Harvester)]
        return opened + [_unopened(self._base_url, each) for each in self._registered.values()]

    def _remember(self, place: Place, found: Open) -> None:
        self.by_place[place] = found
        self._places[found.view].append(place)

    def _remember_part(self, place: Place, request: ReplyRequest) -> None:
        self._remember(place, Open(request.view, "", request))
        self._parts[request.view] = request.until

    # What the dispatcher tells

    def forwarded(self, notification: Notification, found: Sequence[Subscription], *, complete: bool) -> None:
        """By the engine, of what it matched; before the record is told of."""
        children = tuple([node for each in found if (node := neighbour_of(each)) is not None])
        receiver, place = notification.addressee, (notification.at.offset, notification.index)
        count, source = len(found) - len(children), OWN
        if receiver:
            count, source = min(1, count), f"@{receiver}"
        self._gathered[place] = Forwarded(count, children, complete, source, *place, receiver)
        if (request := notification.reply) is not None:
            self.by_place[place] = Open(request.view, receiver, request if request.is_part else None)
            if not request.is_part:
                self._ahead.add(request.view)

    def follow(self, mailboxes: Mailboxes) -> Callable[[Arrival], None]:
        """Hears of a record that is in the log and was matched by the engine, where it does that itself.

        `mailboxes` says how many take a notification for pull points, and whether that is all.
        """

        def arrived(arrived: Arrival) -> None:
            for notification in arrived.notifications:
                if notification.reply is not None and notification.reply.is_part:
                    self._open_part(notification, notification.reply, arrived.offset, mailboxes)
                elif notification.reply is not None:
                    self._open(notification, notification.reply, arrived, mailboxes)

        return arrived

    def _open(self, notification: Notification, request: ReplyRequest, arrived: Arrival, mailboxes: Mailboxes) -> None:
        place, service = (arrived.offset, notification.index), notification.addressee
        own = self._gathered.pop(place, None)
        if _is_left(notification) and (self.find(request.view) is not None or request.view in self._registered):
            self._ahead.discard(request.view)
            self._remember(place, Open(request.view, ""))
            return
        pulled, all_of_them = (1, True) if arrived.pull_point is not None else mailboxes(notification)
        missing = bool(service) and own is not None and not own.receivers + pulled
        told = [Forwarded(0, (), True, f"@{service}", *place, service)] if service else []
        if not service:
            told = [Forwarded(pulled, (), all_of_them, MAILBOXES, *place), *(() if own is None else (own,))]
        self._remember(place, Open(request.view, service))
        if own is None and not service:
            self._watched[place] = request.view
        opened = Opened(
            request,
            arrived.principal,
            str(notification.topic),
            notification.id,
            (OWN, MAILBOXES, *(() if request.path else awaited(notification))),
            tuple(told),
            spread=bool(service),
        )
        view = request.view
        is_new = view not in self._unwritten and view not in self._registered and self.find(view) is None
        if is_new:
            self._unwritten[view] = arrived.offset
            if not request.path:
                self._roots.add(view)
        self._ahead.discard(view)
        self._wake(view)
        if is_new and self._is_to_register(opened):
            self._registered[view] = opened
            self._registering.append(opened)
        else:
            self._opening.append((harvester_of(view, self._base_url), opened))
        if missing:
            why = "its service has no subscription that takes it"
            self._opening.append((harvester_of(view, self._base_url), NotReached(service, why)))
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def _open_part(self, notification: Notification, request: ReplyRequest, offset: int, mailboxes: Mailboxes) -> None:
        """Who has the view is told of the receivers here; that it was is written then, and where they are."""
        place = (offset, notification.index)
        own, (pulled, all_of_them) = self._gathered.pop(place, Forwarded(0)), mailboxes(notification)
        told = Forwarded(own.receivers + pulled, (), own.complete and all_of_them, PART)
        self._remember_part(place, request)
        self._unwritten.setdefault(request.view, offset)
        self.begin_work(self._tell_of_part(request, told, place, again=_is_left(notification)))

    async def _tell_of_part(self, request: ReplyRequest, told: Forwarded, place: Place, *, again: bool) -> None:
        view, elsewhere = request.view, self._elsewhere()
        if elsewhere is not None and await elsewhere.tell(view, request.until, told, again=again):
            here = msgspec.structs.replace(told, at=place[0], index=place[1])
            self._registering.append(Opened(request, forwarded=(here,)))
            self._flush_soon()
        else:
            self._over(request.view)

    def begin_work(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def hear(self, view: str, message: Told, *, again: bool = False) -> bool:
        """Of receivers that another node of the ring has; whether the view is here. On disk when it returns."""
        if (harvester := await self.known(view)) is None:
            return False
        if not (again and any(each.source == PART for each in harvester.sources())):
            await self.runtime.take([self.letter(view, message)])
            await self.kept()
        return True

    async def inherit(self, machines: Iterable[tuple[str, Rows]]) -> None:
        """From a node that is no more: its views go on here, with all that was replied."""
        for view, rows in inherited(machines):
            opened = rows[HEAD].opened
            if not opened.request.path and not await self.has(view):
                self._roots.add(view)
                await self.runtime.take([self.letter(view, Inherited(tuple(rows.items())))])

    async def abandon(self) -> None:
        """Other nodes of the ring go on with the views of this one."""
        views = {each for each in (*self._registered, *self._parts, *self._roots) if is_named(each)}
        for view in views:
            self._registered.pop(view, None)
            self._over(view)
        views |= {each.view_id for each in self.all() if is_named(each.view_id)}
        self._opening, self._registering = [], []
        await self.runtime.take(
            [
                *(self.letter(view, Abandoned()) for view in views),
                Letter(register_of(self._base_url), Expire(Instant(LATEST))),
            ]
        )

    async def kept(self) -> None:
        """What is on disk is so at those who keep copies."""
        copies = self._copies()
        if copies is not None and (keeping := copies.kept()) is not None:
            await keeping

    def _wrote(self, writing: Writing) -> None:
        if (copies := self._copies()) is not None:
            copies.wrote(writing)

    async def has(self, view: str) -> bool:
        return view in self._registered or view in self._ahead or await self.known(view) is not None

    def view_at(self, offset: int) -> str:
        """Of a record with one notification that asks for replies."""
        found = self.by_place.get((offset, 0))
        return self.asking.view_of(Position(self._node, offset)) if found is None else found.view

    def _is_to_register(self, opened: Opened) -> bool:
        """What concerns this node alone, is wholly known, and that nobody has said anything of."""
        if opened.request.path or opened.spread or len(opened.forwarded) != len(opened.awaits):
            return False
        return not any(each.children for each in opened.forwarded)

    def _open_now(self, view: str) -> None:
        """Something is to be said to a harvester that may be registered only, or is just being opened."""
        if (opened := self._registered.pop(view, None)) is not None:
            self._pending.add(view)
            self._opening.append((harvester_of(view, self._base_url), opened))
        self._flush()

    def _flush(self) -> None:
        """Many are written at once: until then the log has them."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        opening, self._opening = self._opening, []
        for name, message in opening:
            self.runtime.post(name, message)
        if self._registering:
            self.runtime.post(register_of(self._base_url), Registered(tuple(self._registering)))
            self._registering = []

    async def known(self, view: str) -> Harvester | None:
        """Also one that is just being opened, or whose record is not on disk yet (direct delivery)."""
        if view in self._ahead:
            with self.listening(view) as opened, contextlib.suppress(TimeoutError):
                await asyncio.wait_for(opened.wait(), OPENING_SECONDS)
        if view in self._unwritten or view in self._registered or view in self._pending:
            self._open_now(view)
            await self.runtime.take([])
        return self.find(view)

    @contextlib.contextmanager
    def listening(self, view: str) -> Iterator[asyncio.Event]:
        """Set whenever the view changes."""
        changed = asyncio.Event()
        self._waiting[view].add(changed)
        try:
            yield changed
        finally:
            self._waiting[view].discard(changed)
            if not self._waiting[view]:
                del self._waiting[view]

    def letter(self, view: str, message: object) -> Letter:
        """To the harvester of a view at this node."""
        return Letter(harvester_of(view, self._base_url), message)

    def offered(self, delivery: Delivery) -> None:
        """By Spark, of what it matched: who it is for is seen as it passes (paper 001 s5.1)."""
        place = (delivery.at.offset, delivery.index)
        found = self.by_place.get(place)
        if found is None or found.receiver:
            return
        node, source = delivery.to.node, f"{OWN} {delivery.match.subscription}"
        told = Forwarded(0, (node,), True, source, *place) if node else Forwarded(1, (), True, source, *place)
        self._flush()
        self.runtime.post(harvester_of(found.view, self._base_url), told)

    def matched(self, end: int) -> None:
        """By Spark: all before that record has passed."""
        self._flush()
        for place in [each for each in self._watched if each[0] < end]:
            name = harvester_of(self._watched.pop(place), self._base_url)
            self.runtime.post(name, Forwarded(0, (), True, OWN, *place))

    @property
    def watches(self) -> bool:
        """Whether there is any record that Spark is still to match."""
        return bool(self._watched)

    def dead(self, outcome: Outcome) -> None:
        """A delivery that was given up."""
        found = self.by_place.get((outcome.at.offset, outcome.index))
        if found is not None:
            self._tell(found, NotReached(found.receiver or outcome.match.subscription, outcome.detail))

    def revived(self, outcome: Outcome) -> None:
        """One that was given up, and reached its receiver after all."""
        found = self.by_place.get((outcome.at.offset, outcome.index))
        if found is not None:
            self._tell(found, Reached(found.receiver or outcome.match.subscription))

    def _tell(self, found: Open, message: NotReached | Reached) -> None:
        if found.part is None:
            self._open_now(found.view)
            self.runtime.post(harvester_of(found.view, self._base_url), message)
        elif (elsewhere := self._elsewhere()) is not None:
            self.begin_work(_told(elsewhere, found.part, message))

    def first_unwritten(self) -> int | None:
        """The first record whose harvester is not on disk: until then it is to be matched again after a crash."""
        return next(iter(self._unwritten.values()), None)

    def count(self, harvester: Harvester, receiver: str, value: str) -> None:
        """A reply that counts, for the history."""
        self._replied.append(self._outcome(harvester, receiver, value))

    def take_replied(self) -> list[Outcome]:
        """What was replied since, for the history."""
        replied, self._replied = self._replied, []
        return replied

    def _outcome(self, harvester: Harvester, receiver: str, value: str) -> Outcome:
        opened = harvester.head.opened if harvester.head is not None else None
        at, index = next(((each.at, each.index) for each in harvester.sources() if each.at >= 0), (0, 0))
        message = MessageId("" if opened is None else opened.message)
        match = Match(message, SubscriptionId(receiver))
        return Outcome(match, Position(self._node, at), index, self.now(), "replied", 0, value)

    # What is told of messages that notifiers spread

    async def begin(self, caller: Caller, request: ReplyRequest, message: str, topic: str) -> None:
        """A message that notifiers spread: who gets it is known by what becomes of it."""
        opened = Opened(request, caller.name, topic, message, (SPREAD,), spread=True)
        self._roots.add(request.view)
        await self.runtime.take([msgspec.structs.replace(self.letter(request.view, opened), fresh=True)])

    def reached(self, view: str, receivers: int, *, complete: bool) -> None:
        """So many services a message has reached by now."""
        harvester = self.find(view)
        said = Forwarded(receivers, (), complete, SPREAD)
        if harvester is not None and said not in harvester.sources():
            self.runtime.post(harvester_of(view, self._base_url), said)

    def spreading(self) -> list[tuple[str, str]]:
        """Views of messages that notifiers may still be spreading, with the messages."""
        heads = [(each.view_id, each) for each in self.all() if each.is_root and not each.is_forwarded]
        return [(view, each.head.opened.message) for view, each in heads if each.head and each.head.opened.spread]

    # What the runtime tells

    def _changed(self, view: str) -> None:
        if view in self._unwritten:
            self._written((view,))
        self._pending.discard(view)
        self._wake(view)

    def _written(self, views: Iterable[str]) -> None:
        """On this disk; where copies are kept, theirs are waited for."""
        copies = self._copies()
        if copies is not None and (keeping := copies.kept()) is not None:
            self.begin_work(self._written_later(keeping, tuple(views)))
            return
        for view in views:
            self._unwritten.pop(view, None)

    async def _written_later(self, keeping: Awaitable[None], views: Sequence[str]) -> None:
        try:
            await keeping
        except Refusal:
            self._written(views)
            return
        for view in views:
            self._unwritten.pop(view, None)

    def _over(self, view: str) -> None:
        for place in self._places.pop(view, ()):
            self.by_place.pop(place, None)
            self._watched.pop(place, None)
        self._unwritten.pop(view, None)
        self._parts.pop(view, None)
        self._roots.discard(view)
        self._wake(view)

    def _wake(self, view: str) -> None:
        for each in self._waiting.get(view, ()):
            each.set()


def _unopened(node: str, opened: Opened) -> Harvester:
    made = Harvester(harvester_of(opened.request.view, node), {})
    made.step(opened, Instant(0))
    return made


def _is_left(notification: Notification) -> bool:
    """By a node that is no more, which may have told some of its receivers."""
    return notification.way is not None and bool(notification.way.only)


async def _told(elsewhere: Elsewhere, part: ReplyRequest, message: Told) -> None:
    await elsewhere.tell(part.view, part.until, message)


def is_over() -> Refusal:
    return Refusal("over", "the publication is not known here, or its view has ended: the reply comes too late")
