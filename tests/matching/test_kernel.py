import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.matching.index.axes import CELLS
from tocsin.matching.index.kernel import _lowest, places_inside


def test_the_lowest_bit_of_a_word() -> None:
    assert [_lowest(np.uint64(1 << bit)) for bit in range(64)] == list(range(64))
    assert [_lowest(np.uint64(((1 << 64) - 1) >> bit << bit)) for bit in range(64)] == list(range(64))


@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=examples(100))
def test_as_one_by_one(dimensions: int, words: int, numbers: int, seed: int) -> None:
    chance, boxes = np.random.default_rng(seed), words * 64
    top = int(chance.integers(0, boxes, endpoint=True))
    is_set = chance.random((dimensions, CELLS, boxes)) < chance.choice([0.02, 0.5, 1.0])
    is_set &= np.arange(boxes) < top
    bits = np.packbits(is_set, axis=-1, bitorder="little").view(np.uint64)
    bounds = chance.integers(0, 4, (boxes, 2 * numbers)).astype(np.float64)
    cells, point = chance.integers(0, CELLS, dimensions), chance.integers(0, 4, numbers).astype(np.float64)
    found = np.empty(boxes, np.intp)
    count = places_inside(bits, bounds, top, np.concatenate((cells, point)), found)
    reached = is_set[range(dimensions), cells].all(0)
    inside = ((bounds[:, :numbers] <= point) & (point <= bounds[:, numbers:])).all(1)
    assert found[:count].tolist() == (reached & inside).nonzero()[0].tolist()
