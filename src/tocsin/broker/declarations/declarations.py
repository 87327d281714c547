"""What is declared to a node goes through its log, and is known from its record on."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.checks import boxes_in, check_among, formed, graphs_in, is_known, no_such_space
from tocsin.broker.journal import Journal
from tocsin.broker.kernels import warmed
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import resolve
from tocsin.model.areas import parse_area, said_in
from tocsin.model.content_topic import CONTENT_TOPIC, space_of
from tocsin.model.declarations import Declaration, Hierarchy, Producer, Withdrawn
from tocsin.model.filters import Filter
from tocsin.model.identity import Instant
from tocsin.model.notification import Notification
from tocsin.model.records import Declared, Position
from tocsin.model.refusal import Refusal
from tocsin.model.space import InformationSpace
from tocsin.semantics.interest.producers import WorldProducers, categories_of, is_of_world
from tocsin.semantics.interest.world import World

SHOWN = 3


Spread = Callable[[Sequence[Declaration]], Awaitable[None] | None]


class Declarations:
    """`known` is as of the last record on disk. In a ring `spread` has all nodes declare it; None where that is here
    alone."""

    def __init__(
        self,
        journal: Journal,
        known: Catalogue,
        standing: StandingSubscriptions,
        now: Callable[[], Instant],
        report: Callable[[str], None],
        spread: Spread = lambda _: None,
    ) -> None:
        self._journal, self.known, self._standing, self._now, self._report = journal, known, standing, now, report
        self._spread = spread
        self.ahead = known  # as it will be, once all that waits is on disk
        self._declaring = 0  # so many wait
        self._last: asyncio.Future[int] | None = None  # of them
        self._of_world = WorldProducers()
        self.categories_of_world = False

    async def declare(self, caller: Caller, what: Declaration) -> None:
        """On disk when it returns; refuses what cannot be, and to change a space that subscriptions use."""
        caller.must_manage_everything("declare spaces, types, categories or producers")
        what = await asyncio.to_thread(formed, what) if isinstance(what, Hierarchy | Producer) else formed(what)
        if isinstance(what, InformationSpace):
            await self.warm()
        check_among(what, self.ahead)
        if isinstance(what, Hierarchy) and what.of == "categories" and self.categories_of_world:
            raise Refusal("in-use", "the categories are those of the world; change them there, with `tocsin ino`")
        if isinstance(what, Withdrawn) and what.what == "producer":
            what = self._of_world.at(what.name) or what  # a service is what the world says of it again
        if not await self.has(what):
            self._refuse_use(what)
            await self.append((what,))

    async def has(self, what: Declaration) -> bool:
        """Whether it is known already, and on disk: nothing is said to be there by what others still wait for."""
        if not is_known(what, self.ahead):
            return False
        if self._last is not None:
            await self._journal.stored(self._last)
        return True

    async def warm(self) -> None:
        """The kernels that match boxes and graph patterns."""
        await warmed(self._report)

    async def ready_for(self, filters: Iterable[Filter]) -> None:
        """Graph patterns may ask for what RDF itself has, without any ontology."""
        if any(True for _ in graphs_in(filters)):
            await self.warm()

    def resolved(self, filters: Iterable[Filter]) -> tuple[Filter, ...]:
        """As the log keeps them. Boxes lie in spaces that are declared, and will be as long as they are asked for."""
        found = resolve(filters, self.ahead)
        for box in boxes_in(found):
            space = self.ahead.spaces.get(box.space)
            if space is None:
                raise Refusal("bad-filter", no_such_space(box.space, self.ahead))
            if len(box.sides) != len(space.dimensions):
                text = f"a box in {space.name} has {len(space.dimensions)} sides, not {len(box.sides)}"
                raise Refusal("bad-filter", text)
        return found

    def check_content_topics(self, notifications: Iterable[Notification]) -> None:
        """Nobody could be told of one that lies in no space, and its publisher would never know."""
        for each in notifications:
            if each.attributes and (text := each.attribute(CONTENT_TOPIC)) is not None:
                for said in said_in(text):
                    name = space_of(said)
                    space = self.ahead.spaces.get(name)
                    if space is None:
                        why = no_such_space(name, self.ahead)
                        raise Refusal("unknown-topic", f"content topic {said[:80]!r}: {why}")
                    parse_area(said, space)

    async def world_changed(self, world: World) -> None:
        """Services are producers too; what else was declared of an address stands.

        The world is as it is by now: should this fail, the next change tells of all of it again.
        """
        try:
            await self.append([each for each in self._differences(world) if not is_known(each, self.ahead)])
        except Refusal as refusal:
            self._of_world = WorldProducers()
            told = f"the services of the world are not known as producers: {refusal.text}"
            asyncio.get_running_loop().call_exception_handler({"message": told, "exception": refusal})

    def _differences(self, world: World) -> Iterator[Declaration]:
        if world.categories or self.categories_of_world:
            self.categories_of_world = bool(world.categories)
            yield categories_of(world)
        known, first = self.ahead.producers, self._of_world.is_new
        for address, producer in self._of_world.update(world.services).items():
            if address not in known or is_of_world(known[address]):
                yield Withdrawn("producer", address) if producer is None else producer
        if first:
            gone = (name for name, each in known.items() if is_of_world(each) and not self._of_world.at(name))
            yield from (Withdrawn("producer", name) for name in gone)

    async def append(self, what: Sequence[Declaration]) -> None:
        """All or none of it."""
        if what and (spreading := self._spread(what)) is not None:
            await spreading
        elif what:
            await self.append_here(what)

    async def append_here(self, what: Sequence[Declaration]) -> None:
        """What is known at this node already, and in that order, changes nothing."""
        what = [each for each in what if not is_known(each, self.ahead)]
        if not what:
            return
        first, when = self._journal.position(), self._now()
        records = [Declared(Position(first.node, at), when, each) for at, each in enumerate(what, first.offset)]
        future = self._journal.declare(records)
        self.ahead = self.ahead.copy()
        for each in what:
            self.ahead.declare(each)
        self._declaring, self._last = self._declaring + 1, future
        future.add_done_callback(self._settled)
        await self._journal.stored(future)

    def declared(self, declared: Declared) -> None:
        self.known.declare(declared.what)

    def _settled(self, future: "asyncio.Future[int]") -> None:
        """What is on disk is known by now; what failed to get there took all that waited with it."""
        del future
        self._declaring -= 1
        if not self._declaring:
            self.ahead, self._last = self.known, None

    def _refuse_use(self, what: Declaration) -> None:
        match what:
            case InformationSpace(name=name) if name in self.ahead.spaces:
                done = "changed"
            case Withdrawn(what="space", name=name):
                done = "withdrawn"
            case _:
                return
        users = [
            each.id
            for each in self._standing.all()
            if each.state != "ended" and any(box.space == name for box in boxes_in(each.filters))
        ]
        if users:
            named = ", ".join(users[:SHOWN]) + (f" and {len(users) - SHOWN:,} more" if len(users) > SHOWN else "")
            text = f"the space {name!r} cannot be {done} while subscriptions ask for boxes in it: {named};"
            raise Refusal("in-use", f"{text} end them first, or declare a space of another name")
