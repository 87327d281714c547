from pathlib import Path

from tocsin.store.database import Store


def test_a_declared_namespace_is_kept_as_it_came(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    store.topic_namespaces.keep("urn:x", b"<old/>")
    store.topic_namespaces.keep("urn:a", b"<a/>")
    store.topic_namespaces.keep("urn:x", b"<x/>")
    store.close()
    again = Store.open(tmp_path / "tocsin.db")
    assert again.topic_namespaces.documents() == [b"<a/>", b"<x/>"]
    again.topic_namespaces.remove("urn:a")
    assert again.topic_namespaces.documents() == [b"<x/>"]
