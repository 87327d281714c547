"""What is declared to a node goes through its log, and is known from its record on."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from tocsin.broker.declarations.checks import boxes_in, check_among, formed, is_known, no_such_space
from tocsin.broker.kernels import warmed
from tocsin.broker.pull_points.service import Waited
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import resolve
from tocsin.model.content_topic import CONTENT_TOPIC, parse_point, space_of
from tocsin.model.declarations import Declaration, Hierarchy, Producer, Withdrawn
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.identity import Node as NodeName
from tocsin.model.notification import Notification
from tocsin.model.records import Declared, Position
from tocsin.model.refusal import Refusal
from tocsin.model.space import InformationSpace
from tocsin.model.subscription import Subscription
from tocsin.semantics.interest.producers import WorldProducers, categories_of, is_of_world
from tocsin.semantics.interest.world import World
from tocsin.store.codec import encode
from tocsin.store.log.log import Log

SHOWN = 3


class Declaring:
    """A base of `Node`, which has these. `known` is as of the last record on disk."""

    name: NodeName
    log: Log
    known: Catalogue
    _subscriptions: dict[SubscriptionId, Subscription]
    _changing: dict[SubscriptionId, Subscription]
    _waiting: "deque[tuple[asyncio.Future[int], int, Waited]]"

    def __init__(self, known: Catalogue) -> None:
        self.known = known
        self.report: Callable[[str], None] = lambda _: None  # set when it is opened
        self._ahead = known  # as it will be, once all that waits is on disk
        self._declaring = 0  # so many wait
        self._last: asyncio.Future[int] | None = None  # of them
        self._of_world = WorldProducers()
        self.categories_of_world = False

    def now(self) -> Instant:
        raise NotImplementedError

    async def _stored(self, future: "asyncio.Future[int]") -> None:
        raise NotImplementedError

    async def declare(self, what: Declaration) -> None:
        """On disk when it returns; what is known already is not written again."""
        what = await asyncio.to_thread(formed, what) if isinstance(what, Hierarchy | Producer) else formed(what)
        if isinstance(what, InformationSpace):
            await warmed(self.report)
        check_among(what, self._ahead)
        if isinstance(what, Hierarchy) and what.of == "categories" and self.categories_of_world:
            raise Refusal("in-use", "the categories are those of the world; change them there, with `tocsin ino`")
        if isinstance(what, Withdrawn) and what.what == "producer":
            what = self._of_world.at(what.name) or what  # a service is what the world says of it again
        if not is_known(what, self._ahead):
            self._refuse_use(what)
            await self._declare_all((what,))
        elif self._last is not None:
            await self._stored(self._last)  # nothing is said to be there by what others still wait for

    def resolved(self, filters: Iterable[Filter]) -> tuple[Filter, ...]:
        """As the log keeps them. Boxes lie in spaces that are declared, and will be as long as they are asked for."""
        found = resolve(filters, self._ahead)
        for box in boxes_in(found):
            space = self._ahead.spaces.get(box.space)
            if space is None:
                raise Refusal("bad-filter", no_such_space(box.space, self._ahead))
            if len(box.sides) != len(space.dimensions):
                text = f"a box in {space.name} has {len(space.dimensions)} sides, not {len(box.sides)}"
                raise Refusal("bad-filter", text)
        return found

    def check_content_topics(self, notifications: Iterable[Notification]) -> None:
        """Nobody could be told of one that lies in no space, and its publisher would never know."""
        for each in notifications:
            if each.attributes and (text := each.attribute(CONTENT_TOPIC)) is not None:
                name = space_of(text)
                space = self._ahead.spaces.get(name)
                if space is None:
                    raise Refusal("unknown-topic", f"content topic {text[:80]!r}: {no_such_space(name, self._ahead)}")
                parse_point(text, space)

    async def world_changed(self, world: World) -> None:
        """Services are producers too; what else was declared of an address stands.

        The world is as it is by now: should this fail, the next change tells of all of it again.
        """
        try:
            await self._declare_all([each for each in self._differences(world) if not is_known(each, self._ahead)])
        except Refusal as refusal:
            self._of_world = WorldProducers()
            told = f"the services of the world are not known as producers: {refusal.text}"
            asyncio.get_running_loop().call_exception_handler({"message": told, "exception": refusal})

    def _differences(self, world: World) -> Iterator[Declaration]:
        if world.categories or self.categories_of_world:
            self.categories_of_world = bool(world.categories)
            yield categories_of(world)
        known, first = self._ahead.producers, self._of_world.is_new
        for address, producer in self._of_world.update(world.services).items():
            if address not in known or is_of_world(known[address]):
                yield Withdrawn("producer", address) if producer is None else producer
        if first:
            gone = (name for name, each in known.items() if is_of_world(each) and not self._of_world.at(name))
            yield from (Withdrawn("producer", name) for name in gone)

    async def _declare_all(self, what: Sequence[Declaration]) -> None:
        """All or none of it."""
        if not what:
            return
        first, when = self.log.next_offset, self.now()
        records = [Declared(Position(self.name, at), when, each) for at, each in enumerate(what, first)]
        future = self.log.append_all([encode(each) for each in records], records)
        self._waiting.extend((future, each.at.offset, each) for each in records)
        self._ahead = self._ahead.copy()
        for each in what:
            self._ahead.declare(each)
        self._declaring, self._last = self._declaring + 1, future
        future.add_done_callback(self._declared)
        await self._stored(future)

    def _declared(self, future: "asyncio.Future[int]") -> None:
        """What is on disk is known by now; what failed to get there took all that waited with it."""
        del future
        self._declaring -= 1
        if not self._declaring:
            self._ahead, self._last = self.known, None

    def _refuse_use(self, what: Declaration) -> None:
        match what:
            case InformationSpace(name=name) if name in self._ahead.spaces:
                done = "changed"
            case Withdrawn(what="space", name=name):
                done = "withdrawn"
            case _:
                return
        standing = (self._subscriptions | self._changing).values()
        users = [each.id for each in standing if each.state != "ended" and _asks_in(each, name)]
        if users:
            named = ", ".join(users[:SHOWN]) + (f" and {len(users) - SHOWN:,} more" if len(users) > SHOWN else "")
            text = f"the space {name!r} cannot be {done} while subscriptions ask for boxes in it: {named};"
            raise Refusal("in-use", f"{text} end them first, or declare a space of another name")


def _asks_in(subscription: Subscription, space: str) -> bool:
    return any(box.space == space for box in boxes_in(subscription.filters))
