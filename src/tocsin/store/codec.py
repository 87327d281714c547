"""Records and other values as bytes on disk."""

from collections.abc import Callable

import msgspec

from tocsin.model.delivery import Delivery
from tocsin.model.records import Accepted, Changed, Declared, Record
from tocsin.store.errors import StoreError

_ENCODER = msgspec.msgpack.Encoder()
_RECORD: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Accepted | Changed | Declared)
_DELIVERY = msgspec.msgpack.Decoder(Delivery)
_CHANGED_TAG, _DECLARED_TAG = b"\xa1c", b"\xa1d"


class Undecodable(StoreError):
    """The bytes are whole, but not the value they should be."""


encode: Callable[[Record | Delivery], bytes] = _ENCODER.encode


def decode(payload: bytes) -> Record:
    try:
        return _RECORD.decode(payload)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise Undecodable(f"not a record of the log: {problem}") from problem


def decode_delivery(body: bytes) -> Delivery:
    try:
        return _DELIVERY.decode(body)
    except (msgspec.MsgspecError, ValueError) as problem:
        raise Undecodable(f"not a delivery: {problem}") from problem


def is_change(payload: bytes) -> bool:
    """Whether a record is a `Changed`, without decoding it: its tag follows the one byte that opens its array."""
    return payload[1:3] == _CHANGED_TAG


def is_declaration(payload: bytes) -> bool:
    """As `is_change`, of a `Declared`."""
    return payload[1:3] == _DECLARED_TAG
