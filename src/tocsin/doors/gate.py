"""Who a request comes from, and what of the broker it may therefore see."""

import base64
import binascii
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from typing import Literal

from msgspec import Struct

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.node import Node
from tocsin.mediation.soap.security import Replays, UsernameToken, proves, same, username_token
from tocsin.mediation.soap.soap import Envelope
from tocsin.model.access import Account, Accounts, Principal
from tocsin.model.refusal import Refusal
from tocsin.wire.addresses import WireError
from tocsin.wire.asgi import Scope, header

ClearText = Literal["never", "loopback", "always"]
LONGEST_HEADER = 4096
# Clients set their clocks by it, on which their digests depend (ONVIF Core s8.1).
BEFORE_AUTHENTICATION = frozenset({"{http://www.onvif.org/ver10/device/wsdl}GetSystemDateAndTime"})
_ANYBODY = Principal("")
_NOBODY = "\0"  # compared with when there is no such user, so that this takes as long


class OpenToAll(WireError):
    """It would listen to strangers, and was not told to."""


class Policy(Struct, frozen=True):
    """`clear_text` says where a password may travel unencrypted."""

    clock_skew: float = 300.0
    clear_text: ClearText = "never"


class Gate:
    """Without accounts it stands open: every request is nobody's, and everything may be done."""

    def __init__(
        self, node: Node, accounts: Callable[[], Accounts] | None = None, policy: Policy | None = None
    ) -> None:
        self.node, self._accounts, self.is_open = node, accounts, accounts is None
        self._policy = policy or Policy()
        self._attempts = Attempts()
        self._replays = Replays(node.now(), self._policy.clock_skew)

    def caller(self, scope: Scope, token: UsernameToken | None = None) -> Caller:
        """Who asks; `token` is what the SOAP header held. Refuses whom it does not know."""
        if self._accounts is None:
            return NODE
        return Caller(self.authenticate(scope, token), self._named)

    def caller_of_message(self, scope: Scope, envelope: Envelope | None) -> Caller:
        """Of a SOAP message. What may be asked before one is known is asked by one without any right."""
        if self._accounts is None or envelope is None:
            return self.caller(scope)
        if envelope.operation in BEFORE_AUTHENTICATION:
            return Caller(_ANYBODY, self._named)
        security = envelope.headers.get("security")
        return self.caller(scope, None if security is None else username_token(security))

    def _named(self, name: str) -> Principal | None:
        account = None if self._accounts is None else self._accounts().by_name.get(name)
        return None if account is None else account.principal

    def authenticate(self, scope: Scope, token: UsernameToken | None = None) -> Principal | None:
        """The first of UsernameToken, Authorization and client certificate that is there decides; None when open."""
        if self._accounts is None:
            return None
        accounts = self._accounts()
        if token is not None:
            return self._by_token(accounts, scope, token)
        if authorization := header(scope, b"authorization"):
            return self._by_header(accounts, scope, authorization)
        return _by_certificate(accounts, scope)

    def _by_token(self, accounts: Accounts, scope: Scope, token: UsernameToken) -> Principal:
        if token.kind == "text":
            if not self._may_be_clear(scope, at_loopback=self._policy.clear_text == "loopback"):
                raise _refused("a PasswordText is taken over TLS only; send a PasswordDigest, or use https")
            return self._checked(accounts, scope, token.name, lambda password: proves(token, password))
        now = self.node.now()
        self._replays.check(token, now)
        found = self._checked(accounts, scope, token.name, lambda password: proves(token, password))
        self._replays.remember(token, now)
        return found

    def _by_header(self, accounts: Accounts, scope: Scope, authorization: str) -> Principal:
        scheme, _, credentials = authorization.partition(" ")
        if len(authorization) > LONGEST_HEADER or scheme.lower() not in ("basic", "bearer"):
            raise _refused(f"the authorization scheme {scheme[:20]!r} is not known here; Basic and Bearer are")
        if not self._may_be_clear(scope, at_loopback=True):
            raise _refused(f"{scheme} is taken over TLS only; use https, or a UsernameToken with a digest")
        if scheme.lower() == "bearer":
            return _by_bearer(accounts, credentials.strip())
        name, password = _basic(credentials.strip())
        return self._checked(accounts, scope, name, lambda known: same(known, password))

    def _may_be_clear(self, scope: Scope, *, at_loopback: bool) -> bool:
        if scope.get("scheme") == "https" or self._policy.clear_text == "always":
            return True
        return at_loopback and _is_loopback(_address(scope))

    def _checked(self, accounts: Accounts, scope: Scope, name: str, right: Callable[[str], bool]) -> Principal:
        who, now = (name, _address(scope)), time.monotonic()
        self._attempts.check(who, now)
        account = accounts.by_name.get(name)
        password = account.password if account is not None else None
        if not right(_NOBODY if password is None else password) or account is None or password is None:
            self._attempts.failed(who, now)
            raise _refused("the name or the password is wrong")
        self._attempts.succeeded(who)
        return account.principal


