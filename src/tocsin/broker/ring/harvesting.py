"""Replies in a ring: the node that accepts a publication which asks for some has its view, and is found by the name of
that. All other nodes tell it what they know of receivers, and pass on what these say (paper 001 over paper 004)."""

import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace

from tocsin.broker.caller import NODE
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.reply.elsewhere import Question, Told
from tocsin.broker.reply.family import MESSAGES
from tocsin.broker.reply.harvests import Harvests
from tocsin.broker.reply.replying import Replying
from tocsin.broker.ring.asking import Asking, encode
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import Answered, Asks, Has, Replied, Request, Tell
from tocsin.broker.ring.messages import Question as QuestionOf
from tocsin.broker.ring.relaying import Part, Relaying, shares_of
from tocsin.mediation.between_nodes import frame_of, framed, ring_door
from tocsin.model.identity import SECOND, Instant
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest, read_token
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Member, Roster

SAME_CLOCK = SECOND
_NAMED = re.compile(r"[0-9a-f]{16}-[0-9a-f]{32}")
_json = msgspec.json.Encoder().encode


class Harvesting:
    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        relaying: Relaying,
        publishing: Publishing,
        harvests: Harvests,
        replying: Replying,
        now: Callable[[], Instant],
    ) -> None:
        self._circle, self._asking, self._relaying = circle, asking, relaying
        self._publishing, self._harvests, self._replying, self._now = publishing, harvests, replying, now

    @property
    def is_alone(self) -> bool:
        return self._circle.is_alone or not self._circle.is_in

    # Publications that ask for replies

    async def ask(self, parts: Sequence[Part], principal: str | None) -> str:
        """The view that is made of it where the topics are: the first part. Where the others belong there too it is
        one publication; else it is told to those who have them under that view."""
        made: ReplyRequest | None = None
        left = list(parts)

        async def attempt(roster: Roster) -> str:
            nonlocal made
            if made is None:
                made = await self._first(roster, left, principal)
            while left:
                owner, part = _one_owner(roster, left)[0], left[0]
                said = replace(part.notification, reply=made.for_part())
                await self._relaying.to(roster, owner, part.plane, (), [part._replace(notification=said)], principal)
                del left[0]
            return made.view

        return await self._circle.agreed(attempt)

    async def _first(self, roster: Roster, left: list[Part], principal: str | None) -> ReplyRequest:
        """Those that go with it are left no more."""
        first, owner = left[0], roster.owner(left[0].key)
        is_whole = all(name == owner.name for name in _one_owner(roster, left))
        plane = EVERY_PLANE if is_whole else first.plane
        asks = Asks(number_of(roster), self._now(), principal, plane, frame_of(_without_view(first.notification)))
        if owner.name == self._circle.me:
            made = await self.take(self._circle.me, asks)
        else:
            made = await self._asking.ask(owner, asks, ReplyRequest)
            self._relaying.relayed += 1
        del left[: len(left) if is_whole else 1]
        return made

    async def take(self, by: str, asked: Asks) -> ReplyRequest:
        """From another node: the view is made here, or was when the same came before."""
        await self._circle.same(asked.number, ready=True)
        ahead = self._now() - asked.now
        frame = asked.frame if abs(ahead) < SAME_CLOCK else _later(asked.frame, ahead)
        offset = await self._publishing.take(ring_door(by, asked.plane), framed((frame,)), asked.principal)
        view = self._harvests.view_at(offset)
        if asked.plane == EVERY_PLANE:
            return ReplyRequest(view, "", Instant(0))
        harvester = await self._harvests.known(view)
        if harvester is None or harvester.head is None:
            raise Refusal("over", "the view of the replies to it has ended")
        return harvester.head.opened.request

    # Where a view is

    async def home(self, view: str) -> Member | None:
        """The node that has it, if that is not this one; None as well where nobody has it.

        Its name says at which place of the circle it was made: whoever has that now has it too, unless somebody else
        went on for the node that made it and another has come between since. Then all are asked.
        """
        return await self._circle.agreed(lambda roster: self._find(roster, view))

    async def _find(self, roster: Roster, view: str) -> Member | None:
        owner, number = roster.owner(place_of_name(view)), number_of(roster)
        if owner.name == self._circle.me:
            await self._circle.same(number, ready=True)
        if await self._harvests.has(view):
            return None
        others = [each for each in self._circle.others() if each.name != owner.name]
        if owner.name != self._circle.me and await self._asking.ask(owner, Has(number, view, ready=True), bool):
            return owner
        for each in others:
            if await self._asking.ask(each, Has(number, view), bool):
                return each
        return None

    async def has(self, asked: Has) -> bool:
        await self._circle.same(asked.number, ready=asked.ready)
        return await self._harvests.has(asked.view)

    # What is said to a view at another node

    async def tell(self, view: str, until: Instant, message: Told, *, again: bool = False) -> bool:
        said = MESSAGES.encode(message)
        while self._now() < until and not self._circle.closing:
            try:
                if await self._harvests.hear(view, message, again=again):
                    return True
                answer = await self._ask(view, Tell(view, said, again))
                return answer is not None and answer.there
            except Refusal as refusal:
                if refusal.reason != "overloaded":
                    return False
        return False

    async def reply(self, token: str, said: object) -> bool:
        answer = await self._ask(_view_of(token), Replied(token, _json(said)))
        return answer is not None and answer.there

    async def question(self, token: str) -> Question | None:
        answer = await self._ask(_view_of(token), QuestionOf(token))
        return None if answer is None else answer.question

    async def _ask(self, view: str, request: Request) -> Answered | None:
        """None where nobody has it."""

        async def attempt(roster: Roster) -> Answered | None:
            home = await self._find(roster, view)
            return None if home is None else await self._asking.ask(home, request, Answered)

        return await self._circle.agreed(attempt) if _NAMED.fullmatch(view) else None

    async def answer(self, request: Tell | Replied | QuestionOf) -> bytes:
        """To another node: by the view that is here, and never by way of a third."""
        match request:
            case Tell(view, message, again):
                return encode(Answered(await self._harvests.hear(view, MESSAGES.decode(message), again=again)))
            case Replied(token, said):
                if await self._harvests.has(_view_of(token)):
                    await self._replying.reply(NODE, token, msgspec.json.decode(said))
                    return encode(Answered(True))
            case QuestionOf(token):
                if await self._harvests.has(_view_of(token)):
                    return encode(Answered(True, await self._replying.question(NODE, token)))
        return encode(Answered(False))


def _one_owner(roster: Roster, parts: Sequence[Part]) -> list[str]:
    """Of each part. A view waits for what the node of the topics knows, and for one node more."""
    owners = [name for part in parts for name, _, _ in shares_of(roster, part)]
    if len(owners) > len(parts) or (len(owners) > 2 and len(set(owners)) > 1):
        why = "what asks for replies lies at one point of one space: its content topic belongs to several nodes"
        raise Refusal("bad-reply-type", f"{why} of the ring; publish it for each point, or without a reply type")
    return owners


def _view_of(token: str) -> str:
    found = read_token(token)
    return "" if found is None else found.view


def _later(frame: bytes, ahead: int) -> bytes:
    """Until when replies count is told on this node's clock."""
    said = msgspec.msgpack.decode(frame, type=Notification)
    assert said.reply is not None
    return frame_of(replace(said, reply=replace(said.reply, until=Instant(said.reply.until + ahead))))


def _without_view(notification: Notification) -> Notification:
    assert notification.reply is not None
    return replace(notification, reply=ReplyRequest("", notification.reply.type, notification.reply.until))
