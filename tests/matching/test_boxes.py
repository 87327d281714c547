import random
from math import nan
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.spaces import boxes, inside, points, spaces

from tocsin.matching.index import axes
from tocsin.matching.index import boxes as module
from tocsin.matching.index.boxes import BoxHeader, BoxIndex
from tocsin.model.filters import InBox
from tocsin.model.space import WHOLE, Dimension, InformationSpace, Interval, Like, OneOf, Point, Side

WEATHER = InformationSpace(
    "weather",
    (Dimension("location", "string"), Dimension("temperature", "number", -90.0, 60.0), Dimension("when", "time")),
)


def matched(standing: dict[int, InBox], point: Point) -> list[int]:
    return sorted(atom for atom, box in standing.items() if inside(point, box))


@given(st.data())
@settings(max_examples=examples(250))
def test_matches_as_one_by_one_while_boxes_come_and_go(data: st.DataObject) -> None:
    space = data.draw(spaces())
    index, standing = BoxIndex(space), dict[int, InBox]()
    for atom, box in enumerate(data.draw(st.lists(boxes(space), max_size=12))):
        index.add(atom, box)
        standing[atom] = box
        if data.draw(st.integers(0, 3)) == 0:
            gone = data.draw(st.sampled_from(sorted(standing)))
            index.remove(gone, standing.pop(gone))
        point = data.draw(points(space))
        assert sorted(index.match(point).tolist()) == matched(standing, point)
    assert len(index) == len(standing)


def many(count: int, seed: int = 7) -> list[InBox]:
    chance = random.Random(seed)
    towns = [f"town{n},{state}" for n in range(40) for state in ("NJ", "NY")]

    def location() -> Side:
        kinds: list[Side] = [WHOLE, OneOf((chance.choice(towns),)), OneOf(tuple(chance.sample(towns, 3)))]
        return chance.choice([*kinds, Like("", ",NJ"), Like(f"town{chance.randrange(40)}")])

    def interval(low: float, high: float) -> Side:
        start = chance.uniform(low, high)
        sides: list[Side] = [WHOLE, Interval(start, start + (high - low) / 20), Interval(start, low_open=True)]
        return chance.choice(sides)

    return [InBox("weather", (location(), interval(-90, 60), interval(0, 2e6))) for _ in range(count)]


def some_points(count: int) -> list[Point]:
    chance = random.Random(8)
    return [
        (f"town{chance.randrange(40)},{chance.choice(('NJ', 'NY'))}", chance.uniform(-90, 60), chance.uniform(0, 2e6))
        for _ in range(count)
    ]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", 4)
    monkeypatch.setattr(module, "LARGE", 9)
    monkeypatch.setattr(module, "BLOCK", 9 * 64)


def mapped(index: BoxIndex, folder: Path) -> BoxIndex:
    header, arrays = index.arrays()
    for name, each in arrays.items():
        np.save(folder / name, each)
    kept = {name: np.load(folder / f"{name}.npy", mmap_mode="c") for name in arrays}
    return BoxIndex.from_arrays(msgspec.msgpack.decode(msgspec.msgpack.encode(header), type=BoxHeader), kept)


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.usefixtures("small_blocks")
def test_blocks_grow_and_fill_and_places_are_used_again(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "_FEW", few)
    index, standing = BoxIndex(WEATHER), dict(enumerate(many(2000)))
    for atom, box in standing.items():
        index.add(atom, box)
    for atom in range(0, 2000, 3):
        index.remove(atom, standing.pop(atom))
    before = sum(each.nbytes for each in index.arrays()[1].values())
    for atom, box in zip(range(2000, 2600), many(600, seed=9), strict=True):
        index.add(atom, box)
        standing[atom] = box
    for point in some_points(50):
        assert sorted(index.match(point).tolist()) == matched(standing, point)
    assert len(index) == len(standing)
    assert (
        sum(each.nbytes for each in index.arrays()[1].values()) <= before * 1.02
    )  # whole spaces are beside the blocks


@pytest.mark.usefixtures("small_blocks")
def test_a_snapshot_is_the_same_for_the_same_boxes_and_matches_where_it_lies(tmp_path: Path) -> None:
    first, second = BoxIndex(WEATHER), BoxIndex(WEATHER)
    standing = dict(enumerate(many(1500)))
    for atom, box in standing.items():
        first.add(atom, box)
        second.add(atom, box)
    (header, arrays), (other, others) = first.arrays(), second.arrays()
    assert msgspec.msgpack.encode(header) == msgspec.msgpack.encode(other)
    assert {name: each.tobytes() for name, each in arrays.items()} == {k: v.tobytes() for k, v in others.items()}
    assert len(header.tops) == 3
    loaded = mapped(first, tmp_path)
    assert len(loaded) == len(first)
    for point in some_points(50):
        assert loaded.match(point).tolist() == first.match(point).tolist()
        assert sorted(loaded.match(point).tolist()) == matched(standing, point)


