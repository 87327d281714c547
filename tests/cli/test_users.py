import json
from pathlib import Path

import pytest
from tests.cli.commands import tocsin


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(tmp_path / "data")


def listed(data: str) -> list[dict[str, object]]:
    return list(json.loads(tocsin("users", "list", "--json", "--data", data).stdout)["items"])


def test_a_user_from_the_first_day_to_the_last(data: str) -> None:
    tocsin(
        "users", "add", "ann", "--grant", "publish", "--grant", "subscribe=flood//.", "--data", data, text="secret\n"
    )
    tocsin("users", "grant", "ann", "manage", "--topic", "x:fire", "--namespace", "x=urn:x", "--data", data)
    tocsin("users", "revoke", "ann", "publish", "--data", data)
    token = tocsin("users", "token", "ann", "--data", data).stdout
    tocsin("users", "password", "ann", "--data", data, text="another\n")
    rights = [{"action": "manage", "topics": "{urn:x}fire"}, {"action": "subscribe", "topics": "flood//."}]
    assert listed(data) == [{"name": "ann", "password": True, "tokens": 1, "rights": rights}]
    assert token.startswith("tocsin_") and len(token) > 40
    tocsin("users", "remove", "ann", "--data", data)
    assert listed(data) == []


WRONG: list[tuple[tuple[str, ...], str, int, str]] = [
    (("add", "bob"), "", 2, "a password has 1 to"),
    (("add", "a:b"), "p\n", 2, "cannot be a user's name"),
    (("add", "ann"), "p\n", 1, "there is a user 'ann' already"),
    (("add", "bob", "--grant", "read"), "p\n", 2, "'read' is not a right; publish, subscribe, manage are"),
    (("add", "bob", "--grant", "publish=a//"), "p\n", 2, "position"),
    (("add", "bob", "--grant", "publish=x:a"), "p\n", 2, "'x' is not declared"),
    (("grant", "bob", "publish"), "", 1, "there is no user 'bob'"),
    (("remove", "bob"), "", 1, "there is no user 'bob'"),
    (("revoke", "ann", "publish"), "", 1, "was not granted"),
]


def test_what_is_wrong_is_told_and_changes_nothing(data: str) -> None:
    tocsin("users", "add", "ann", "--no-password", "--data", data)
    before = listed(data)
    for words, text, code, told in WRONG:
        done = tocsin("users", *words, "--data", data, check=False, text=text)
        assert (done.returncode, told in done.stderr, "Traceback" in done.stderr) == (code, True, False), done.stderr
    assert listed(data) == before


def test_only_adding_makes_a_data_directory(tmp_path: Path) -> None:
    done = tocsin("users", "list", "--data", str(tmp_path / "typo"), check=False)
    assert done.returncode == 1 and "not a data directory" in done.stderr and not (tmp_path / "typo").exists()
