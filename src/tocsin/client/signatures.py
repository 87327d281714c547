"""Signatures of messages after the Standard Webhooks convention: made by the broker, checked by a consumer.

The three headers are `webhook-id`, `webhook-timestamp` and `webhook-signature`; a repeated message has the same id.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from tocsin.client.errors import BadSignature, ClientError
from tocsin.model.identity import Pairs

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"


def verify(secret: str, headers: Pairs | Mapping[str, str], body: bytes, now: float, tolerance: float = 300.0) -> str:
    """The id of the message, which is the same when it is sent again. `now` is in seconds since 1970."""
    found = _lower(headers)
    name, timestamp = found.get(ID, ""), found.get(TIMESTAMP, "")
    if not (name and timestamp and found.get(SIGNATURE)):
        raise BadSignature(f"the headers {ID}, {TIMESTAMP} and {SIGNATURE} are needed")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 15):
        raise BadSignature(f"{TIMESTAMP} is {timestamp[:40]!r}, not a number of seconds")
    if abs(now - int(timestamp)) > tolerance:
        raise BadSignature(f"it was signed {now - int(timestamp):.0f} s ago, {tolerance:.0f} s are tolerated")
    expected = signature(key_of(secret), name, int(timestamp), body).encode()
    offered = found[SIGNATURE].encode(errors="replace").split()
    if not any([hmac.compare_digest(expected, each) for each in offered]):  # noqa: C419 - all, in the same time
        raise BadSignature(f"no signature in {SIGNATURE} was made of this message with this secret")
    return name


def signature(key: bytes, name: str, timestamp: int, body: bytes) -> str:
    made = hmac.digest(key, b"%b.%d.%b" % (name.encode(), timestamp, body), hashlib.sha256)
    return "v1," + base64.b64encode(made).decode()


def key_of(secret: str) -> bytes:
    """The key that a secret is written for: base64, with or without its prefix."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ClientError(f"the secret is not base64, such as {PREFIX} and 24 to 64 bytes in base64") from None
    if not SHORTEST <= len(key) <= LONGEST:
        raise ClientError(f"the secret has {len(key)} bytes; {SHORTEST} to {LONGEST} are expected")
    return key


def _lower(headers: Pairs | Mapping[str, str]) -> dict[str, str]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {name.lower(): value for name, value in pairs}
