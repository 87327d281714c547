"""Tokens that were used: none is taken twice (WSS Username Token Profile 1.0 s3.1)."""

import hashlib
import heapq

from tocsin.mediation.soap.security import UsernameToken, created_of
from tocsin.mediation.times import timestamp
from tocsin.model.identity import SECOND, Instant, after
from tocsin.model.refusal import Refusal

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
                f"the UsernameToken was created at {token.created}, and it is {timestamp(now)} here:"
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
        self._forget(after(now, -self._skew))
        key = _key(token)
        self._used.add(key)
        heapq.heappush(self._by_age, (created_of(token), key))
        while len(self._by_age) > self._most:
            self._floor = max(self._floor, self._drop())

    def _forget(self, over: Instant) -> None:
        while self._by_age and self._by_age[0][0] < over:
            self._drop()

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


def _refused(text: str) -> Refusal:
    return Refusal("not-authenticated", text)
