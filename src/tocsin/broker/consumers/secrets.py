"""Secrets towards consumers: kept by name, shown only when something is sent, and only where they are meant for."""

import asyncio
import base64
import hashlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

import msgspec

from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.client.errors import ClientError
from tocsin.client.signatures import ID, SIGNATURE, TIMESTAMP, key_of, signature
from tocsin.delivery.courier import CannotDress
from tocsin.model.access import Secret, is_of_a_sink
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Subscription
from tocsin.store import secrets
from tocsin.wire.addresses import BadAddress, literal, origin, place

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_TOKEN = re.compile(r"[\x21-\x7e]{1,8192}")
_TEXT = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,8190}[\x21-\x7e])?")
_USER = re.compile(r"[^:\x00-\x1f\x7f-\x9f\ud800-\udfff]*:[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*")
_HEADER = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_NOT_OURS = re.compile(
    r"connection|content-.*|expect|host|te|trailer|transfer-encoding|upgrade|webhook-.*|ce-.*|soapaction",
    re.IGNORECASE,
)
MOST_USERS_NAMED = 5


class Secrets:
    def __init__(
        self, store: secrets.Secrets, *, credentials_over_http: bool, seconds: Callable[[], float] = time.time
    ) -> None:
        self._store, self._anywhere, self._seconds = store, credentials_over_http, seconds
        self._known = {each.name: each for each in store.all()}

    def all(self) -> Sequence[Secret]:
        return [self._known[name] for name in sorted(self._known)]

    def entries(self) -> dict[str, bytes]:
        """For the other nodes of a ring."""
        return {name: msgspec.msgpack.encode(each) for name, each in self._known.items()}

    def entry(self, name: str) -> bytes | None:
        return None if (found := self._known.get(name)) is None else msgspec.msgpack.encode(found)

    async def take(self, name: str, value: bytes | None) -> None:
        """As another node has it."""
        if value is not None:
            await self.add(msgspec.msgpack.decode(value, type=Secret), replace=True)
        elif self._known.pop(name, None) is not None:
            await asyncio.to_thread(self._store.remove, name)

    async def add(self, secret: Secret, *, replace: bool) -> None:
        _check(secret)
        if not replace and secret.name in self._known:
            raise Refusal("in-use", f"there is a secret {secret.name!r} already; ask for it to be replaced")
        await asyncio.to_thread(self._store.put, secret)
        self._known[secret.name] = secret

    async def remove(self, name: str, users: Iterable[str]) -> None:
        """`users` are the subscriptions that name it."""
        if name not in self._known:
            raise Refusal("unknown-secret", f"there is no secret {name!r} here")
        if used := sorted(users):
            named = ", ".join(used[:MOST_USERS_NAMED]) + (" and others" if len(used) > MOST_USERS_NAMED else "")
            raise Refusal("in-use", f"the secret {name!r} is used by {named}: end these first, or replace the value")
        del self._known[name]  # at once: who subscribes from now on cannot name it
        await asyncio.to_thread(self._store.remove, name)

    def forget(self, name: str) -> None:
        """At once here, soon on disk; a row that stays is swept away at the next start."""
        if self._known.pop(name, None) is not None:
            done = asyncio.get_running_loop().run_in_executor(None, self._store.remove, name)
            done.add_done_callback(lambda each: each.cancelled() or each.exception())

    def check(self, endpoint: Endpoint) -> None:
        """What can be said when the address comes in."""
        try:
            if endpoint.secret is not None:
                self._for(endpoint, endpoint.secret)
        except CannotDress as problem:
            raise Refusal("bad-consumer", str(problem)) from None

    def goes_anywhere(self, name: str) -> bool:
        return name in self._known and not self._known[name].address

    def headers_for(self, delivery: Delivery) -> Pairs:
        """Of one attempt: it is signed with its own time, and known by the same id as the last."""
        if delivery.to.secret is None:
            return ()
        secret = self._for(delivery.to, delivery.to.secret)
        return self._signed(secret, delivery) if secret.kind == "hmac" else _credentials(secret)

    def _signed(self, secret: Secret, delivery: Delivery) -> Pairs:
        name, now = message_id(delivery), int(self._seconds())
        made = signature(key_of(secret.value), name, now, delivery.body)
        return ((ID, name), (TIMESTAMP, str(now)), (SIGNATURE, made))

    def _for(self, endpoint: Endpoint, name: str) -> Secret:
        secret = self._known.get(name)
        if secret is None:
            raise CannotDress(f"there is no secret {name!r} here; add it first, see tocsin secrets add")
        if is_devious(endpoint.address):
            raise CannotDress(
                f"the secret {name!r} cannot go to {endpoint.address!r}: write the path without dot segments"
                " and without %2f or %5c, which others may take for another path"
            )
        if secret.address and not _is_below(endpoint.address, secret.address):
            raise CannotDress(f"the secret {name!r} is for {secret.address!r}, not for {endpoint.address!r}")
        if secret.kind != "hmac" and not self._anywhere and not _is_safe(endpoint.address):
            raise CannotDress(
                f"the secret {name!r} cannot go to {endpoint.address!r} in the clear: use https,"
                " or allow it with delivery.credentials_over_http"
            )
        return secret


