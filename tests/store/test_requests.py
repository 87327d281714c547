from pathlib import Path

from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.interactions import NO_DATA, Choice, Interaction, Request, Scored
from tocsin.model.notification import Payload
from tocsin.store.database import Store

DATA = Payload("application/json", b"{}")


def request(name: str) -> Request:
    why = Choice((Scored("p", 0.5, {"price": 0.5}),), {"elsewhere": 2})
    return Request(name, "pull-1:1-implicit", "T", "a", "p", DATA, Instant(1), chosen_because=why)


def record(name: str, when: int) -> Interaction:
    return Interaction(Instant(when), "pull-1:1-implicit", "asked", "a", ("p",), "T", name)


def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t.db")
    store.requests.keep([(request("1"), True)], Instant(1), record("1", 1))
    store.requests.keep([(request("2"), True)], Instant(2))
    store.requests.keep([(replace(request("1"), state="ended"), False)], Instant(3), record("1", 3))
    store.close()
    store = Store.open(tmp_path / "t.db")
    assert store.requests.get("1") == replace(request("1"), state="ended")
    assert store.requests.get("3") is None
    assert store.requests.live() == [replace(request("2"), data=NO_DATA)]
    assert [(number, each.id) for number, each in store.requests.page(0, 10)] == [(1, "1"), (2, "2")]
    assert [each.id for _, each in store.requests.page(1, 10)] == ["2"]
    assert [each.when for _, each in store.requests.interactions(0, 10, "1")] == [1, 3]
    assert store.requests.interactions(0, 10, "2") == []
    store.close()


def test_only_what_is_over_is_forgotten(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "t.db")
    store.requests.keep([(request("1"), True), (request("2"), False)], Instant(1), record("1", 1))
    store.requests.keep([(request("3"), False)], Instant(9), record("3", 9))
    store.requests.forget(Instant(5))
    assert [each.id for _, each in store.requests.page(0, 10)] == ["1", "3"]
    assert [each.request for _, each in store.requests.interactions(0, 10, None)] == ["3"]
    store.requests.remove("1")
    assert store.requests.live() == []
    store.close()
