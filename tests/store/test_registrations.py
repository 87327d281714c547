import sqlite3
from pathlib import Path

import pytest

from tocsin.model.identity import Instant
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Endpoint, Form, Registration
from tocsin.store import dead_letters, past, progress
from tocsin.store.database import Store
from tocsin.store.registrations import Registered

TOPIC = Topic((QName("urn:x", "a"), QName("", "b")))


def registration(name: str, expires: Instant | None = None) -> Registration:
    publisher = Endpoint("http://publisher/", b"<p/>")
    return Registration(name, "me", publisher, (TOPIC,), True, Form("wsn-1.3", "1.2"), Instant(5), expires)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tocsin.db"


def test_a_registration_is_kept_whole_until_it_is_removed(path: Path) -> None:
    store = Store.open(path)
    store.registrations.keep(registration("b"), b"\x01\x02")
    store.registrations.keep(registration("a", Instant(9)))
    store.close()
    again = Store.open(path)
    assert again.registrations.all() == [
        Registered(registration("a", Instant(9)), None),
        Registered(registration("b"), b"\x01\x02"),
    ]
    again.registrations.keep(registration("b"), b"\x03")
    again.registrations.remove("a")
    again.registrations.remove("never")
    assert again.registrations.all() == [Registered(registration("b"), b"\x03")]


def test_a_declared_namespace_is_kept_as_it_came(path: Path) -> None:
    store = Store.open(path)
    store.topic_namespaces.keep("urn:x", b"<old/>")
    store.topic_namespaces.keep("urn:a", b"<a/>")
    store.topic_namespaces.keep("urn:x", b"<x/>")
    store.close()
    again = Store.open(path)
    assert again.topic_namespaces.documents() == [b"<a/>", b"<x/>"]
    again.topic_namespaces.remove("urn:a")
    assert again.topic_namespaces.documents() == [b"<x/>"]


def test_a_database_from_before_there_were_registrations_opens(path: Path) -> None:
    connection = sqlite3.connect(path)
    meta = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
    connection.executescript(";".join((meta, past.CHANGES, progress.SCHEMA, dead_letters.SCHEMA)))
    connection.execute("INSERT INTO meta VALUES ('node', 'n1')")
    connection.execute("PRAGMA user_version = 1")
    connection.commit()
    connection.close()
    store = Store.open(path)
    assert store.meta("node") == "n1"
    store.registrations.keep(registration("a"))
    assert len(store.registrations.all()) == 1
    assert store.topic_namespaces.documents() == []
