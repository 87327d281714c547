"""WS-Security UsernameToken (WSS Username Token Profile 1.0): read from a SOAP header, verified, written."""

import base64
import binascii
import hashlib
import heapq
import hmac
from typing import Literal

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element, children, text_in, text_of
from tocsin.mediation import times
from tocsin.mediation.soap.namespaces import WSSE
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.refusal import Refusal

_WSS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-"
WSU = f"{_WSS}wssecurity-utility-1.0.xsd"
PROFILE = f"{_WSS}username-token-profile-1.0"
BASE64 = f"{_WSS}soap-message-security-1.0#Base64Binary"
SECURITY = f"{{{WSSE}}}Security"  # the header, understood also when it must be

LONGEST = 1024  # characters of a name, a password, a nonce or a time
_PARTS = {
    f"{{{WSSE}}}Username": "name",
    f"{{{WSSE}}}Password": "password",
    f"{{{WSSE}}}Nonce": "nonce",
    f"{{{WSU}}}Created": "created",
}
PasswordKind = Literal["digest", "text"]


class UsernameToken(Struct, frozen=True):
    """`created` is kept as it was written: the digest is made over its characters."""

    name: str
    kind: PasswordKind
    password: str
    nonce: bytes = b""
    created: str = ""


def username_token(header: Element) -> UsernameToken | None:
    """The token in a Security header; None when there is none, for other tokens prove nothing here."""
    found = header.findall(f"{{{WSSE}}}UsernameToken")
    if not found:
        return None
    if len(found) > 1:
        raise _refused("the Security header has more than one UsernameToken")
    parts = children(found[0], _PARTS)
    if "name" not in parts or "password" not in parts:
        raise _refused("the UsernameToken lacks a Username or a Password")
    if any(len(text_in(each)) > LONGEST for each in parts.values()):
        raise _refused(f"a part of the UsernameToken has more than {LONGEST} characters")
    kind = _kind(parts["password"].get("Type", "#PasswordText"))
    # White space may belong to a password as it was typed; around a digest it is formatting.
    password = text_in(parts["password"]) if kind == "text" else text_of(parts["password"])
    nonce, created = _decoded(text_of(parts.get("nonce"))), text_of(parts.get("created"))
    return UsernameToken(text_of(parts["name"]), kind, password, nonce, created)


def _kind(written: str) -> PasswordKind:
    if written.endswith("#PasswordDigest"):
        return "digest"
    if written.endswith("#PasswordText"):
        return "text"
    raise _refused(f"the password type {written!r} is not supported; PasswordDigest and PasswordText are")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise _refused("the Nonce of the UsernameToken is not Base64") from None


def digest(nonce: bytes, created: str, password: str) -> str:
    """Profile s3.1: Base64 ( SHA-1 ( nonce + created + password ) ). SHA-1 is the profile's choice, not ours."""
    said = nonce + created.encode() + password.encode()
    return base64.b64encode(hashlib.sha1(said, usedforsecurity=False).digest()).decode()


def proves(token: UsernameToken, password: str) -> bool:
    """In a time that tells nothing about the password."""
    expected = digest(token.nonce, token.created, password) if token.kind == "digest" else password
    return same(expected, token.password)


def same(one: str, other: str) -> bool:
    """Of equal lengths when compared, so that the length is not told either."""
    hashed = [hashlib.sha256(each.encode("utf-8", "surrogatepass")).digest() for each in (one, other)]
    return hmac.compare_digest(*hashed)


def created_of(token: UsernameToken) -> Instant:
    try:
        return times.instant(token.created)
    except Refusal:
        raise _refused(
            f"the UsernameToken was created at {token.created!r}, which is not a time such as 2030-01-31T12:00:00Z"
        ) from None


def without_security(data: bytes, header: Element) -> bytes:
    """The envelope without its Security headers: what proves who sent a message is not kept with it."""
    parent = header.getparent()
    if parent is None:
        return data
    blocks = parent.findall(SECURITY)
    if len(blocks) == 1 and (cut := _cut(data, xml.written_name(header))) is not None:
        return cut
    for block in blocks:
        parent.remove(block)
    return xml.serialise(parent.getroottree().getroot())


