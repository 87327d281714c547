"""One address of several workers: what one of them keeps for itself is asked of that one, whoever takes the request.

An address that a worker gives out has its name in it; what names none is with the first.
"""

import re
from urllib.parse import quote

from tocsin.broker.ring.port import PATH
from tocsin.broker.ring.ring import Ring
from tocsin.documents import interactions, notifiers
from tocsin.documents.tree import TREE
from tocsin.documents.world import WORLD
from tocsin.doors.ring import ALONE, FORWARD_SECONDS, NAMED, OF_NOTIFIERS, passed_on
from tocsin.flow.addressing import AT
from tocsin.model.paths import NOTIFICATIONS, NOTIFIER_DOORS
from tocsin.routing.ring.roster import Member
from tocsin.wire.asgi import Application, Receive, Scope, Send, header
from tocsin.wire.peer_messages import PEERS

_AT = re.compile(rf"{AT}(node-[0-9a-f]+)(?=/)")
OF_ONE_NODE = (
    f"{PEERS}/",
    NOTIFICATIONS,
    interactions.PATTERNS,
    interactions.REQUESTS,
    interactions.INTERACTIONS,
    TREE,
)
_OF_A_WORLD = (NOTIFIER_DOORS, notifiers.NOTIFIERS, notifiers.DISSEMINATIONS, WORLD)  # that the ring does not keep


def workers_door(ring: Ring, first: str, rest: Application, body_limit: int) -> Application:
    """In front of all others."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await rest(scope, receive, send)
            return
        path, has_it = _placed(ring, scope, first)
        if path != scope["path"]:
            scope = {**scope, "path": path, "raw_path": quote(path).encode()}
        if has_it is None or scope["type"] != "http":
            await rest(scope, receive, send)
            return
        await passed_on(
            lambda request: ring.forwarding.forward(has_it, request, FORWARD_SECONDS), scope, receive, send, body_limit
        )

    return door


def _placed(ring: Ring, scope: Scope, first: str) -> tuple[str, Member | None]:
    """The path without who it names, and who has what is there; None where that is told by what it is about. What was
    with one that left is looked for as if it had not been named."""
    at = _AT.match(scope["path"])
    path: str = scope["path"] if at is None else scope["path"][at.end() :]
    if path == PATH or header(scope, ALONE) or _is_of_ring(ring, path):
        return path, None
    if at is not None and (at[1] == ring.circle.me or ring.another(at[1]) is not None):
        return path, ring.another(at[1])
    alone = OF_ONE_NODE if ring.sharing is not None else (*OF_ONE_NODE, *_OF_A_WORLD)
    return path, ring.another(first) if path.startswith(alone) else None


def _is_of_ring(ring: Ring, path: str) -> bool:
    return NAMED.search(path) is not None or (ring.sharing is not None and OF_NOTIFIERS.match(path) is not None)
