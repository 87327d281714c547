"""What a literal is compared as."""

from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    OTHER = 0  # equal to itself alone
    NUMBER = 1
    STRING = 2
    BOOLEAN = 3
    TIME = 4  # seconds since 1970


class Value(NamedTuple):
    """Values of two kinds have no order, and are neither equal nor unequal. Numbers, truths and times are doubles;
    what is compared as text has the text."""

    kind: Kind
    number: float = 0.0
    text: str = ""