def _cut(data: bytes, name: bytes) -> bytes | None:
    """By its bytes where they can be told: once opened, once closed, in plain UTF-8."""
    closing = b"</%b>" % name
    if not xml.is_plain(data) or data.count(b"<" + name) != 1 or data.count(closing) != 1:
        return None
    start, end = data.find(b"<" + name), data.find(closing)
    return data[:start] + data[end + len(closing) :] if start < end else None


def security_header(name: str, password: str, nonce: bytes, created: str, *, must_understand: str = "") -> bytes:
    """A header block with the password as a digest; `must_understand` is the attribute as the envelope writes it."""
    return b'<wsse:Security xmlns:wsse="%b" xmlns:wsu="%b"%b>%b</wsse:Security>' % (
        WSSE.encode(),
        WSU.encode(),
        f" {must_understand}".encode() if must_understand else b"",
        _token(name, "PasswordDigest", digest(nonce, created, password), nonce, created),
    )


def _token(name: str, kind: str, password: str, nonce: bytes, created: str) -> bytes:
    return (
        b"<wsse:UsernameToken><wsse:Username>%b</wsse:Username>"
        b'<wsse:Password Type="%b#%b">%b</wsse:Password>'
        b'<wsse:Nonce EncodingType="%b">%b</wsse:Nonce><wsu:Created>%b</wsu:Created></wsse:UsernameToken>'
    ) % (
        xml.text(name),
        PROFILE.encode(),
        kind.encode(),
        xml.text(password),
        BASE64.encode(),
        base64.b64encode(nonce),
        xml.text(created),
    )


def _refused(text: str) -> Refusal:
    return Refusal("not-authenticated", text)


MOST = 100_000
# ONVIF clients reckon with our clock, which they read in whole seconds, and write whole seconds again.
SLACK = 2


class Replays:
    """Remembers each token until its time is over; with `most` in mind, the oldest are forgotten and refused by age.

    What was used before `begun` nobody remembers, so that what was created before is refused too, but for a moment.
    """

    def __init__(self, begun: Instant, skew: float, most: int = MOST) -> None:
        self._skew, self._most = skew, most
        self._floor = Instant(begun - begun % SECOND - SLACK * SECOND - 1)
        self._by_age: list[tuple[Instant, bytes]] = []
        self._used: set[bytes] = set()

    def check(self, token: UsernameToken, now: Instant) -> None:
        """Before the password is looked at: it says nothing about it."""
        if not token.nonce or not token.created:
            raise _refused("a UsernameToken with a digest needs a Nonce and a Created time")
        created = created_of(token)
        if not after(now, -self._skew) <= created <= after(now, self._skew):
            raise _refused(
                f"the UsernameToken was created at {token.created}, and it is {times.timestamp(now)} here:"
                f" no more than {self._skew:.0f} seconds may lie between; set the clock"
            )
        if _key(token) in self._used:
            raise _refused("the UsernameToken was used before; make a new one for each request")
        if created <= self._floor:
            raise _refused(
                f"the UsernameToken was created at {token.created}, from which time on nobody here remembers which were"
                " used; make a new one"
            )

    def remember(self, token: UsernameToken, now: Instant) -> None:
        """After the password was right: strangers must not fill the memory."""
        over = after(now, -self._skew)
        while self._by_age and self._by_age[0][0] < over:
            self._drop()
        key = _key(token)
        self._used.add(key)
        heapq.heappush(self._by_age, (created_of(token), key))
        while len(self._by_age) > self._most:
            self._floor = max(self._floor, self._drop())

    def _drop(self) -> Instant:
        created, key = heapq.heappop(self._by_age)
        self._used.discard(key)
        return created

    def __len__(self) -> int:
        return len(self._used)


def _key(token: UsernameToken) -> bytes:
    """Nonce and time run together as they do in the digest: who moves a byte from one to the other says the same."""
    said = token.name.encode() + b"\0" + token.nonce + token.created.encode()
    return hashlib.sha256(said).digest()[:16]
