"""Blocks of deliveries, as the outbox keeps them.

What goes to many is nearly the same for each: together, deliveries have a tenth of their bytes, and less where more
are told. Tasks make blocks; the driver passes them on unread, with the names of the subscriptions.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import msgspec

from tocsin.model.delivery import Delivery
from tocsin.store.codec import Undecodable, decode_delivery
from tocsin.store.errors import DatabaseFailed

BLOCK_BYTES, BLOCK_ROWS = 128 << 10, 256
SINGLE = 0  # the size of a block that is one delivery, as it is
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[msgspec.Raw]).decode


class Block(NamedTuple):
    """`names` are the subscriptions of its deliveries, a JSON array; `size` the bytes of `data` when decompressed."""

    names: str
    deliveries: int
    size: int
    data: bytes


class BlockWriter:
    """Takes the deliveries of one notification after the other."""

    def __init__(self) -> None:
        self._waiting: list[Delivery] = []
        self._size = 0

    def add(self, deliveries: Sequence[Delivery]) -> Iterator[Block]:
        for each in deliveries:
            self._waiting.append(each)
            self._size += len(each.body)
            if self._size >= BLOCK_BYTES or len(self._waiting) >= BLOCK_ROWS:
                yield from self.rest()

    def rest(self) -> Iterator[Block]:
        """When all are added; none where nothing waits."""
        if self._waiting:
            made, self._waiting, self._size = _block(self._waiting), [], 0
            yield made


def in_blocks(deliveries: Iterable[Delivery]) -> Iterator[Block]:
    writer = BlockWriter()
    for each in deliveries:
        yield from writer.add((each,))
    yield from writer.rest()


def single(subscription: str, delivery: bytes) -> Block:
    """Of a delivery that is encoded."""
    return Block(msgspec.json.encode([subscription]).decode(), 1, SINGLE, delivery)


def _block(deliveries: Sequence[Delivery]) -> Block:
    names = msgspec.json.encode([each.match.subscription for each in deliveries]).decode()
    data = _encode(deliveries)
    return Block(names, len(deliveries), len(data), _codec().compress(data, asbytes=True))


def opened(size: int, data: bytes) -> Sequence[Delivery]:
    """The deliveries of a block; each is decoded when it is asked for."""
    if size == SINGLE:
        return (decode_delivery(data),)
    try:
        return _Opened(_decode(_codec().decompress(data, size, asbytes=True)))
    except (OSError, ValueError, msgspec.MsgspecError) as problem:
        raise Undecodable(f"not a block of deliveries: {problem}") from problem


class _Opened(Sequence[Delivery]):
    def __init__(self, deliveries: Sequence[msgspec.Raw]) -> None:
        self._deliveries = deliveries

    def __len__(self) -> int:
        return len(self._deliveries)

    def __getitem__(self, at: Any) -> Any:
        return decode_delivery(self._deliveries[at])


@cache
def _codec() -> Any:
    """LZ4 takes a microsecond for a delivery, zlib eight."""
    try:
        from pyarrow import Codec
    except ImportError as problem:
        raise DatabaseFailed("the outbox needs pyarrow, which comes with the extra: install tocsin[spark]") from problem
    return Codec("lz4_raw")
