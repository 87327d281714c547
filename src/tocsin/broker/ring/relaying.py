"""Notifications on the ring: each is accepted by the node that has its key, on whose disk it is when that is
acknowledged (paper 004 s3.A). What waits for a node while another request is under way goes there together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.demanding import Demanding
from tocsin.broker.ring.gathering import Gathering
from tocsin.broker.ring.messages import Relay
from tocsin.broker.ring.placing import Placing
from tocsin.mediation.between_nodes import frame_of, framed, ring_door
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.routing.ring.keys import Place
from tocsin.routing.ring.meeting import CIRCLE, shared_out
from tocsin.routing.ring.ranges import Ranges
from tocsin.routing.ring.relay import RELAY, Verdict
from tocsin.routing.ring.relay_messages import Answered, Question
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.spans import Keys, Span

MOST_BYTES = 1 << 20  # in one request, unless one alone has more
MOST_OPEN = 4  # requests to one node
Answers = tuple[Answered, ...]


class Part(NamedTuple):
    """A notification for the subscriptions of one plane, whoever has the key. One that has several keys there has a
    `span`, and `arcs` in which it is still to be taken; those whom a node is to tell of it are found by its arcs.
    `whole` is of how many such parts, or none where it is not known that nobody has any of them. A `question` of who
    wants such goes with it."""

    notification: Notification
    plane: str
    key: int
    span: Span | None = None
    arcs: Ranges = ()
    whole: int = 0
    question: Question | None = None


class _Whither(NamedTuple):
    """What all have in common that go in one request."""

    number: int
    principal: str | None
    plane: str
    arcs: Ranges


class _Group:
    """Frames that go in one request."""

    def __init__(self, whither: _Whither) -> None:
        self.whither = whither
        self.frames: list[bytes] = []
        self.questions: list[Question] = []
        self.size = 0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def takes(self, size: int) -> bool:
        return not self.frames or self.size + size <= MOST_BYTES

    def add(self, frames: Iterable[bytes], size: int, questions: Iterable[Question]) -> None:
        self.frames += frames
        self.questions += questions
        self.size += size


class _Lane:
    """To one member: at once while few requests are under way, then together."""

    def __init__(self, to: Member, asking: Asking, answered: Callable[[Iterable[Answered]], None]) -> None:
        self._to, self._asking, self._answered = to, asking, answered
        self._waiting: dict[_Whither, _Group] = {}
        self._open = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def put(self, whither: _Whither, frames: Sequence[bytes], questions: Sequence[Question]) -> Awaitable[None]:
        size = sum(map(len, frames))
        group = self._waiting.get(whither)
        if group is None or not group.takes(size):
            if group is not None:
                self._send(self._waiting.pop(whither))
            group = self._waiting[whither] = _Group(whither)
            asyncio.get_running_loop().call_soon(self._next)
        group.add(frames, size, questions)
        return asyncio.shield(group.done)

    def _next(self) -> None:
        while self._waiting and self._open < MOST_OPEN:
            self._send(self._waiting.pop(next(iter(self._waiting))))

    def _send(self, group: _Group) -> None:
        self._open += 1
        task = asyncio.create_task(self._sent(group))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _sent(self, group: _Group) -> None:
        try:
            number, principal, plane, arcs = group.whither
            relay = Relay(number, principal, plane, framed(group.frames), arcs, tuple(group.questions))
            self._answered(await self._asking.ask(self._to, relay, Answers))
            group.done.set_result(None)
        except BaseException as problem:
            group.done.set_exception(problem)
            group.done.exception()  # whoever waited may have gone
        finally:
            self._open -= 1
            self._next()


class Relaying:
    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        placing: Placing,
        publishing: Publishing,
        demanding: Demanding,
        gathering: Gathering | None = None,
    ) -> None:
        self._circle, self._asking, self._placing, self._publishing = circle, asking, placing, publishing
        self._demanding, self._gathering = demanding, gathering
        self._lanes: dict[str, _Lane] = {}
        self.relayed = self.taken = self.left = 0

    def elsewhere(self, notifications: Sequence[Notification]) -> list[Part] | None:
        """None for one that belongs here alone or that nobody wants, or where there is nobody else. One that asks for
        replies has its view where it belongs, whoever wants it."""
        circle = self._circle
        if circle.is_alone or notifications[0].addressee:
            return None
        parts_of = self._parts if notifications[0].reply is not None else self._wanted_parts
        if len(notifications) > 1:
            return [part for each in notifications for part in parts_of(each) or [self._kept(each)]]
        parts = parts_of(notifications[0])
        is_here = circle.is_ready and not circle.is_moving
        if not parts or (is_here and self._are_mine(parts)):
            circle.must_act()
            return None
        return parts

    async def spread(self, parts: list[Part], principal: str | None) -> None:
        """Each with others of its topic, where they wait for one another."""
        if self._gathering is not None:
            turn = self._gathering.turn
            turns = (turn((each.plane, each.key), len(each.notification.payload.data)) for each in parts)
            await asyncio.gather(*turns)
        await self._spread(parts, principal)

    async def take(self, by: str, asked: Relay) -> Answers:
        """From another node, for what belongs here; who wants such, if that is asked."""
        await self._circle.same(asked.number, ready=True)
        await self._publishing.take(ring_door(by, asked.plane, arcs=asked.arcs), asked.frames, asked.principal)
        self.taken += 1
        return self._demanding.asked(asked.questions) if asked.questions else ()

    def _parts(self, notification: Notification) -> list[Part]:
        places = self._placing.places(notification)
        parts = [_part(notification, each)._replace(whole=len(places)) for each in places]
        return parts if len(parts) > 1 else [parts[0]._replace(plane=EVERY_PLANE)]

    def _are_mine(self, parts: Iterable[Part]) -> bool:
        roster, me = self._circle.roster, self._circle.me
        return all(name == me for each in parts for name, _, _ in shares_of(roster, each))

    def _wanted_parts(self, notification: Notification) -> list[Part]:
        """None where nobody wants any of them. Else all: what a publisher repeats at another node, which knows more or
        less of who wants it, is then taken in the same parts, and known again."""
        parts = self._parts(notification)
        verdicts = [self._verdict(each) for each in parts]
        if any(each.relay for each in verdicts):
            return [part._replace(question=each.question) for part, each in zip(parts, verdicts, strict=True)]
        self.left += 1
        return []

    def _verdict(self, part: Part) -> Verdict:
        if part.span is not None or self._circle.is_mine(part.key):
            return RELAY
        return self._demanding.verdict(part.plane, part.key, part.notification.topic)

    def _kept(self, notification: Notification) -> Part:
        """Among others: what nobody wants is accepted here."""
        me = self._circle.member
        return Part(notification, EVERY_PLANE, 0 if me is None else me.id, whole=1)

    async def _spread(self, parts: list[Part], principal: str | None) -> None:
        left, began = list(parts), self._circle.number

        async def attempt(roster: Roster) -> None:
            if number_of(roster) != began:  # by now some of it may be had by who goes on for another
                left[:] = [each._replace(whole=0) for each in left]
            groups = _by_owner(roster, left)
            if len(groups) == 1:  # as of one notification with one key, which needs no task of its own
                ((place, group),) = groups.items()
                await self.to(roster, *place, group, principal)
                return
            asked = [self.to(roster, *place, group, principal) for place, group in groups.items()]
            problems = await asyncio.gather(*asked, return_exceptions=True)
            failed = [group for group, problem in zip(groups.values(), problems, strict=True) if problem is not None]
            left[:] = [part for group in failed for part in group]
            for problem in problems:
                if problem is not None:
                    raise problem

        await self._circle.agreed(attempt)

    async def to(
        self, roster: Roster, owner: str, plane: str, arcs: Ranges, parts: Sequence[Part], principal: str | None
    ) -> None:
        frames = [frame_of(each) for each in {id(part.notification): part.notification for part in parts}.values()]
        if owner == self._circle.me:
            await self._circle.same(number_of(roster), ready=True)
            await self._publishing.take(ring_door(self._circle.me, plane, arcs=arcs), framed(frames), principal)
            return
        member = roster.get(owner)
        assert member is not None
        lane = self._lanes.get(member.address)
        if lane is None:
            lane = self._lanes[member.address] = _Lane(member, self._asking, self._demanding.answered)
        questions = [each.question for each in parts if each.question is not None]
        await lane.put(_Whither(number_of(roster), principal, plane, arcs), frames, questions)
        self.relayed += len(frames)


def _part(notification: Notification, place: Place) -> Part:
    key = place.span.next_key(0)
    assert key is not None, "a place has a key"
    is_one = isinstance(place.span, Keys) and len(place.span.keys) == 1
    return Part(notification, place.plane, key) if is_one else Part(notification, place.plane, key, place.span, CIRCLE)


def shares_of(roster: Roster, part: Part) -> Iterator[tuple[str, Ranges, Part]]:
    """To whom it goes by that roster, for which arcs, and what that is of it. What is all at one node is like what has
    one key there, and for no arcs."""
    if part.span is None:
        yield roster.owner(part.key).name, (), part
        return
    shares = shared_out(roster, part.span, part.arcs)
    for name, arcs in shares.items():
        is_whole = len(shares) == 1 and part.arcs == CIRCLE
        yield name, () if is_whole else arcs, part if is_whole else part._replace(arcs=arcs)


def _by_owner(roster: Roster, parts: Iterable[Part]) -> dict[tuple[str, str, Ranges], list[Part]]:
    """What is all at one node is taken there as one, which is known again whatever node it is published at next."""
    groups: dict[tuple[str, str, Ranges], list[Part]] = {}
    for _, of_one in groupby(parts, lambda part: id(part.notification)):
        shares = [share for part in of_one for share in shares_of(roster, part)]
        is_whole = len({name for name, _, _ in shares}) == 1 and len(shares) == shares[0][2].whole
        for name, arcs, share in shares:
            place = (name, EVERY_PLANE, ()) if is_whole else (name, share.plane, arcs)
            groups.setdefault(place, []).append(share)
    return groups