def message_id(delivery: Delivery) -> str:
    """One for each request, the same when it is repeated; of letters and digits only, as it is part of what is signed.

    The body is part of it: what goes out together once may go out otherwise grouped after a restart.
    """
    place_of = f"{delivery.match.subscription} {delivery.at.node} {delivery.at.offset} {delivery.index} ".encode()
    return "msg_" + hashlib.sha256(place_of + delivery.body).hexdigest()[:40]


def _credentials(secret: Secret) -> Pairs:
    match secret.kind:
        case "basic":
            return (("Authorization", "Basic " + base64.b64encode(secret.value.encode()).decode()),)
        case "bearer":
            return (("Authorization", f"Bearer {secret.value}"),)
    return ((secret.header, secret.value),)


def _is_below(address: str, above: str) -> bool:
    if origin(address) != origin(above):
        return False
    path, under = urlsplit(address).path, urlsplit(above).path.rstrip("/")
    return path == under or path.startswith(f"{under}/")


def is_devious(address: str) -> bool:
    """Whether the path may lead out of where it seems to be, to who resolves it (RFC 3986 s5.2.4, s6.2.2.2).

    Some servers take a parameter off a segment first: `..;x` is `..` there.
    """
    path = urlsplit(address).path.lower()
    if "%2f" in path or "%5c" in path:
        return True
    segments = path.replace("%2e", ".").replace("%3b", ";").split("/")
    return any(each.partition(";")[0] in (".", "..") for each in segments)


def _is_safe(address: str) -> bool:
    """Over TLS, or not over any network at all."""
    if address.lower().startswith("https:"):
        return True
    host = place(address)[0]
    address_of = literal(host)
    return host == "localhost" if address_of is None else address_of.is_loopback


def _check(secret: Secret) -> None:
    """Never with the value in the words."""
    if not _NAME.fullmatch(secret.name):
        raise Refusal("malformed", "the name of a secret has up to 64 letters, digits, '.', '_' and '-'")
    if (secret.kind == "header") != bool(secret.header):
        raise Refusal("malformed", "a secret of kind header, and no other, has the name of a header")
    _check_address(secret.address)
    match secret.kind:
        case "hmac":
            try:
                key_of(secret.value)
            except ClientError as problem:
                raise Refusal("malformed", str(problem)) from None
        case "basic":
            _need(_USER, secret.value, "the value of a basic secret is user:password")
        case "bearer":
            _need(_TOKEN, secret.value, "the value of a bearer secret is a token of printable ASCII without spaces")
        case "header":
            _need(_TEXT, secret.value, "the value of a header secret is printable ASCII")
            if not _HEADER.fullmatch(secret.header) or _NOT_OURS.fullmatch(secret.header):
                raise Refusal("malformed", f"{secret.header[:128]!r} is not a header that a secret can be sent in")


def _check_address(address: str) -> None:
    try:
        if address:
            place(address)
        if is_devious(address):
            raise BadAddress("its path has dot segments, %2f or %5c")
    except BadAddress as problem:
        raise Refusal("malformed", f"a secret cannot be for {address[:200]!r}: {problem}") from None


def _need(pattern: re.Pattern[str], value: str, words: str) -> None:
    if not pattern.fullmatch(value):
        raise Refusal("malformed", words)


class SinkSecrets:
    """Counts their users, so that many subscriptions can end at once. What no subscription came to use, or was left
    behind by one that ended, is swept away at the start."""

    def __init__(self, secrets: Secrets, standing: StandingSubscriptions) -> None:
        self._secrets, self._standing = secrets, standing
        self._of = {each.id: used for each in standing.by_id.values() if (used := _of_sinks(each))}
        self._users = Counter(name for used in self._of.values() for name in used)
        for secret in secrets.all():
            if is_of_a_sink(secret.name) and not self._users[secret.name]:
                secrets.forget(secret.name)

    def changed(self, subscription: Subscription) -> None:
        before, used = self._of.pop(subscription.id, set[str]()), _of_sinks(subscription)
        if used:
            self._of[subscription.id] = used
            self._users.update(used)
        for name in before:
            self._users[name] -= 1
            if self._users[name] <= 0:
                del self._users[name]
                if not any(name in _of_sinks(each) for each in self._standing.changing.values()):
                    self._secrets.forget(name)


def secrets_of(subscription: Subscription) -> set[str]:
    ends = (subscription.consumer, subscription.end_to)
    return {end.secret for end in ends if end is not None and end.secret is not None}


def _of_sinks(subscription: Subscription) -> set[str]:
    """Who has ended uses none."""
    return set() if subscription.state == "ended" else set(filter(is_of_a_sink, secrets_of(subscription)))
