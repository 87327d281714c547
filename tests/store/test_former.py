"""A file of an earlier format is brought up to date, with all that was in it."""

import sqlite3
from pathlib import Path

from msgspec import msgpack

from tocsin.broker.implicit.family import MESSAGES, tables_of
from tocsin.model.identity import Instant, MessageId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Payload
from tocsin.model.subscription import Endpoint, Form, Registration
from tocsin.routing.consent import Consent
from tocsin.routing.demand import Upstream
from tocsin.routing.implicit.history import Grant
from tocsin.routing.implicit.messages import Claim, Copy, Had, Handled, Membership, Message, Publish
from tocsin.semantics.interest.ino import Service
from tocsin.store import database
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter

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


def test_what_notifiers_remembered_took_in_and_sent(tmp_path: Path) -> None:
    service = Service("N", ("C",), node="http://here")
    said = Message(MessageId("m"), "din", "R", "T", Payload("text/plain", b"!"), Instant(3), "http://there")
    copy, handled = Copy("c", said, "R", "N", 1), Handled(MessageId("m"), "c", "R", "N", 1, Instant(4))
    packed = [msgpack.encode(each) for each in (copy, Publish(said, 3), handled)]
    sent = "INSERT INTO implicit_outbox (peer, kind, time, body) VALUES (?, ?, ?, ?)"
    came = "INSERT INTO implicit_copy VALUES (?, ?, ?, ?, ?, ?)"
    store = former(
        tmp_path / "tocsin.db",
        ("INSERT INTO implicit_notifier VALUES (?, ?, ?)", ("N", "s", msgpack.encode(service))),
        ("INSERT INTO implicit_history VALUES (?, ?, ?)", ("N", "m", 5)),
        ("INSERT INTO implicit_told VALUES (?, ?, ?, ?)", ("m", "N", "c", 6)),
        (came, ("c", "N", "copy", "waiting", packed[0], 7)),
        (came, ("publication m", "R", "publication", "told", packed[1], 8)),
        (came, ("d", "N", "copy", "done", b"", 9)),
        (sent, ("http://there", "report", 10, packed[2])),
        (sent, ("http://there", "copy", 11, packed[0])),
        (sent, ("http://x/soap", "foreign", 12, packed[0])),
        (sent, ("http://there", "claim", 13, msgpack.encode(Claim(MessageId("m"), "c", "N", ())))),
    )
    tables, grant = tables_of(store), Grant(MessageId("m"), "N", "c", Instant(6))
    assert tables.rows() == {"N": {"": Membership(service, "s"), "had:m": Had(Instant(5))}, "": {grant.key: grant}}
    assert tables.open_letters() == [Letter("N", copy, "c"), Letter("R", Publish(said, 3), "publication m")]
    assert tables.known(["c", "d", "e"]) == {"c", "d"}
    assert sorted(tables.outbox.lanes()) == [
        ("http://there", "letters"),
        ("http://there", "reports"),
        ("http://x/soap", "foreign"),
    ]
    (row,) = tables.outbox.first("http://there", "letters", 9, 9999)
    assert (row.id, row.to, row.when, MESSAGES.decode(row.body)) == ("c", "N", 11, copy)
    (report,) = tables.outbox.first("http://there", "reports", 9, 9999)
    assert (report.to, MESSAGES.decode(report.body)) == ("", handled)
    store.close()
