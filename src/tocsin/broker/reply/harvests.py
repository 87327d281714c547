"""The replies to publications at this node: what the dispatcher tells of them, what receivers say, what publishers see.

The log has every publication that asks for replies, so its harvester is written a little later, with others; until then
the engine does not pass over the record, and a crash in between opens it again.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.journal import Arrival
from tocsin.broker.reply.asking import Asking
from tocsin.broker.reply.family import Harvesters, tables_of
from tocsin.broker.settings import ReplySettings
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import SECOND, Instant, MessageId, Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Position
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest, Token, is_proven, read_token
from tocsin.model.reply_types import reply_type
from tocsin.model.subscription import Subscription, neighbour_of
from tocsin.routing.machine import Expire
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import (
    OWN,
    Counted,
    Dropped,
    Forwarded,
    Look,
    NotReached,
    Opened,
    Replied,
    Terminate,
    View,
    harvester_of,
)
from tocsin.routing.reply.waiting import Met, Until, Wait
from tocsin.runtime.peers import Way
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Letter
from tocsin.wire.answer import Answer

MAILBOXES, SPREAD = "mailboxes", "dissemination"  # sources of forwarding, besides the engine
LOOK_SECONDS = 1.0  # between two looks at the nodes behind, while somebody waits
FORGET_SECONDS = 60.0
FLUSH_SECONDS = 0.1  # that new harvesters wait for others to be written with
_KEPT = 86_400 * SECOND  # ids of letters
_decode_reply = msgspec.json.Decoder(dict[str, Any]).decode
Place = tuple[int, int]
Mailboxes = Callable[[Notification], tuple[int, bool]]


class Open(NamedTuple):
    """A record that asks for replies; `receiver` is the service it is for alone."""

    view: str
    receiver: str


class Harvests:
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
    ) -> None:
        self._base_url, self._node, self._settings, self._now = base_url, node, settings, now
        self.asking = Asking(base_url, key, settings, lambda: self._roots)
        self._roots = 0
        self._family = Harvesters(
            base_url,
            self._changed,
            self._over,
            merging=settings.merge,
            retention=round(settings.retention * SECOND),
        )
        self.runtime = Runtime(self._family, tables_of(store), now, report, way)
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._closing = False
        self.by_place: dict[Place, Open] = {}
        self._places: defaultdict[str, list[Place]] = defaultdict(list)
        self._watched: dict[Place, str] = {}  # records that Spark has not matched yet
        self._tasks: set[asyncio.Task[None]] = set()
        self._gathered: dict[Place, Forwarded] = {}
        self._unwritten: dict[str, int] = {}  # views whose harvester is on its way to the disk, by their record
        self._opening: list[tuple[str, Opened | NotReached]] = []
        self._flushing: asyncio.TimerHandle | None = None
        self._looked: dict[str, int] = {}
        self._replied: list[Outcome] = []
        self._resume()

    # The life of the service

    def start(self) -> None:
        self.runtime.start()

    def stop_waiting(self) -> None:
        self._closing = True
        for view in list(self._waiting):
            self._wake(view)

    async def close(self) -> None:
        self._flush()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.runtime.close()

    async def forget(self) -> None:
        await self.runtime.take([Expire(Instant(self._now() - _KEPT))])

    def _resume(self) -> None:
        """As the store has them. What was replied is told to the history once more: it knows repeats."""
        for harvester in self._family.all():
            self._roots += harvester.is_root
            for source in harvester.sources():
                if source.at >= 0:
                    self._remember((source.at, source.index), Open(harvester.view_id, source.receiver))
            if not harvester.is_forwarded:
                places = ((each.at, each.index) for each in harvester.sources() if each.at >= 0)
                self._watched |= dict.fromkeys(places, harvester.view_id)
        self._replied = [self._outcome(*each) for each in self._family.recalled]
        self._family.recalled.clear()

    def _remember(self, place: Place, found: Open) -> None:
        self.by_place[place] = found
        self._places[found.view].append(place)

    # What the dispatcher tells

    def forwarded(self, notification: Notification, found: Sequence[Subscription], *, complete: bool) -> None:
        """By the engine, of what it matched; before the record is told of."""
        children = tuple(node for each in found if (node := neighbour_of(each)) is not None)
        receiver, place = notification.addressee, (notification.at.offset, notification.index)
        count, source = len(found) - len(children), OWN
        if receiver:
            count, source = min(1, count), f"@{receiver}"
        self._gathered[place] = Forwarded(count, children, complete, source, *place, receiver)

    def follow(self, mailboxes: Mailboxes) -> Callable[[Arrival], None]:
        """Hears of a record that is in the log and was matched by the engine, where it does that itself.

        `mailboxes` says how many take a notification for pull points, and whether that is all.
        """

        def arrived(arrived: Arrival) -> None:
            for notification in arrived.notifications:
                if notification.reply is not None:
                    self._open(notification, notification.reply, arrived, mailboxes)

        return arrived

    def _open(self, notification: Notification, request: ReplyRequest, arrived: Arrival, mailboxes: Mailboxes) -> None:
        place, service = (arrived.offset, notification.index), notification.addressee
        own = self._gathered.pop(place, None)
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
            (OWN, MAILBOXES),
            tuple(told),
            spread=bool(service),
        )
        if self._family.harvester(request.view) is None and request.view not in self._unwritten:
            self._unwritten[request.view] = arrived.offset
            self._roots += not request.path
        name = harvester_of(request.view, self._base_url)
        self._opening.append((name, opened))
        if missing:
            self._opening.append((name, NotReached(service, "its service has no subscription that takes it")))
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._flush)

    def _flush(self) -> None:
        """Many are written at once: until then the log has them."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        opening, self._opening = self._opening, []
        for name, message in opening:
            self.runtime.post(name, message)

    async def _known(self, view: str) -> Harvester | None:
        """Also one that is just being opened."""
        if view in self._unwritten:
            self._flush()
            await self.runtime.take([])
        return self._family.harvester(view)

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
            self._flush()
            receiver = found.receiver or outcome.match.subscription
            self.runtime.post(harvester_of(found.view, self._base_url), NotReached(receiver, outcome.detail))

    def answered(self, delivery: Delivery, answer: Answer) -> None:
        """A consumer may reply in its answer: a JSON object whose member `reply` is the value."""
        found = self.by_place.get((delivery.at.offset, delivery.index))
        if found is not None and b'"reply"' in answer.body:
            receiver = found.receiver or delivery.match.subscription
            task = asyncio.create_task(self._reply_in_answer(found.view, receiver, answer.body))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def first_unwritten(self) -> int | None:
        """The first record whose harvester is not on disk: until then it is to be matched again after a crash."""
        return next(iter(self._unwritten.values()), None)

    def take_replied(self) -> list[Outcome]:
        """What was replied since, for the history."""
        replied, self._replied = self._replied, []
        return replied

    # What receivers do

    async def question(self, caller: Caller, token: str) -> tuple[str, str, Instant]:
        """What is asked for with that token: the type of the reply, the topic, and until when."""
        caller.anybody()
        harvester, _ = await self._proven(token)
        assert harvester.head is not None
        opened = harvester.head.opened
        return opened.request.type, opened.topic, opened.request.until

    async def reply(self, caller: Caller, token: str, said: object) -> None:
        """Counted when this returns. Who has the token may: it was given to one receiver, for one reply."""
        caller.anybody()
        harvester, receiver = await self._proven(token)
        assert harvester.head is not None
        await self._reply(harvester, receiver, reply_type(harvester.head.opened.request.type).value_of(said))

    async def _reply_in_answer(self, view: str, receiver: str, body: bytes) -> None:
        """Nobody waits for what comes of it."""
        harvester = await self._known(view)
        if harvester is None or harvester.head is None:
            return
        with contextlib.suppress(msgspec.DecodeError, Refusal):
            said = _decode_reply(body)
            if "reply" in said:
                value = reply_type(harvester.head.opened.request.type).value_of(said["reply"])
                await self._reply(harvester, receiver, value)

    async def _reply(self, harvester: Harvester, receiver: str, value: str) -> None:
        name = harvester_of(harvester.view_id, self._base_url)
        match await self.runtime.take([Letter(name, Replied(receiver, value))]):
            case [Counted()]:
                self._replied.append(self._outcome(harvester, receiver, value))
            case [Dropped("second")]:
                raise Refusal("over", "this receiver has replied before; one reply counts")
            case _:
                raise _is_over()

    async def _proven(self, text: str) -> tuple[Harvester, str]:
        token: Token | None = read_token(text)
        if token is None:
            raise Refusal("unknown-name", f"{text[:80]!r} is no token of a notification that asks for a reply")
        harvester = await self._known(token.view)
        if harvester is None or harvester.head is None:
            raise _is_over()
        if not is_proven(token, harvester.head.opened.request.secret):
            raise Refusal("not-proven", "this token was not made here; reply with the one of the notification")
        return harvester, token.receiver

    def _outcome(self, harvester: Harvester, receiver: str, value: str) -> Outcome:
        opened = harvester.head.opened if harvester.head is not None else None
        at, index = next(((each.at, each.index) for each in harvester.sources() if each.at >= 0), (0, 0))
        message = MessageId("" if opened is None else opened.message)
        match = Match(message, SubscriptionId(receiver))
        return Outcome(match, Position(self._node, at), index, self._now(), "replied", 0, value)

    # What publishers do

    def views(self, caller: Caller) -> list[View]:
        """The caller's own that are still to be seen."""
        roots = [each for each in self._family.all() if each.head is not None and each.is_root]
        return [each.view() for each in roots if self._may_see(caller, each)]

    async def view(self, caller: Caller, name: str, *, look: float = 0.0) -> View:
        """As far as it is known here; with `look`, those behind are asked, and waited for so many seconds."""
        harvester = await self._own(caller, name)
        if look:
            await self._look(harvester, look)
        return harvester.view()

    async def wait(self, caller: Caller, name: str, until: Until) -> tuple[View, Met]:
        """Until one of its conditions holds, and which."""
        wait, met = Wait(until, self._now()), None
        async for view in self.watch(caller, name, wait.next_look):
            met = "ended" if self._closing else wait.met(view, self._now())
            if met is not None:
                return view, met
        raise _is_over()

    async def watch(
        self, caller: Caller, name: str, patience: Callable[[Instant], float] = lambda _: 15.0
    ) -> AsyncIterator[View]:
        """It, and again whenever it changed, or so many seconds passed."""
        harvester = await self._own(caller, name)
        looking = asyncio.create_task(self._keep_looking(harvester))
        try:
            with self._listening(name) as changed:
                while True:
                    changed.clear()
                    yield harvester.view()
                    if self._closing or self._family.harvester(name) is not harvester:
                        return
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(changed.wait(), patience(self._now()))
        finally:
            looking.cancel()

    @contextlib.contextmanager
    def _listening(self, view: str) -> Iterator[asyncio.Event]:
        """Set whenever the view changes."""
        changed = asyncio.Event()
        self._waiting[view].add(changed)
        try:
            yield changed
        finally:
            self._waiting[view].discard(changed)
            if not self._waiting[view]:
                del self._waiting[view]

    async def terminate(self, caller: Caller, name: str, grace: float) -> View:
        """What comes later does not count; those behind are waited for so many seconds."""
        await self._own(caller, name)
        await self.runtime.take([Letter(harvester_of(name, self._base_url), Terminate(round(grace * SECOND)))])
        async for view in self.watch(caller, name):
            if view.ended or self._closing:
                return view
        raise _is_over()

    async def begin(self, caller: Caller, request: ReplyRequest, message: str, topic: str) -> None:
        """A message that notifiers spread: who gets it is known by what becomes of it."""
        opened = Opened(request, caller.name, topic, message, (SPREAD,), spread=True)
        self._roots += 1
        await self.runtime.take([Letter(harvester_of(request.view, self._base_url), opened, fresh=True)])

    def reached(self, view: str, receivers: int, *, complete: bool) -> None:
        """So many services a message has reached by now."""
        harvester = self._family.harvester(view)
        said = Forwarded(receivers, (), complete, SPREAD)
        if harvester is not None and said not in harvester.sources():
            self.runtime.post(harvester_of(view, self._base_url), said)

    def spreading(self) -> list[tuple[str, str]]:
        """Views of messages that notifiers may still be spreading, with the messages."""
        heads = [(each.view_id, each) for each in self._family.all() if each.is_root and not each.is_forwarded]
        return [(view, each.head.opened.message) for view, each in heads if each.head and each.head.opened.spread]

    async def _own(self, caller: Caller, name: str) -> Harvester:
        found = await self._known(name)
        if found is None or found.head is None or not found.is_root:
            raise Refusal("unknown-name", f"there is no view {name[:80]!r} here, or it is no longer kept")
        if not self._may_see(caller, found):
            raise caller.may_not("see the replies to a publication of another")
        return found

    def _may_see(self, caller: Caller, harvester: Harvester) -> bool:
        assert harvester.head is not None
        return caller.manages_everything() or (caller.name is not None and caller.name == harvester.head.opened.owner)

    async def _keep_looking(self, harvester: Harvester) -> None:
        """Those behind are asked again and again, while anything is to come from them."""
        while True:
            if harvester.children:
                await self._ask_to_look(harvester, LOOK_SECONDS)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, harvester: Harvester, seconds: float) -> None:
        with self._listening(harvester.view_id) as changed, contextlib.suppress(TimeoutError):
            await self._ask_to_look(harvester, seconds)
            async with asyncio.timeout(seconds):
                while harvester.is_looking and not self._closing:
                    await changed.wait()
                    changed.clear()

    async def _ask_to_look(self, harvester: Harvester, seconds: float) -> None:
        view = harvester.view_id
        number = self._looked[view] = max(self._looked.get(view, 0) + 1, self._now() // 1_000_000)
        look = Look(number, round(seconds * SECOND))
        with contextlib.suppress(Refusal):
            await self.runtime.take([Letter(harvester_of(view, self._base_url), look)])

    # What the runtime tells

    def _changed(self, view: str) -> None:
        self._unwritten.pop(view, None)
        self._wake(view)

    def _over(self, view: str) -> None:
        for place in self._places.pop(view, ()):
            self.by_place.pop(place, None)
            self._watched.pop(place, None)
        self._looked.pop(view, None)
        self._unwritten.pop(view, None)
        self._roots = sum(each.is_root for each in self._family.all()) if self._roots else 0
        self._wake(view)

    def _wake(self, view: str) -> None:
        for each in self._waiting.get(view, ()):
            each.set()


def _is_over() -> Refusal:
    return Refusal("over", "the publication is not known here, or its view has ended: the reply comes too late")
