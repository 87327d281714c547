from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tocsin.platform.names import former, fresh_names
from tocsin.routing.ring.identifiers import SIZE, distance, identifier_of


def shares(names: list[str]) -> list[float]:
    places = sorted(map(identifier_of, names))
    return [(distance(before, each) or SIZE) / SIZE for before, each in zip(places[-1:] + places, places, strict=False)]


@given(st.integers(1, 12))
def test_beside_one_alone_all_have_equal_parts(many: int) -> None:
    names = ["node-first", *fresh_names(["node-first"], many)]
    assert len(set(names)) == many + 1
    assert all(abs(each * (many + 1) - 1) < 0.05 for each in shares(names))


@given(st.integers(1, 6), st.integers(1, 6))
def test_beside_several_nobody_has_more_than_twice_what_another_has_of_equal_parts(before: int, many: int) -> None:
    known = ["node-first", *fresh_names(["node-first"], before)]
    found = shares([*known, *fresh_names(known, many)])
    assert max(found) < 2.1 * min(found)


def test_former_workers_are_those_with_a_folder_of_their_number(tmp_path: Path) -> None:
    assert former(tmp_path) == []
    for name in ("1", "10", "2", "3.left-0a", "x", "0"):
        (tmp_path / "workers" / name).mkdir(parents=True)
    assert former(tmp_path) == [1, 2, 10]
