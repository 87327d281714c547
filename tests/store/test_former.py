"""A file of an earlier format is brought up to date, with all that was in it."""

import sqlite3
from pathlib import Path

from msgspec import msgpack

from tocsin.model.identity import Instant
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Endpoint, Form, Registration
from tocsin.routing.consent import Consent
from tocsin.routing.demand import Upstream
from tocsin.store import database
from tocsin.store.database import Store
from tocsin.store.machines import Codec

BEFORE_MACHINES = 9  # the last format with a table for each protocol


def former(path: Path, *rows: tuple[str, tuple[object, ...]], version: int = BEFORE_MACHINES) -> Store:
    connection = sqlite3.connect(path)
    for script in database._SCHEMA[:version]:
        connection.executescript(script)
    for statement, values in rows:
        connection.execute(statement, values)
    connection.execute(f"PRAGMA user_version = {version}")
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


def test_registrations(tmp_path: Path) -> None:
    topic, publisher = Topic((QName("urn:x", "a"), QName("", "b"))), Endpoint("http://publisher/", b"<p/>")
    made = Registration("a", "me", publisher, (topic,), True, Form("wsn-1.3", "1.2"), Instant(5), Instant(9))
    upstream = Upstream(publisher, "http://here/broker", Instant(1), Instant(7), paused=True)
    put, body = "INSERT INTO registration VALUES (?, ?, ?)", msgpack.encode(made)
    store = former(tmp_path / "tocsin.db", (put, ("a", body, msgpack.encode(upstream))), (put, ("b", body, None)))
    assert store.machines("demand", Codec(), Codec(registration=Registration, upstream=Upstream)).rows() == {
        "a": {"registration": made, "upstream": upstream},
        "b": {"registration": made},
    }
    store.close()


def test_the_very_first_format(tmp_path: Path) -> None:
    store = former(tmp_path / "tocsin.db", ("INSERT INTO meta VALUES (?, ?)", ("node", "n1")), version=1)
    assert store.meta("node") == "n1" and store.topic_namespaces.documents() == []
    store.close()
