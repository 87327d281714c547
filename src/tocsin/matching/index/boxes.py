"""The box index of one information space: one row of bits a dimension, then verification.

A row has one bit for each box: whether it reaches into one of 256 cells of one dimension. Boxes are kept in blocks, and
only a small block is copied when it grows: the rows of a large one are as long as they can become, in memory that is
given when it is first touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from math import inf, nextafter, prod
from mmap import ACCESS_COPY, mmap
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.matching.index.axes import CELLS, Axis, Cells, Hours, Numbers, Strings, Verdicts, axis_of, ends
from tocsin.matching.index.overlaps import Overlaps, places_meeting
from tocsin.model.areas import Area
from tocsin.model.filters import InBox
from tocsin.model.space import WHOLE, Coordinate, Dimension, InformationSpace, Interval, Like, OneOf, Point, Side

Atoms = NDArray[np.int32]
Words = NDArray[np.uint64]
Kernel = Callable[[Words, NDArray[np.float64], int, NDArray[np.float64], NDArray[np.intp]], int]

SMALL = 128  # words of a row in a block that still grows
LARGE = 2040
BLOCK = LARGE * 64  # boxes
NOBODY = -1

_NAMES = ("bits", "bounds", "rules", "atoms")
_NONE: Atoms = np.empty(0, np.int32)
_SET = [np.uint64(1 << bit) for bit in range(64)]
_CLEAR = [~each for each in _SET]


class BoxHeader(Struct, frozen=True):
    """What is not in the arrays: the rules of strings, and how many places each block has used."""

    space: InformationSpace
    rules: tuple[tuple[Side | None, ...], ...]
    tops: tuple[int, ...]
    size: int


class BoxIndex:
    """The boxes of one space, by atom; each atom has one box and is added once."""

    def __init__(self, space: InformationSpace) -> None:
        self.space = space
        self._axes: list[Axis] = [axis_of(each) for each in space.dimensions]
        self._blocks: list[_Block] = []
        self._everywhere = _Everywhere()
        self._size = 0
        self._kernel = _kernel()
        self._prepare()

    def add(self, atom: int, box: InBox) -> None:
        if _is_all(box):
            self._everywhere.add(atom)
            return
        sides = box.sides
        cells = [axis.cells(side) for axis, side in zip(self._axes, sides, strict=True)]
        rules = [axis.take(sides[at]) for at, axis in self._strings]
        self._with_room().add(atom, cells, self._ends(sides), rules)
        self._size += 1

    def remove(self, atom: int, box: InBox) -> None:
        """Nothing happens when that box is not there."""
        if _is_all(box):
            self._everywhere.remove(atom)
            return
        rules = [axis.number(box.sides[at]) for at, axis in self._strings]
        if not any(each.remove(atom, self._ends(box.sides), rules) for each in self._blocks):
            return
        for at, axis in self._strings:
            axis.give_back(box.sides[at])
        self._size -= 1
        if not self._size:
            self._blocks.clear()

    def match(self, point: Point) -> Atoms:
        """Those whose box the point is in."""
        cells: list[Any] = [cell(each) for cell, each in zip(self._cell_of, point, strict=True)]
        asked: NDArray[np.float64] = np.array(cells + [point[at] for at in self._numbers], np.float64)
        values = [axis.about(str(point[at])) for at, axis in self._strings]
        found = [block.match(self._kernel, asked, values) for block in self._blocks]
        if len(found) == 1 and not len(self._everywhere.atoms):
            return found[0]
        return np.concatenate([self._everywhere.atoms, *found])

    def about(self, areas: Sequence[Area]) -> Atoms:
        """Those whose box any of them has a point in, each once."""
        found = [self._meeting(each) if isinstance(each, InBox) else self.match(each) for each in areas]
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found))

    def _meeting(self, box: InBox) -> Atoms:
        cells = [axis.cells(side) for axis, side in zip(self._axes, box.sides, strict=True)]
        numbers, values = self._ends(box.sides), [Overlaps(axis, box.sides[at]) for at, axis in self._strings]
        found = [block.meeting(cells, numbers, values) for block in self._blocks]
        return np.concatenate([self._everywhere.atoms, *found])

    def __len__(self) -> int:
        return self._size + len(self._everywhere.atoms)

    def arrays(self) -> tuple[BoxHeader, dict[str, NDArray[Any]]]:
        """All that a match reads, to be written as it is."""
        rules = tuple(tuple(axis.rules) for _, axis in self._strings)
        header = BoxHeader(self.space, rules, tuple(block.top for block in self._blocks), self._size)
        blocks = {name: each for n, block in enumerate(self._blocks) for name, each in block.arrays(n).items()}
        return header, {"everywhere": self._everywhere.atoms, **blocks}

    @classmethod
    def from_arrays(cls, header: BoxHeader, arrays: Mapping[str, NDArray[Any]]) -> BoxIndex:
        """Matches in the arrays themselves, which may be mapped files. It is not for changes."""
        index = cls(header.space)
        rules = iter(header.rules)
        index._axes = [Strings(next(rules)) if isinstance(each, Strings) else each for each in index._axes]
        index._blocks = [_Block.of(top, arrays, n) for n, top in enumerate(header.tops)]
        index._everywhere = _Everywhere(arrays["everywhere"])
        index._size = header.size
        index._prepare()
        return index

    def _prepare(self) -> None:
        self._strings = [(at, axis) for at, axis in enumerate(self._axes) if isinstance(axis, Strings)]
        self._numbers = [at for at, axis in enumerate(self._axes) if isinstance(axis, Numbers | Hours)]
        self._cell_of: list[Callable[[Any], int]] = [axis.cell for axis in self._axes]

    def _ends(self, sides: Sequence[Side]) -> list[float]:
        """The lower ones of all numbers, then the upper ones."""
        pairs = [ends(sides[at]) for at in self._numbers]
        return [*(low for low, _ in pairs), *(high for _, high in pairs)]

    def _with_room(self) -> _Block:
        for block in self._blocks:
            if block.has_room():
                return block
        self._blocks.append(_Block.empty(len(self._axes), len(self._numbers), len(self._strings)))
        return self._blocks[-1]


class _Everywhere:
    """The atoms whose box is the whole space: every point is in it, and it needs no bits."""

    def __init__(self, atoms: Atoms = _NONE) -> None:
        self.atoms = atoms
        self._room = atoms

    def add(self, atom: int) -> None:
        used = len(self.atoms)
        if used == len(self._room):
            self._room = np.concatenate((self._room, np.zeros(used + 64, np.int32)))
        self._room[used] = atom
        self.atoms = self._room[: used + 1]

    def remove(self, atom: int) -> None:
        for place in (self.atoms == atom).nonzero()[0].tolist():
            self.atoms[place] = self.atoms[-1]
            self.atoms = self.atoms[:-1]
            return


class _Block:
    """`bits` by dimension, cell and word; the rest by place, which is the box's bit of a row."""

    def __init__(
        self, bits: Words, bounds: NDArray[np.float64], rules: NDArray[np.int32], atoms: Atoms, top: int
    ) -> None:
        self.bits, self.bounds, self.rules, self.atoms = bits, bounds, rules, atoms
        self.top = top
        self._free: list[int] = []
        self._found = np.empty(len(atoms), np.intp)

    @classmethod
    def empty(cls, dimensions: int, numbers: int, strings: int, words: int = 1) -> _Block:
        bounds, rules = np.zeros((words * 64, 2 * numbers)), np.zeros((words * 64, strings), np.int32)
        return cls(_untouched(dimensions, CELLS, words), bounds, rules, np.zeros(words * 64, np.int32), 0)

    @classmethod
    def of(cls, top: int, arrays: Mapping[str, NDArray[Any]], n: int) -> _Block:
        bits, bounds, rules, atoms = (np.asarray(arrays[f"{name}{n}"]) for name in _NAMES)
        return cls(bits, bounds, rules, atoms, top)

    def arrays(self, n: int) -> dict[str, NDArray[Any]]:
        used, words = self.top, -(-self.top // 64)
        bits = np.ascontiguousarray(self.bits[:, :, :words])
        parts: tuple[NDArray[Any], ...] = (bits, self.bounds[:used], self.rules[:used], self.atoms[:used])
        return {f"{name}{n}": each for name, each in zip(_NAMES, parts, strict=True)}

    def has_room(self) -> bool:
        return bool(self._free) or self.top < BLOCK

    def add(self, atom: int, cells: Sequence[Cells], bounds: Sequence[float], rules: Sequence[int]) -> None:
        if not self._free and self.top == len(self.atoms):
            self._grow()
        place = self._free.pop() if self._free else self.top
        self.top = max(self.top, place + 1)
        self.atoms[place], self.bounds[place], self.rules[place] = atom, bounds, rules
        word, bit = place >> 6, _SET[place & 63]
        for rows, each in zip(self.bits, cells, strict=True):
            rows[each, word] |= bit

    def remove(self, atom: int, bounds: Sequence[float], rules: Sequence[int | None]) -> bool:
        for place in (self.atoms[: self.top] == atom).nonzero()[0].tolist():
            if self.bounds[place].tolist() == bounds and self.rules[place].tolist() == rules:
                self.bits[:, :, place >> 6] &= _CLEAR[place & 63]
                self.atoms[place], self.bounds[place], self.rules[place] = NOBODY, 0.0, 0
                self._free.append(place)
                return True
        return False

    def match(self, kernel: Kernel, asked: NDArray[np.float64], values: list[Verdicts]) -> Atoms:
        count = kernel(self.bits, self.bounds, self.top, asked, self._found)
        places = self._found[:count]
        for at, verdicts in enumerate(values):
            places = places.compress(verdicts.of(self.rules.take(places, 0)[:, at]))
        return self.atoms.take(places)

    def meeting(self, cells: Sequence[Cells], numbers: Sequence[float], values: list[Overlaps]) -> Atoms:
        places = places_meeting(self.bits, self.bounds, self.top, cells, numbers)
        for at, verdicts in enumerate(values):
            places = places.compress(verdicts.of(self.rules.take(places, 0)[:, at]))
        return self.atoms.take(places)

    def _grow(self) -> None:
        words = self.bits.shape[2]
        longer = 2 * words if words < SMALL else LARGE
        more = _Block.empty(len(self.bits), self.bounds.shape[1] // 2, self.rules.shape[1], longer)
        more.bits[:, :, :words] = self.bits
        more.bounds[: self.top], more.rules[: self.top], more.atoms[: self.top] = self.bounds, self.rules, self.atoms
        self.bits, self.bounds, self.rules, self.atoms, self._found = more._parts()

    def _parts(self) -> tuple[Words, NDArray[np.float64], NDArray[np.int32], Atoms, NDArray[np.intp]]:
        return self.bits, self.bounds, self.rules, self.atoms, self._found


def _untouched(*shape: int) -> Words:
    """Zeros. For as many, numpy would ask for huge pages, and the first that are touched stop us for milliseconds."""
    return np.frombuffer(mmap(-1, 8 * prod(shape), access=ACCESS_COPY), "<u8").reshape(shape)


def _kernel() -> Kernel:
    from tocsin.matching.index.kernel import places_inside  # here, for a process without boxes does not load numba

    return places_inside


def _is_all(box: InBox) -> bool:
    return all(side == WHOLE for side in box.sides)


BUDGET = 20_000  # coordinates and combinations tried; boxes that need more are taken as not covered
_SOME = 200  # of so many combinations the needless ones are looked for
_NUMBER, _STRING = Dimension("", "number"), Dimension("", "string")


def boxes_cover(wide: Sequence[InBox], narrow: InBox, space: InformationSpace | None = None) -> bool:
    """True only if every point that is in `narrow` is in one of `wide`; all of one space.

    Complete for one and one, and for more within the budget, if the space is given. Without it coordinates are taken
    to be any strings, or any numbers where a side is of numbers: no more is covered than there is.
    """
    # none when boxes are of a space declared otherwise
    boxes = [*wide, narrow]
    if space is None:
        columns = zip(*(box.sides for box in boxes), strict=False)
        guessed = tuple(_NUMBER if any(type(side) is Interval for side in sides) else _STRING for sides in columns)
    else:
        guessed = space.dimensions
    dimensions = guessed if all(_is_of(box, guessed) for box in boxes) else None
    if dimensions is None:
        return False
    if any(all(map(_side_covers, one.sides, narrow.sides, dimensions)) for one in wide):
        return True
    return len(wide) > 1 and _Trial(BUDGET).cover(wide, narrow, dimensions)


def _is_of(box: InBox, dimensions: tuple[Dimension, ...]) -> bool:
    if len(box.sides) != len(dimensions):
        return False
    pairs = zip(box.sides, dimensions, strict=True)
    return all(side == WHOLE or (type(side) is Interval) == (each.kind in ("number", "time")) for side, each in pairs)


def _side_covers(wide: Side, narrow: Side, dimension: Dimension) -> bool:
    if wide in (WHOLE, narrow):
        return True
    match dimension.kind, wide, narrow:
        case "enumeration", _, _:
            return all(value in wide for value in dimension.values if value in narrow)
        case "string", _, OneOf(values):
            return all(value in wide for value in values)
        case "string", Like(), Like(prefix, suffix):
            return prefix.startswith(wide.prefix) and suffix.endswith(wide.suffix)
        case "string", _, _:
            return False
    (low, high), (first, last) = ends(wide), ends(narrow)
    return low <= max(first, dimension.ends[0]) and min(last, dimension.ends[1]) <= high


class _OverBudget(Exception):
    pass


class _Trial:
    """In each dimension one coordinate is tried of every class that no side tells apart."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def cover(self, wide: Sequence[InBox], narrow: InBox, dimensions: tuple[Dimension, ...]) -> bool:
        """`reached` are the sets of wide boxes, as bits, that a point may still be in after some of the dimensions."""
        try:
            classes = [self._classes(wide, narrow, at, each) for at, each in enumerate(dimensions)]
            reached = {(1 << len(wide)) - 1} if all(classes) else set()  # else a side is empty, and with it the box
            for each in sorted(classes, key=len):
                self._spend(len(each) * len(reached))
                reached = _least(boxes & more for boxes, more in product(reached, each))
            return 0 not in reached
        except _OverBudget:
            return False

    def _classes(self, wide: Sequence[InBox], narrow: InBox, at: int, dimension: Dimension) -> set[int]:
        """For each class inside the narrow side, which wide boxes have it."""
        wides = [box.sides[at] for box in wide]
        tried = self._tried(dimension, {*wides, narrow.sides[at]})
        self._spend(len(tried) * len(wides))
        return _least(_having(each, wides) for each in tried if each in narrow.sides[at])

    def _tried(self, dimension: Dimension, sides: set[Side]) -> set[Coordinate]:
        match dimension.kind:
            case "enumeration":
                return set(dimension.values)
            case "string":
                likes = [(each.prefix, each.suffix) for each in sides if isinstance(each, Like)]
                prefixes, suffixes = {prefix for prefix, _ in likes} | {""}, {suffix for _, suffix in likes} | {""}
                self._spend(sum(1 + min(map(len, pair)) for pair in product(prefixes, suffixes)))
                members = {value for side in sides if isinstance(side, OneOf) for value in side.values}
                return {*members, *_strings(prefixes, suffixes, members)}
        low, high = dimension.ends
        edges = {each for side in sides for first, last in (ends(side),) for each in (first, nextafter(last, inf))}
        return {low, *(each for each in edges if low < each <= high)}

    def _spend(self, amount: int) -> None:
        self._budget -= amount
        if self._budget < 0:
            raise _OverBudget


def _strings(prefixes: set[str], suffixes: set[str], members: set[str]) -> Iterator[str]:
    """With each beginning and each end: one that says no more, and those in which the two touch or overlap."""
    mentioned = set("".join((*prefixes, *suffixes, *members)))
    other = next(character for character in map(chr, count(32)) if character not in mentioned)
    for prefix, suffix in product(prefixes, suffixes):
        yield prefix + other + suffix
        for shared in range(1 + min(len(prefix), len(suffix))):
            if prefix.endswith(suffix[:shared]) and (prefix or suffix):
                yield prefix + suffix[shared:]


def _having(coordinate: Coordinate, sides: Iterable[Side]) -> int:
    return sum((coordinate in side) << at for at, side in enumerate(sides))


def _least(sets: Iterable[int]) -> set[int]:
    """Without those that include another: if that one is covered, so are they."""
    found = set(sets)
    if len(found) > _SOME:
        return found
    return {one for one in found if not any(other != one and other & one == other for other in found)}