def _by_bearer(accounts: Accounts, token: str) -> Principal:
    """Found by its hash: what is compared is not what was sent."""
    account: Account | None = accounts.by_token.get(hashlib.sha256(token.encode("latin-1")).hexdigest())
    if account is None:
        raise _refused("the bearer token is not known; `tocsin users token` makes one")
    return account.principal


def _by_certificate(accounts: Accounts, scope: Scope) -> Principal:
    """The server has verified it; its common name is the user's."""
    name = (scope.get("extensions") or {}).get("tls", {}).get("client_common_name")
    if name is None:
        raise _refused("who are you? send a UsernameToken, HTTP Basic or Bearer, or a client certificate")
    account = accounts.by_name.get(name)
    if account is None:
        raise _refused(f"the client certificate is of {name!r}, who is no user here; `tocsin users add` makes one")
    return account.principal


def _basic(credentials: str) -> tuple[str, str]:
    try:
        name, colon, password = base64.b64decode(credentials, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        raise _refused("the Basic credentials are not a name and a password in Base64 and UTF-8") from None
    if not colon:
        raise _refused("the Basic credentials have no password")
    return name, password


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


def _refused(text: str) -> Refusal:
    return Refusal("not-authenticated", text)


FREE = 5
LONGEST_WAIT = 300.0
FORGIVEN_AFTER = 900.0
MOST_REMEMBERED = 10_000
Who = tuple[str, str]  # the name that was claimed, and the address it was claimed from


class _Failures(Struct):
    count: int
    last: float

    def until(self) -> float:
        return self.last + (0.0 if self.count < FREE else min(2.0 ** (self.count - FREE), LONGEST_WAIT))


class Attempts:
    """By name and address together: a stranger elsewhere locks nobody out. Bounded; the longest unseen is forgotten."""

    def __init__(self) -> None:
        self._failures: OrderedDict[Who, _Failures] = OrderedDict()

    def check(self, who: Who, now: float) -> None:
        """Before anything is compared: also the right password has to wait, or waiting would not hinder a search."""
        failures = self._failures.get(who)
        if failures is not None and now < (until := failures.until()):
            raise Refusal(
                "not-authenticated", f"too many failed attempts as {who[0]!r}; try again in {until - now:.0f} seconds"
            )

    def failed(self, who: Who, now: float) -> None:
        failures = self._failures.pop(who, None)
        if failures is None or now > failures.last + FORGIVEN_AFTER:
            failures = _Failures(0, now)
        failures.count, failures.last = failures.count + 1, now
        self._failures[who] = failures
        if len(self._failures) > MOST_REMEMBERED:
            self._failures.popitem(last=False)

    def succeeded(self, who: Who) -> None:
        self._failures.pop(who, None)
