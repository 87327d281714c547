"""The circle of identifiers (Chord s4): nodes and keys have their places on it, and a key belongs to the first node at
or behind it."""

import hashlib

BITS = 64
SIZE = 1 << BITS
LAST = SIZE - 1


def identifier_of(text: str) -> int:
    """Where a name lies, as if by chance."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=BITS // 8).digest())


def distance(start: int, end: int) -> int:
    """From one place on to the other, in the direction in which identifiers grow."""
    return (end - start) % SIZE


def within(key: int, after: int, upto: int) -> bool:
    """Whether a key lies in the arc (after, upto]; from a place to itself that is the whole circle."""
    return 0 < distance(after, key) <= (distance(after, upto) or SIZE) or after == key == upto
