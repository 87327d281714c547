"""Consumers that were asked whether they want to be sent to, and what they said."""

from typing import Any

from msgspec import Struct

from tocsin.model.identity import SubscriptionId
from tocsin.store.connection import Connection

SCHEMA = """
CREATE TABLE consent (
    subscription TEXT PRIMARY KEY, token TEXT NOT NULL UNIQUE, given INTEGER NOT NULL, rate INTEGER
) STRICT, WITHOUT ROWID
"""


# Whose consent was written down without the address it was given for is asked again: no address is empty.
ADDRESSES = """
ALTER TABLE consent ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE consent ADD COLUMN earlier TEXT NOT NULL DEFAULT ''
"""
_READ = "SELECT subscription, token, given, rate, address, earlier FROM consent"
_PUT = "INSERT OR REPLACE INTO consent (subscription, token, given, rate, address, earlier) VALUES (?, ?, ?, ?, ?, ?)"


class Consent(Struct, frozen=True):
    """`token` is what a consumer names when it answers later; `rate` is in requests a minute, None without limit.

    `earlier` are addresses of the same subscription that consented before it went to another: what waits is for them.
    """

    subscription: SubscriptionId
    token: str
    given: bool = False
    rate: int | None = None
    address: str = ""
    earlier: tuple[str, ...] = ()


class Consents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Consent]:
        return list(map(_consent, self._connection.rows(_READ)))

    def put(self, consent: Consent) -> None:
        said = (consent.subscription, consent.token, int(consent.given), consent.rate)
        values = (*said, consent.address, " ".join(consent.earlier))
        with self._connection.write("FULL") as transaction:
            transaction.execute(_PUT, values)

    def remove(self, subscription: SubscriptionId) -> None:
        with self._connection.write("NORMAL") as transaction:
            transaction.execute("DELETE FROM consent WHERE subscription = ?", (subscription,))


def _consent(row: Any) -> Consent:
    return Consent(SubscriptionId(row[0]), row[1], bool(row[2]), row[3], row[4], tuple(row[5].split()))
