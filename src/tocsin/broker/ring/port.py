"""Where the other nodes of a ring reach this one: its port for them, and its links to theirs."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import msgspec
from msgspec import Struct

from tocsin.broker.foundation import Directory
from tocsin.broker.implicit.peer_side import world_key
from tocsin.broker.settings import Settings
from tocsin.delivery.retry import describe
from tocsin.model.refusal import Refusal
from tocsin.store.database import Store
from tocsin.wire.addresses import LOOPBACK, WireError
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peers.handshake import Member
from tocsin.wire.peers.links import PeerLinks
from tocsin.wire.peers.server import PeerServer
from tocsin.wire.tls import Identity, server_context

PORT = "ring_port"  # in the store: the others know it
# Whoever is on this machine may do everything at a node that listens there alone, and no one else reaches it.
OPEN_KEY = b"a ring on loopback is open to all on this machine"
HOW_TO_JOIN = (
    "nodes on other machines prove themselves by a key: `openssl rand -hex 32 > ring.key`, and give all of them"
    " --set implicit-key-file=ring.key"
)
PATH = "/peer/ring"
PEER = "ring://"  # before the port of a node for its like, where that is known
JOIN_SECONDS, JOIN_PAUSE = 30.0, 0.25
Answer = Callable[[str, bytes], Awaitable[bytes]]


class NoKey(WireError):
    """A ring that is reached from elsewhere needs a key."""


class NotThere(WireError):
    """No node of a ring is where it should be."""


class Whereabouts(Struct, frozen=True):
    """What a node says to anybody: where its like reach it."""

    node: str
    address: str


class RingPort:
    """`answer` is who takes what others ask."""

    def __init__(self, server: PeerServer, links: PeerLinks, name: str, address: str) -> None:
        self._server, self.links, self.name, self.address = server, links, name, address
        self.answer: Answer = _not_yet
        server.handler = self._handle

    async def _handle(self, peer: str, body: bytes) -> bytes:
        return await self.answer(peer, body)


async def _not_yet(peer: str, body: bytes) -> bytes:
    del peer, body
    raise Refusal("overloaded", "this node has not begun yet; try again a little later")


async def open_port(
    settings: Settings, directory: Directory, report: Callable[[str], None], stack: AsyncExitStack
) -> RingPort | None:
    """None for a node that is in no ring. The port is the same again after a restart, if it is free."""
    asked, store = settings.ring.port, directory.store
    if asked is None:
        return None
    host = _host(settings)
    if settings.implicit.key_file is None and host not in LOOPBACK and settings.ring.join is None:
        report(f"no other node can join this one: {HOW_TO_JOIN}")
        return None
    key, name = _key(settings, store), str(directory.journal.node)
    tls = _tls(settings)
    met: list[PeerLinks] = []

    def heard(peer: Member) -> None:
        for links in met:
            links.heard(peer.address)

    server = PeerServer(_not_yet, key, Member(name), tls=tls and tls[0], report=report, met=heard)
    try:
        await server.start(host, asked or int(store.meta(PORT) or 0))
    except OSError:
        if asked:
            raise
        await server.start(host, 0)
    store.set_meta(PORT, str(server.port))
    stack.push_async_callback(server.close)
    address = _advertised(settings.ring.advertise or host, server.port)
    links = PeerLinks(key, Member(name, address), tls=tls and tls[1], report=report)
    met.append(links)
    stack.push_async_callback(links.close)
    return RingPort(server, links, name, address)


def _advertised(known: str, port: int) -> str:
    """A host, or a host and a port where another leads here."""
    host, _, said = known.rpartition(":")
    is_whole = bool(host) and said.isdigit() and (":" not in host or host.endswith("]"))
    return known if is_whole else f"[{known}]:{port}" if ":" in known and "]" not in known else f"{known}:{port}"


async def joined(url: str | None, http: HttpClient) -> str | None:
    """Where the node that is reached there is by its like. It may be about to begin."""
    if url is None or url.startswith(PEER):
        return url and url.removeprefix(PEER)
    until = asyncio.get_running_loop().time() + JOIN_SECONDS
    while True:
        answer = await http.request("GET", f"{url}{PATH}")
        try:
            return msgspec.json.decode(answer.body, type=Whereabouts).address
        except msgspec.MsgspecError:
            problem = describe(answer)
        if asyncio.get_running_loop().time() > until:
            raise NotThere(f"{url} does not answer as a node of a ring does: {problem}")
        await asyncio.sleep(JOIN_PAUSE)


def _host(settings: Settings) -> str:
    """Workers that have a key of their own alone are reached by nobody else."""
    return LOOPBACK[0] if settings.worker is not None and settings.worker.key else settings.listen.host


def _key(settings: Settings, store: Store) -> bytes:
    if settings.worker is not None and settings.worker.key:
        return settings.worker.key.encode()
    if settings.implicit.key_file is not None:
        return world_key(settings.implicit.key_file, store)
    if settings.listen.host not in LOOPBACK:
        raise NoKey(HOW_TO_JOIN)
    return OPEN_KEY


def _tls(settings: Settings) -> tuple[ssl.SSLContext, ssl.SSLContext] | None:
    """With a certificate for the doors, nodes speak by TLS too, and believe whom they believe as consumers."""
    asked = settings.tls
    if asked.certificate is None:
        return None
    server = server_context(Identity(asked.certificate, asked.key))
    return server, ssl.create_default_context(cafile=settings.delivery.ca_file)
