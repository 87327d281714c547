"""A file of an earlier format is brought up to date, with all that was in it."""

import sqlite3
from pathlib import Path

from tocsin.routing.consent import Consent
from tocsin.store import database
from tocsin.store.database import Store
from tocsin.store.machines import Codec

BEFORE_MACHINES = 9  # the last format with a table for each protocol


def former(path: Path, *rows: tuple[str, tuple[object, ...]]) -> Store:
    connection = sqlite3.connect(path)
    for script in database._SCHEMA[:BEFORE_MACHINES]:
        connection.executescript(script)
    for statement, values in rows:
        connection.execute(statement, values)
    connection.execute(f"PRAGMA user_version = {BEFORE_MACHINES}")
    connection.commit()
    connection.close()
    return Store.open(path)


def test_consents(tmp_path: Path) -> None:
    put = "INSERT INTO consent VALUES (?, ?, ?, ?, ?, ?)"
    store = former(
        tmp_path / "tocsin.db",
        (put, ("a", "ta", 1, 120, "http://a/", "http://b/ http://c/")),
        (put, ("b", "tb", 0, None, "http://b/", "")),
        (put, ("c", "tc", 1, None, "", "")),  # of before there were addresses: it is asked again
    )
    assert store.machines("consent", Codec(), Codec(consent=Consent)).rows() == {
        "a": {"given": Consent("ta", "http://a/", 120, ("http://b/", "http://c/"))},
        "b": {"asked": Consent("tb", "http://b/")},
    }
    store.close()
