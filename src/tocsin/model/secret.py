"""What a consumer is shown of us, so that it knows a message comes from here."""

import re
from typing import Literal

from msgspec import Struct

from tocsin.model.identity import Instant

SecretKind = Literal["hmac", "basic", "bearer", "header"]
_OF_A_SINK = re.compile(r"sink-[0-9a-f]{32}")


def sink_secret(unique: str) -> str:
    """The name of a secret that came with a subscription, and goes with it; `unique` is 32 hexadecimal digits."""
    return f"sink-{unique}"


def is_of_a_sink(name: str) -> bool:
    return _OF_A_SINK.fullmatch(name) is not None


class Secret(Struct, frozen=True):
    """`header` is the name of the header that a secret of that kind is sent in; it goes to `address` and below only."""

    name: str
    kind: SecretKind
    value: str
    since: Instant
    header: str = ""
    address: str = ""

    def __repr__(self) -> str:
        """Without the value: it ends up in tracebacks and logs."""
        return f"Secret({self.name!r}, {self.kind!r})"
