"""Ranges of cells by chance, and which cells are in a box of them."""

from hypothesis import strategies as st

from tocsin.routing.ring.descent import Sides
from tocsin.routing.ring.ranges import Ranges, meet, merged

Cell = tuple[int, ...]


def ranges(last: int, most: int = 3) -> st.SearchStrategy[Ranges]:
    ends = st.tuples(st.integers(0, last), st.integers(0, last)).map(lambda pair: (min(pair), max(pair)))
    return st.lists(ends, min_size=1, max_size=most).map(merged)


def is_inside(cell: Cell, sides: Sides) -> bool:
    return all(meet(side, each, each) for each, side in zip(cell, sides, strict=True))
