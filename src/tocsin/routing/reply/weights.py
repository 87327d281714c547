"""The bytes of what harvesters say to each other: letters as nodes send them, in MessagePack."""

import msgspec

from tocsin.model.replies import ReplyRequest, token_of
from tocsin.routing.reply.messages import Declined, Passed, Replied, Reported, Single, Through, Told

VIEW = LETTER_ID = "0" * 32  # as long as any
KINDS: dict[type, str] = {
    Replied: "replied",
    Reported: "reported",
    Single: "single",
    Told: "told",
    Declined: "declined",
    Passed: "passed",
    Through: "through",
}
_encode = msgspec.msgpack.Encoder().encode


def node_name(number: int) -> str:
    """Of simulations: an address as nodes have one, all of one length."""
    return f"http://n{number:08}:8080"


def receiver_name(number: int) -> str:
    return f"r{number:08}"


def letter_bytes(to: str, message: object) -> int:
    """Of one message in a batch: its id, the machine it is for, its kind and itself."""
    return len(_encode((LETTER_ID, to, (KINDS[type(message)], message))))


def request_bytes(request: ReplyRequest) -> int:
    """What a publication is longer by between two nodes."""
    return len(_encode(request))


def token_bytes(request: ReplyRequest, receiver: str) -> int:
    """What a publication is longer by for a receiver: its token, the type, and until when."""
    return len(_encode((token_of(request, receiver), request.type, request.until)))


def written_bytes(value: object) -> int:
    return len(_encode(value))
