"""Who is known to a node, and to one that has not joined its ring yet."""

from pathlib import Path

import pytest

from tocsin.doors.access import Directory
from tocsin.model.refusal import Refusal
from tocsin.store.database import Store


def test_who_is_about_to_hear_of_its_users_turns_nobody_away(tmp_path: Path) -> None:
    store, joined = Store.open(tmp_path / "tocsin.db"), list[bool]()
    directory = Directory(store.users, lambda: bool(joined))
    with pytest.raises(Refusal, match="not joined"):
        directory()
    store.users.add("desk", "secret")  # as told by the ring
    joined.append(True)
    assert [*directory().by_name] == ["desk"]
    store.close()


def test_a_node_without_users_knows_nobody(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    assert not Directory(store.users, lambda: True)().by_name
    store.close()
