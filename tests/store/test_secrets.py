from pathlib import Path

from tocsin.model.access import Secret
from tocsin.model.identity import Instant
from tocsin.store.database import Store


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir()}


def test_secrets_are_kept_replaced_and_removed(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    first = Secret("a", "header", "v", Instant(5), "X-Key", "https://a.example")
    second = Secret("b", "bearer", "t", Instant(6))
    for each in (first, second, Secret("b", "bearer", "u", Instant(7))):
        store.secrets.put(each)
    store.close()
    again = Store.open(tmp_path / "tocsin.db")
    assert again.secrets.all() == [first, Secret("b", "bearer", "u", Instant(7))]
    again.secrets.remove("a")
    assert [each.name for each in again.secrets.all()] == ["b"]
    again.close()


def test_nobody_else_may_read_the_file_or_those_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    store = Store.open(folder / "tocsin.db")
    store.secrets.put(Secret("a", "bearer", "t", Instant(1)))
    assert len(list(folder.iterdir())) > 1 and modes(folder) == {0o600}
    store.close()


def test_a_file_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "tocsin.db"
    Store.open(path).close()
    path.chmod(0o644)
    Store.open(path).close()
    assert modes(tmp_path) == {0o600}


def test_the_value_is_not_shown_by_accident() -> None:
    assert "hunter2" not in repr(Secret("a", "bearer", "hunter2", Instant(1)))
