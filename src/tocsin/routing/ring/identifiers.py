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


def named_at(key: int, unique: str) -> str:
    """The id of something that lies at a key, from which every node can tell where."""
    return f"{key:016x}-{unique}"


def place_of_name(name: str) -> int:
    """Of what was named before there was a ring, as if by chance."""
    return int(name[: BITS // 4], 16) if is_named(name) else identifier_of(name)


def is_named(name: str) -> bool:
    """Whether it tells where it lies."""
    key, dash, _ = name.partition("-")
    return bool(dash) and len(key) == BITS // 4 and set(key) <= _DIGITS


_DIGITS = set("0123456789abcdef")
