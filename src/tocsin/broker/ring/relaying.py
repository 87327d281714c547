"""Notifications on the ring: each is accepted by the node that has its key, on whose disk it is when that is
acknowledged (paper 004 s3.A). What waits for a node while another request is under way goes there together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
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
from tocsin.routing.ring.relay import RELAY, Verdict
from tocsin.routing.ring.relay_messages import Answered, Question
from tocsin.routing.ring.roster import Member, Roster

MOST_BYTES = 1 << 20  # in one request, unless one alone has more
MOST_OPEN = 4  # requests to one node
Answers = tuple[Answered, ...]


class Part(NamedTuple):
    """A notification for the subscriptions of one plane, whoever has the key; with a question of who wants such."""

    notification: Notification
    plane: str
    key: int
    question: Question | None = None


class _Group:
    """Frames that go in one request."""

    def __init__(self, number: int, principal: str | None, plane: str) -> None:
        self.number, self.principal, self.plane = number, principal, plane
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
        self._waiting: dict[tuple[int, str | None, str], _Group] = {}
        self._open = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def put(
        self,
        number: int,
        principal: str | None,
        plane: str,
        frames: Sequence[bytes],
        questions: Sequence[Question] = (),
    ) -> Awaitable[None]:
        key, size = (number, principal, plane), sum(map(len, frames))
        group = self._waiting.get(key)
        if group is None or not group.takes(size):
            if group is not None:
                self._send(self._waiting.pop(key))
            group = self._waiting[key] = _Group(*key)
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
            questions = tuple(group.questions)
            relay = Relay(group.number, group.principal, group.plane, framed(group.frames), questions)
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
        if not parts or (circle.is_ready and all(circle.is_mine(each.key) for each in parts)):
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
        await self._publishing.take(ring_door(by, asked.plane), asked.frames, asked.principal)
        self.taken += 1
        return self._demanding.asked(asked.questions) if asked.questions else ()

    def _parts(self, notification: Notification) -> list[Part]:
        keys = self._placing.keys(notification)
        if len(keys) == 1:
            return [Part(notification, EVERY_PLANE, keys[0][1])]
        return [Part(notification, plane, key) for plane, key in keys]

    def _wanted_parts(self, notification: Notification) -> list[Part]:
        """Those that are not left; none where all of them are."""
        judged = [(part, self._verdict(part)) for part in self._parts(notification)]
        wanted = [part._replace(question=verdict.question) for part, verdict in judged if verdict.relay]
        self.left += not wanted
        return wanted

    def _verdict(self, part: Part) -> Verdict:
        if self._circle.is_mine(part.key):
            return RELAY
        return self._demanding.verdict(part.plane, part.key, part.notification.topic)

    def _kept(self, notification: Notification) -> Part:
        """Among others: what nobody wants is accepted here."""
        me = self._circle.member
        return Part(notification, EVERY_PLANE, 0 if me is None else me.id)

    async def _spread(self, parts: list[Part], principal: str | None) -> None:
        left = dict(enumerate(parts))

        async def attempt(roster: Roster) -> None:
            groups = _by_owner(roster, left)
            if len(groups) == 1:  # as of one notification with one key, which needs no task of its own
                ((place, group),) = groups.items()
                await self.to(roster, *place, [left[at] for at in group], principal)
                return
            asked = [self.to(roster, *place, [left[at] for at in group], principal) for place, group in groups.items()]
            problems = await asyncio.gather(*asked, return_exceptions=True)
            for group, problem in zip(groups.values(), problems, strict=True):
                if problem is None:
                    for at in group:
                        del left[at]
            for problem in problems:
                if problem is not None:
                    raise problem

        await self._circle.agreed(attempt)

    async def to(self, roster: Roster, owner: str, plane: str, parts: Sequence[Part], principal: str | None) -> None:
        frames = [frame_of(each.notification) for each in parts]
        if owner == self._circle.me:
            await self._circle.same(number_of(roster), ready=True)
            await self._publishing.take(ring_door(self._circle.me, plane), framed(frames), principal)
            return
        member = roster.get(owner)
        assert member is not None
        lane = self._lanes.get(member.address)
        if lane is None:
            lane = self._lanes[member.address] = _Lane(member, self._asking, self._demanding.answered)
        questions = [each.question for each in parts if each.question is not None]
        await lane.put(number_of(roster), principal, plane, frames, questions)
        self.relayed += len(frames)


def _by_owner(roster: Roster, parts: Mapping[int, Part]) -> dict[tuple[str, str], list[int]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for at, part in parts.items():
        groups.setdefault((roster.owner(part.key).name, part.plane), []).append(at)
    return groups
