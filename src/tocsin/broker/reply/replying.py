"""What receivers do: they reply by their token, or in the answer to what they are sent, wherever the view is."""

import contextlib
from collections.abc import Callable
from typing import Any

import msgspec

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.reply.elsewhere import Elsewhere, Question
from tocsin.broker.reply.harvests import Harvests, is_over
from tocsin.model.delivery import Delivery
from tocsin.model.refusal import Refusal
from tocsin.model.replies import is_proven, read_token, token_of
from tocsin.model.reply_types import reply_type
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import Counted, Dropped, Replied
from tocsin.wire.answer import Answer

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Replying:
    """`elsewhere` are the views of other nodes of the ring."""

    def __init__(self, harvests: Harvests, elsewhere: Callable[[], Elsewhere | None] = lambda: None) -> None:
        self._harvests, self._elsewhere = harvests, elsewhere

    async def question(self, caller: Caller, token: str) -> Question:
        """What is asked for with that token."""
        caller.anybody()
        if (elsewhere := await self._is_elsewhere(token)) is not None:
            if (found := await elsewhere.question(token)) is None:
                raise is_over()
            return found
        harvester, _ = await self._proven(token)
        assert harvester.head is not None
        opened = harvester.head.opened
        return opened.request.type, opened.topic, opened.request.until

    async def reply(self, caller: Caller, token: str, said: object) -> None:
        """Counted when this returns. Who has the token may: it was given to one receiver, for one reply."""
        caller.anybody()
        if (elsewhere := await self._is_elsewhere(token)) is not None:
            if not await elsewhere.reply(token, said):
                raise is_over()
            return
        harvester, receiver = await self._proven(token)
        await self._reply(harvester, receiver, said)

    def answered(self, delivery: Delivery, answer: Answer) -> None:
        """A consumer may reply in its answer: a JSON object whose member `reply` is the value."""
        found = self._harvests.by_place.get((delivery.at.offset, delivery.index))
        if found is None or b'"reply"' not in answer.body:
            return
        receiver = found.receiver or delivery.match.subscription
        if found.part is None:
            self._harvests.begin_work(self._reply_in_answer(found.view, receiver, answer.body))
        else:
            self._harvests.begin_work(self._reply_for_part(token_of(found.part, receiver), answer.body))

    async def _reply_in_answer(self, view: str, receiver: str, body: bytes) -> None:
        """Nobody waits for what comes of it."""
        harvester = await self._harvests.known(view)
        with contextlib.suppress(msgspec.DecodeError, Refusal):
            said = _decode(body)
            if "reply" in said and harvester is not None and harvester.head is not None:
                await self._reply(harvester, receiver, said["reply"])

    async def _reply_for_part(self, token: str, body: bytes) -> None:
        with contextlib.suppress(msgspec.DecodeError, Refusal):
            said = _decode(body)
            if "reply" in said:
                await self.reply(NODE, token, said["reply"])

    async def _is_elsewhere(self, text: str) -> Elsewhere | None:
        """Who is asked with that token instead; whether it is proven is told where the view is."""
        token, elsewhere = read_token(text), self._elsewhere()
        return None if token is None or elsewhere is None or await self._harvests.has(token.view) else elsewhere

    async def _reply(self, harvester: Harvester, receiver: str, said: object) -> None:
        assert harvester.head is not None
        value = reply_type(harvester.head.opened.request.type).value_of(said)
        match await self._harvests.runtime.take([self._harvests.letter(harvester.view_id, Replied(receiver, value))]):
            case [Counted()]:
                self._harvests.count(harvester, receiver, value)
                await self._harvests.kept()
            case [Dropped("second")]:
                raise Refusal("over", "this receiver has replied before; one reply counts")
            case _:
                raise is_over()

    async def _proven(self, text: str) -> tuple[Harvester, str]:
        token = read_token(text)
        if token is None:
            raise Refusal("unknown-name", f"{text[:80]!r} is no token of a notification that asks for a reply")
        harvester = await self._harvests.known(token.view)
        if harvester is None or harvester.head is None:
            raise is_over()
        if not is_proven(token, harvester.head.opened.request.secret):
            raise Refusal("not-proven", "this token was not made here; reply with the one of the notification")
        return harvester, token.receiver
