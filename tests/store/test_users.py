import sqlite3
import stat
from pathlib import Path

import pytest

from tocsin.model.access import Account, Principal, Right
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression
from tocsin.store import dead_letters, past, progress
from tocsin.store.database import Store
from tocsin.store.users import NoSuchUser, UserExists, token_hash

FLOOD = Right("subscribe", parse_topic_expression("flood//.|x:fire", "full", {"x": "urn:x"}))
ALL = Right("publish")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tocsin.db"


def test_users_are_kept_with_their_rights(path: Path) -> None:
    store = Store.open(path)
    assert store.users.all() == () and store.users.version() == 0
    store.users.add("ann", "secret", (FLOOD, ALL, ALL))
    store.users.add("Zoë", None)
    store.close()
    found = Store.open(path, read_only=True).users.all()
    assert found == (Account(Principal("Zoë"), None), Account(Principal("ann", (ALL, FLOOD)), "secret"))


def test_another_process_sees_each_change(path: Path) -> None:
    writer, reader = Store.open(path), Store.open(path, read_only=True)
    users = writer.users
    users.add("ann", "one")
    assert reader.users.version() == 1
    users.set_password("ann", "two")
    users.grant("ann", FLOOD)
    users.add_token("ann", "t")
    assert reader.users.version() == 4
    accounts = reader.users.accounts()
    assert accounts.by_token[token_hash("t")] is accounts.by_name["ann"]
    assert accounts.by_name["ann"] == Account(Principal("ann", (FLOOD,)), "two", frozenset({token_hash("t")}))
    assert (users.revoke("ann", FLOOD), users.revoke("ann", FLOOD), users.revoke_tokens("ann")) == (True, False, 1)
    users.remove("ann")
    assert reader.users.all() == ()
    users.add("ann", "again")
    assert reader.users.all() == (Account(Principal("ann"), "again"),)


def test_nobody_is_changed_who_is_not_there_or_added_twice(path: Path) -> None:
    users = Store.open(path).users
    users.add("ann", "one")
    with pytest.raises(UserExists, match="ann"):
        users.add("ann", "two", (ALL,))
    with pytest.raises(NoSuchUser, match="bob"):
        users.grant("bob", ALL)
    assert (users.all(), users.version()) == ((Account(Principal("ann"), "one"),), 1)


@pytest.mark.parametrize("name", ["", "a:b", " a", "a\n", "x" * 129, "\ud800"])
def test_names_that_cannot_be_used(name: str, path: Path) -> None:
    with pytest.raises(Refusal, match="name"):
        Store.open(path).users.add(name, "p")


def test_tokens_are_not_in_the_file_and_the_file_is_the_owners(path: Path) -> None:
    store = Store.open(path)
    store.users.add("ann", None)
    store.users.add_token("ann", "tocsin_verysecret")
    files = list(path.parent.glob("tocsin.db*"))
    assert not any(b"verysecret" in file.read_bytes() for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_directory_of_the_first_format_opens_with_what_it_had(path: Path) -> None:
    meta = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID"
    old = sqlite3.connect(path)
    old.executescript(";".join((meta, past.CHANGES, progress.SCHEMA, dead_letters.SCHEMA)))
    old.execute("INSERT INTO meta VALUES ('node', 'n1')")
    old.execute("PRAGMA user_version=1")
    old.commit()
    old.close()
    path.chmod(0o644)
    store = Store.open(path)
    store.users.add("ann", "p")
    assert store.meta("node") == "n1" and stat.S_IMODE(path.stat().st_mode) == 0o600
