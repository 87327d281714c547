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


class Consent(Struct, frozen=True):
    """`token` is what a consumer names when it answers later; `rate` is in requests a minute, None without limit."""

    subscription: SubscriptionId
    token: str
    given: bool = False
    rate: int | None = None


class Consents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def all(self) -> list[Consent]:
        return list(map(_consent, self._connection.rows("SELECT subscription, token, given, rate FROM consent")))

    def put(self, consent: Consent) -> None:
        values = (consent.subscription, consent.token, int(consent.given), consent.rate)
        with self._connection.write("FULL") as transaction:
            transaction.execute("INSERT OR REPLACE INTO consent VALUES (?, ?, ?, ?)", values)

    def remove(self, subscription: SubscriptionId) -> None:
        with self._connection.write("NORMAL") as transaction:
            transaction.execute("DELETE FROM consent WHERE subscription = ?", (subscription,))


def _consent(row: Any) -> Consent:
    return Consent(SubscriptionId(row[0]), row[1], bool(row[2]), row[3])
