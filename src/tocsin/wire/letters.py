"""What machines at different nodes say to each other, in MessagePack; what the bodies mean their families know."""

from collections.abc import Callable

import msgspec
from msgspec import Raw, Struct


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