TEXTS = ("a", "b", "ab")
KINDS: dict[str, tuple[Dimension, ...]] = {
    "no number": (Dimension("s", "string"), Dimension("e", "enumeration", values=TEXTS)),
    "strings": (Dimension("s", "string"), Dimension("t", "string")),
    "one number": (Dimension("free", "number"),),
    "6 numbers": tuple(Dimension(f"n{at}", "number", 0.0, 5.0) for at in range(6)),
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.usefixtures("small_blocks")
def test_spaces_of_every_kind_of_dimension(kind: str, tmp_path: Path) -> None:
    chance, space = random.Random(5), InformationSpace("s", KINDS[kind])
    index = BoxIndex(space)
    standing = {atom: InBox("s", tuple(_side(each, chance) for each in KINDS[kind])) for atom in range(900)}
    for atom, box in standing.items():
        index.add(atom, box)
    for atom in chance.sample(range(900), 300):
        index.remove(atom, standing.pop(atom))
    kept = mapped(index, tmp_path)
    for _ in range(30):
        point: Point = tuple(
            chance.uniform(0.0, 5.0) if each.kind == "number" else chance.choice(TEXTS) for each in KINDS[kind]
        )
        assert sorted(index.match(point).tolist()) == matched(standing, point)
        assert kept.match(point).tolist() == index.match(point).tolist()


def _side(dimension: Dimension, chance: random.Random) -> Side:
    if dimension.kind != "number":
        sides: list[Side] = [WHOLE, OneOf((chance.choice(TEXTS),)), OneOf(("a", "ab"))]
        return chance.choice([*sides, Like("a")] if dimension.kind == "string" else sides)
    low = chance.uniform(-2.5, 5.0)
    intervals: list[Side] = [Interval(low, low + 2.5), Interval(low), Interval(high=low, high_open=True)]
    return chance.choice([WHOLE, *intervals])


def test_more_boxes_than_a_block_has_room_for() -> None:
    count = module.BLOCK + 3000
    space = InformationSpace("s", (Dimension("x", "number", 0.0, float(count)), Dimension("y", "number", 0.0, 1.0)))
    index, half = BoxIndex(space), Interval(0.0, 0.5)
    for atom in range(count):
        index.add(atom, InBox("s", (Interval(atom - 1.0, atom + 1.0), half)))
    for at in (1, 65, 8191, 8192, 32_768, 100_000, module.BLOCK - 1, module.BLOCK, count - 2):
        assert index.match((float(at), 0.25)).tolist() == [at - 1, at, at + 1]
        assert not index.match((float(at), 0.75)).size
    index.remove(module.BLOCK, InBox("s", (Interval(module.BLOCK - 1.0, module.BLOCK + 1.0), half)))
    assert index.match((float(module.BLOCK), 0.5)).tolist() == [module.BLOCK - 1, module.BLOCK + 1]
    assert len(index.arrays()[0].tops) == 2


def test_a_point_with_a_number_that_is_none_is_in_no_interval() -> None:
    index = BoxIndex(InformationSpace("s", (Dimension("x", "number"), Dimension("y", "number"))))
    index.add(1, InBox("s", (Interval(0.0), WHOLE)))
    index.add(2, InBox("s", (Interval(high=0.0), WHOLE)))
    assert not index.match((nan, 0.0)).size


def test_when_all_are_gone_nothing_is_kept() -> None:
    index, standing = BoxIndex(WEATHER), dict(enumerate(many(300)))
    for atom, box in standing.items():
        index.add(atom, box)
    for atom, box in standing.items():
        index.remove(atom, box)
    header, arrays = index.arrays()
    assert len(index) == 0
    assert list(arrays) == ["everywhere"]
    assert not arrays["everywhere"].size
    assert [rule for rule in header.rules[0] if rule is not None] == [WHOLE]
    assert not index.match(("town1,NJ", 0.0, 0.0)).size


def test_what_is_not_there_is_not_removed() -> None:
    index = BoxIndex(WEATHER)
    box = InBox("weather", (OneOf(("a",)), WHOLE, WHOLE))
    index.add(1, box)
    index.remove(2, box)
    index.remove(1, InBox("weather", (OneOf(("b",)), WHOLE, WHOLE)))
    index.remove(1, InBox("weather", (OneOf(("a",)), Interval(1.0), WHOLE)))
    index.remove(1, InBox("weather", (WHOLE, WHOLE, WHOLE)))
    assert index.match(("a", 0.0, 0.0)).tolist() == [1]


def test_a_box_that_no_point_is_in_matches_none() -> None:
    index = BoxIndex(WEATHER)
    index.add(1, InBox("weather", (WHOLE, Interval(5.0, 1.0), WHOLE)))
    index.add(2, InBox("weather", (Interval(1.0), WHOLE, WHOLE)))
    index.add(3, InBox("weather", (WHOLE, OneOf(("a",)), WHOLE)))
    index.add(4, InBox("weather", (WHOLE, WHOLE, Like("a"))))
    assert not index.match(("a", 2.0, 3.0)).size


def test_ranges_at_the_edge_of_floating_point() -> None:
    wide = InformationSpace("s", (Dimension("x", "number", -1.7e308, 1.7e308), Dimension("y", "number", 0.0, 5e-324)))
    index = BoxIndex(wide)
    index.add(1, InBox("s", (Interval(low=1e308), WHOLE)))
    index.add(2, InBox("s", (Interval(high=0.0), Interval(5e-324, 5e-324))))
    assert index.match((1.7e308, 0.0)).tolist() == [1]
    assert index.match((-1.7e308, 5e-324)).tolist() == [2]
