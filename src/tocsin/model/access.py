"""Access control: principals with their rights on topics, their accounts, and the secrets shown to consumers."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal

Action = Literal["publish", "subscribe", "manage"]
ACTIONS: tuple[Action, ...] = ("publish", "subscribe", "manage")

# A colon would end the name in HTTP Basic (RFC 7617 s2); control characters have no place in a header or a terminal.
_NAME = re.compile(r"[^:\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,128}")


class Right(Struct, frozen=True):
    """An action that a principal may take on these topics, or on every topic where none are given."""

    action: Action
    topics: TopicIs | None = None


class Principal(Struct, frozen=True):
    """Who a request comes from, as far as it was proven."""

    name: str
    rights: tuple[Right, ...] = ()

    def of(self, action: Action) -> tuple[Right, ...]:
        return tuple(right for right in self.rights if right.action == action)


class Account(Struct, frozen=True):
    """A principal and what proves a request to be its own; without a password only tokens and certificates do."""

    principal: Principal
    password: str | None = None
    tokens: frozenset[str] = frozenset()  # SHA-256 of each, in hexadecimal


class Accounts(Struct, frozen=True):
    """All accounts at one moment, by name and by the hash of each token."""

    by_name: Mapping[str, Account] = {}
    by_token: Mapping[str, Account] = {}

    @classmethod
    def of(cls, accounts: tuple[Account, ...]) -> "Accounts":
        by_token = {token: each for each in accounts for token in each.tokens}
        return cls({each.principal.name: each for each in accounts}, by_token)


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name) or name != name.strip():
        raise Refusal("malformed", f"{name[:128]!r} cannot be a user's name: 1 to 128 characters, without colons")
    return name


SecretKind = Literal["hmac", "basic", "bearer", "header"]
_OF_A_SINK = re.compile(r"sink-[0-9a-f]{32}")


def sink_secret(unique: str) -> str:
    """The name of a secret that came with a subscription, and goes with it; `unique` is 32 hexadecimal digits."""
    return f"sink-{unique}"


def is_of_a_sink(name: str) -> bool:
    return _OF_A_SINK.fullmatch(name) is not None


class Secret(Struct, frozen=True):
    """What we send so that a consumer knows us. `header` names the header for that kind; it is sent only to `address`
    and addresses below it."""

    name: str
    kind: SecretKind
    value: str
    since: Instant
    header: str = ""
    address: str = ""

    def __repr__(self) -> str:
        """Without the value: it ends up in tracebacks and logs."""
        return f"Secret({self.name!r}, {self.kind!r})"
