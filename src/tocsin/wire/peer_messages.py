"""What machines at different nodes say to each other, in MessagePack, and what the nodes of one world say about it; how
all they say is proven. What the bodies of letters mean their families know."""

import hashlib
import hmac
from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Reason, Refusal
from tocsin.routing.implicit.messages import Copy
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.partition import Entry, Partition
from tocsin.wire.addresses import WireError


class WireLetter(Struct, frozen=True, array_like=True):
    """A message for the machine `to`; without one it is a report for the node itself."""

    id: str
    to: str
    body: Raw


class Question(Struct, frozen=True, array_like=True):
    number: int
    of: str
    body: Raw


class Reply(Struct, frozen=True, array_like=True):
    number: int
    body: Raw


class Batch(Struct, frozen=True, array_like=True):
    letters: tuple[WireLetter, ...] = ()
    questions: tuple[Question, ...] = ()


class Taken(Struct, frozen=True, array_like=True):
    """The answer to a batch: letters whose machine is not there, and replies to the questions that one there took."""

    absent: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()


decode_batch: Callable[[bytes], Batch] = msgspec.msgpack.Decoder(Batch).decode
decode_taken: Callable[[bytes], Taken] = msgspec.msgpack.Decoder(Taken).decode


def letters_of(family: str) -> str:
    """The path at which a node takes the batches of a family."""
    return f"/peer/{family}/letters"


PEERS = "/peer"
PART = "/peer/implicit/part"
SERVICES = "/peer/implicit/services"
ENTRIES = "/peer/implicit/entries"
MEDIA_TYPE = "application/msgpack"
PROOF = "Tocsin-Proof"
SKEW = 300  # seconds that the clocks of two nodes may be apart
SHORTEST_KEY = 16
UNREADABLE = (msgspec.MsgspecError, ValueError)  # the second for text that is no UTF-8


class BadKey(WireError):
    """A key that no other node can share, or everybody could guess."""


class Registering(Struct, frozen=True):
    """A node's notifier comes, or leaves when `service` is None. `before` is the address that the node had when it
    registered the service last. `when` and `nonce` are those of the request: heard again it would undo what came
    after."""

    name: str
    node: str
    by: str
    service: Service | None = None
    before: str = ""
    when: Instant = Instant(0)
    nonce: str = ""


class Declined(Struct, frozen=True):
    reason: Reason
    text: str

    def refusal(self) -> Refusal:
        return Refusal(self.reason, self.text)


encode = msgspec.msgpack.Encoder().encode
decode_part: Callable[[bytes], Partition] = msgspec.msgpack.Decoder(Partition).decode
decode_registering: Callable[[bytes], Registering] = msgspec.msgpack.Decoder(Registering).decode
decode_names: Callable[[bytes], tuple[str, ...]] = msgspec.msgpack.Decoder(tuple[str, ...]).decode
decode_entries: Callable[[bytes], dict[str, Entry]] = msgspec.msgpack.Decoder(dict[str, Entry]).decode
decode_declined: Callable[[bytes], Declined] = msgspec.msgpack.Decoder(Declined).decode


def request_proof(key: bytes, method: str, target: str, now: Instant, body: bytes) -> str:
    """Of the path, not of the host, which is another before a proxy than behind it. Who repeats a request within the
    time changes nothing by that: copies, reports and claims count once, and what registers is taken once."""
    seconds = now // SECOND
    return f"{seconds} {_mac(key, f'{method} {target} {seconds}', body)}"


def check_time(proof: str, now: Instant) -> None:
    """What can be said before the body is read."""
    seconds, _, mac = proof.partition(" ")
    if not mac or not seconds.isascii() or not seconds.isdigit() or len(seconds) > len(str(now)):
        raise Refusal("not-proven", f"this door is for the nodes of one world, who show {PROOF} with each request")
    if abs(int(seconds) - now // SECOND) > SKEW:
        raise Refusal("not-proven", f"the proof is not of the last {SKEW} seconds; set the clocks of both nodes")


def check_proof(key: bytes, proof: str, method: str, target: str, body: bytes) -> None:
    seconds, _, mac = proof.partition(" ")
    if not hmac.compare_digest(mac.encode(), _mac(key, f"{method} {target} {seconds}", body).encode()):
        raise Refusal("not-proven", "the proof is made with another key: all nodes of a world need the same key_file")


def copy_proof(key: bytes, copy: Copy) -> str:
    return _mac(key, "copy", encode(copy))


def _mac(key: bytes, about: str, body: bytes) -> str:
    return hmac.new(key, f"{about}\n".encode() + body, hashlib.sha256).hexdigest()
