"""The way to other nodes of the world."""

from collections.abc import Callable

from tocsin.model.identity import Instant
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import MEDIA_TYPE, PROOF, request_proof


class Link:
    """Requests to other nodes of the world, proven."""

    def __init__(self, http: HttpClient, key: bytes, now: Callable[[], Instant]) -> None:
        self.http, self.key, self.now = http, key, now

    async def ask(self, method: str, node: str, target: str, body: bytes = b"") -> Answer:
        proof = request_proof(self.key, method, target, self.now(), body)
        return await self.http.request(method, node + target, (("Content-Type", MEDIA_TYPE), (PROOF, proof)), body)
