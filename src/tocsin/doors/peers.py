"""The door for the other nodes of a world: nobody else has its key, and without it nothing is read or changed."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qs

from tocsin.broker.implicit.peer_side import PeerSide
from tocsin.broker.tree.family import NAME as TREE
from tocsin.broker.tree.tree import Tree
from tocsin.mediation.between_nodes import DOOR as NOTIFICATIONS
from tocsin.mediation.operations import Reply
from tocsin.model.refusal import OUR_FAULT, Reason, Refusal
from tocsin.runtime.runtime import Runtime
from tocsin.wire.asgi import Receive, Scope, Send, header, only, read_body, send_reply, while_connected
from tocsin.wire.peer_messages import (
    ENTRIES,
    MEDIA_TYPE,
    PART,
    PROOF,
    SERVICES,
    UNREADABLE,
    Declined,
    check_proof,
    check_time,
    decode_batch,
    decode_names,
    decode_registering,
    encode,
    letters_of,
)

LARGEST = 8 << 20  # a copy is larger than what was published, and a batch has several
WAIT_SECONDS = 20.0
FORMER = "/peer/implicit"  # where nodes of earlier versions send their copies, reports and claims
Said = TypeVar("Said")
_STATUS: dict[Reason, int] = {
    "malformed": 400,
    "not-proven": 403,
    "unknown-name": 404,
    "in-use": 409,
    "bad-world": 409,
    "too-large": 413,
    "not-here": 421,
}


class PeerDoor:
    """`peers` is for the nodes of a world, `tree` for the neighbours in a tree; all of them have the same key."""

    def __init__(self, peers: PeerSide, tree: Tree) -> None:
        self._peers, self._tree = peers, tree
        runtimes = {**peers.runtimes, TREE: tree.runtime}
        self._answers: dict[tuple[str, str], Callable[[Scope, bytes], Awaitable[Reply]]] = {
            ("POST", SERVICES): self._services,
            ("POST", ENTRIES): self._entries,
            ("GET", PART): self._part,
            ("POST", FORMER): self._former,
            ("POST", NOTIFICATIONS): self._notifications,
            **{("POST", letters_of(family)): partial(self._letters, each) for family, each in runtimes.items()},
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._answers.get((scope["method"], scope["path"]))
        if answer is None:
            await send_reply(send, only("GET" if scope["path"] == PART else "POST"))
            return
        try:
            body = await self._proven(scope, receive)
            reply = await while_connected(receive, _coroutine(answer, scope, body))
        except Refusal as refusal:
            reply = _declined(refusal)
        await send_reply(send, reply)

    async def _proven(self, scope: Scope, receive: Receive) -> bytes:
        proof = header(scope, PROOF.lower().encode())
        check_time(proof, self._peers.now())
        body = await read_body(scope, receive, max(LARGEST, 2 * self._peers.body_limit))
        check_proof(self._peers.key, proof, scope["method"], _target(scope), body)
        return body

    async def _letters(self, runtime: Runtime[Any], scope: Scope, body: bytes) -> Reply:
        """The answer says that all of it is on disk."""
        del scope
        return _said(await runtime.receive(_read(decode_batch, body)))

    async def _notifications(self, scope: Scope, body: bytes) -> Reply:
        """And so it does here."""
        await self._tree.pass_on(_target(scope), body)
        return Reply(204, (), b"")

    async def _former(self, scope: Scope, body: bytes) -> Reply:
        """Who says it keeps it, until it has this version too."""
        del scope, body
        raise Refusal("overloaded", "this node has a later version, which takes letters; bring the other up to date")

    async def _services(self, scope: Scope, body: bytes) -> Reply:
        del scope
        return _said(await self._peers.register(_read(decode_registering, body)))

    async def _entries(self, scope: Scope, body: bytes) -> Reply:
        del scope
        return _said(await self._peers.entries(_read(decode_names, body)))

    async def _part(self, scope: Scope, body: bytes) -> Reply:
        del body
        asked = {name: values[-1] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        node, after = asked.get("node", ""), asked.get("after", "")
        if not node or not after.isascii() or not after.isdigit() or len(after) > len(str(2**63)):
            raise Refusal("malformed", "say which node asks, and after which version: ?node=http://...&after=0")
        found = await self._peers.part(node, int(after), WAIT_SECONDS)
        return Reply(204, (), b"") if found is None else _said(found)


async def _coroutine(answer: Callable[[Scope, bytes], Awaitable[Reply]], scope: Scope, body: bytes) -> Reply:
    return await answer(scope, body)


def _read(decode: Callable[[bytes], Said], body: bytes) -> Said:
    try:
        return decode(body)
    except UNREADABLE as problem:
        raise Refusal("malformed", f"not what a node says: {problem}") from None


def _target(scope: Scope) -> str:
    """As it was written: what is proven is what was sent."""
    query = scope["query_string"].decode("latin-1")
    return f"{scope['path']}?{query}" if query else str(scope["path"])


def _said(what: object) -> Reply:
    return Reply(200, (("Content-Type", MEDIA_TYPE),), encode(what))


def _declined(refusal: Refusal) -> Reply:
    status = 503 if refusal.reason in OUR_FAULT else _STATUS.get(refusal.reason, 400)
    headers = (("Content-Type", MEDIA_TYPE), *((("Retry-After", "1"),) if status == 503 else ()))
    return Reply(status, headers, encode(Declined(refusal.reason, refusal.text)))
