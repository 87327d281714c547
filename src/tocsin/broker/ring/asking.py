"""Questions to other nodes of the ring over their links, and the answers."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tocsin.broker.ring.circle import Unreachable
from tocsin.broker.ring.messages import Gone, Request
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.roster import Member
from tocsin.wire.peers.calling import PeerUnreachable
from tocsin.wire.peers.links import PeerLinks

SECONDS = 10.0
encode = msgspec.msgpack.Encoder().encode
decode_request: Callable[[bytes | memoryview], Request] = msgspec.msgpack.Decoder(Request).decode
Said = TypeVar("Said")


class Asking:
    def __init__(self, links: PeerLinks) -> None:
        self._links = links

    async def ask(self, of: Member, request: Request, kind: type[Said], seconds: float = SECONDS) -> Said:
        answer = await self.ask_at(of.address, encode(request), seconds)
        return msgspec.msgpack.decode(answer, type=kind)

    async def ask_while_wanted(
        self, of: Member, request: Request, kind: type[Said], seconds: float, ticket: str
    ) -> Said:
        """Who is asked is told when nobody waits for the answer any more."""
        try:
            return await self.ask(of, request, kind, seconds)
        except asyncio.CancelledError:
            if ticket:
                self._links.note(of.address, encode(Gone(ticket)))
            raise

    async def tell(self, to: Member, request: Request, seconds: float = SECONDS) -> None:
        """Answered with nothing but that it is done."""
        await self.ask_at(to.address, encode(request), seconds)

    async def ask_at(self, address: str, body: bytes, seconds: float = SECONDS) -> bytes:
        try:
            return await self._links.request(address, body, seconds)
        except PeerUnreachable as problem:
            raise Unreachable(f"{address} does not answer: {problem}", sent=problem.sent) from problem


def unknown(problem: Exception) -> Refusal:
    return Refusal("malformed", f"not what a node of a ring asks: {problem}")
