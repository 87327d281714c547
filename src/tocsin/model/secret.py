"""What a consumer is shown of us, so that it knows a message comes from here."""

from typing import Literal

from msgspec import Struct

from tocsin.model.identity import Instant

SecretKind = Literal["hmac", "basic", "bearer", "header"]


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
