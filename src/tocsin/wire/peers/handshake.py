"""How two nodes meet: each says who it is, then each proves that it has the ring's key.

    caller     hello
    answerer              hello
    caller     proof
    answerer              proof

A proof is an HMAC-SHA256 over both hellos, with the nonces, names and versions that are in them, and over the role of
who proves: neither side's can be used for the other's, nor in another conversation. No clock is involved. The caller
proves first, so that who merely connects gets nothing that a key could be guessed by.

On a plain connection nothing that follows is protected: who can change what is on its way can say whatever it likes in
the name of a node that was proven. Across networks that you do not trust, use TLS; the proofs are done inside it too.
A name is what the holder of the key says it is.
"""

import hashlib
import hmac
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from tocsin import __version__
from tocsin.model.refusal import Refusal
from tocsin.wire.addresses import WireError
from tocsin.wire.peer_messages import SHORTEST_KEY, UNREADABLE, BadKey, Declined, encode
from tocsin.wire.peers.frames import CONNECTION, HELLO, KINDS, PROOF, REFUSAL, frame

PROTOCOL = 1
MAGIC = b"TOCSIN-RING\0"
LONGEST = 4 << 10  # bytes of a frame before the key is proven
NONCE_BYTES = 32
LONGEST_NAME = 512  # characters, of a name as of an address
MOST_SHOWN = 500  # characters of what somebody says who may be anybody

Role = Literal["caller", "answerer"]


class Member(Struct, frozen=True):
    """A node as it presents itself: `address` is where it answers, as `host:port`, if it does."""

    name: str
    address: str = ""
    software: str = __version__


class Hello(Struct, frozen=True, array_like=True):
    """Every version of the protocol begins with these; what a later one adds comes behind them."""

    protocol: int
    software: str
    name: str
    address: str
    nonce: bytes


class Declines(WireError):
    """The other side refuses the connection; the text is its own."""


class _Loose(Struct, frozen=True):
    """A refusal for a reason that came with a later version."""

    text: str


_decode_hello: Callable[[bytes], Hello] = msgspec.msgpack.Decoder(Hello).decode
_decode_declined: Callable[[bytes], Declined] = msgspec.msgpack.Decoder(Declined).decode
_decode_loose: Callable[[bytes], _Loose] = msgspec.msgpack.Decoder(_Loose).decode


class Handshake:
    """One side of it. `peer` is who the other says it is, which is worth nothing before `proven`."""

    def __init__(self, role: Role, key: bytes, me: Member, nonce: bytes) -> None:
        self._role, self._key, self._me, self._nonce = role, key, me, nonce
        self._mine = MAGIC + encode(Hello(PROTOCOL, me.software, me.name, me.address, nonce))
        self._theirs = b""
        self.peer: Member | None = None
        self.proven = False

    def begin(self) -> bytes:
        """What is sent before anything has come."""
        return frame(HELLO, CONNECTION, self._mine) if self._role == "caller" else b""

    def take(self, kind: int, body: bytes) -> bytes:
        """What is to be sent; raises Refusal of what the other is to be told, or Declines with what it tells."""
        if kind == REFUSAL:
            raise Declines(shown(refusal_of(body).text))
        if kind == HELLO and self.peer is None:
            return self._greeted(body)
        if kind == PROOF and self.peer is not None:
            return self._convinced(body)
        expected = "hello" if self.peer is None else "proof"
        raise Refusal("malformed", f"a {KINDS[kind]} came where a {expected} must come")

    def _greeted(self, body: bytes) -> bytes:
        hello = _read(body, self._me)
        if hello.nonce == self._nonce:
            raise Refusal("malformed", "what was said here was said back: that is not a node of a ring")
        self._theirs = body
        self.peer = Member(hello.name, hello.address, hello.software)
        if self._role == "answerer":
            return frame(HELLO, CONNECTION, self._mine)
        return frame(PROOF, CONNECTION, self._proof("caller"))

    def _convinced(self, body: bytes) -> bytes:
        other: Role = "answerer" if self._role == "caller" else "caller"
        if not hmac.compare_digest(body, self._proof(other)):
            text = "the proof is made with another key: ring.key_file must be the same file at all nodes of a ring"
            raise Refusal("not-proven", text)
        self.proven = True
        return frame(PROOF, CONNECTION, self._proof("answerer")) if self._role == "answerer" else b""

    def _proof(self, role: Role) -> bytes:
        caller, answerer = (self._mine, self._theirs) if self._role == "caller" else (self._theirs, self._mine)
        said = b"".join(len(each).to_bytes(4) + each for each in (MAGIC, role.encode(), caller, answerer))
        return hmac.digest(self._key, said, hashlib.sha256)


def _read(body: bytes, me: Member) -> Hello:
    """The version first: what another one means by the rest is not known."""
    if not body.startswith(MAGIC):
        raise Refusal("malformed", "this is the port at which the nodes of a ring talk to each other")
    try:
        hello = _decode_hello(body[len(MAGIC) :])
    except UNREADABLE as problem:
        raise Refusal("malformed", f"the hello cannot be read: {problem}") from None
    if hello.protocol != PROTOCOL:
        raise Refusal(
            "malformed",
            f"{me.name} speaks version {PROTOCOL} of the ring's protocol (Tocsin {me.software}), {shown(hello.name)}"
            f" version {hello.protocol} (Tocsin {shown(hello.software)}): run the same release at all nodes of a ring",
        )
    if len(hello.nonce) != NONCE_BYTES or not 0 < len(hello.name) <= LONGEST_NAME >= len(hello.address):
        raise Refusal("malformed", f"the hello has no name, no nonce of {NONCE_BYTES} bytes, or too long an address")
    return hello


def checked(key: bytes, me: Member) -> bytes:
    """The key, if it is one; and what others would not take of us is found here, not by them."""
    if len(key) < SHORTEST_KEY:
        raise BadKey(f"ring.key_file has {len(key)} bytes; {SHORTEST_KEY} are the least: openssl rand -hex 32")
    if not 0 < len(me.name) <= LONGEST_NAME >= len(me.address):
        raise ValueError(f"the name and the address of a node have at most {LONGEST_NAME} characters")
    return key


def declined(refusal: Refusal) -> bytes:
    """The body of a frame that tells of it."""
    return encode(Declined(refusal.reason, refusal.text))


def refusal_of(body: bytes) -> Refusal:
    """As it was raised at the other side, whatever reasons that has."""
    try:
        return _decode_declined(body).refusal()
    except UNREADABLE:
        pass
    try:
        return Refusal("cannot-store", _decode_loose(body).text)
    except UNREADABLE:
        return Refusal("cannot-store", "the refusal cannot be read")


def shown(text: str) -> str:
    """What may be by anybody, for a log."""
    return "".join(each if each.isprintable() else "?" for each in text[:MOST_SHOWN])
