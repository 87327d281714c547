from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tocsin.platform.names import even_places, former, fresh_name
from tocsin.routing.ring.identifiers import LAST, SIZE, distance


@given(st.integers(0, LAST), st.integers(1, 64))
def test_beside_one_alone_all_have_equal_parts(first: int, many: int) -> None:
    places = sorted([first, *even_places(first, many)])
    assert len(set(places)) == many + 1
    widths = [distance(before, each) for before, each in zip(places[-1:] + places, places, strict=False)]
    assert all(abs(each - SIZE / (many + 1)) <= 4096 for each in widths)


def test_names_are_fresh() -> None:
    assert len({fresh_name() for _ in range(100)}) == 100


def test_former_workers_are_those_with_a_folder_of_their_number(tmp_path: Path) -> None:
    assert former(tmp_path) == []
    for name in ("1", "10", "2", "3.left-0a", "x", "0"):
        (tmp_path / "workers" / name).mkdir(parents=True)
    assert former(tmp_path) == [1, 2, 10]
