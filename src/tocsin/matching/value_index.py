"""All comparisons with what stands at one path: equal ones by a look-up, ordered ones by the limit of their side."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain
from math import inf, isnan, nextafter

from tocsin.markup.conditions import Attribute, Compare, Constant, Exists, JsonPath, Path
from tocsin.matching.conditions import integer, number
from tocsin.matching.holding import Holding

Held = tuple[tuple[int, ...], tuple[tuple[int, float], ...]]  # atoms, and limits of sides
_SIDES = ((0, 1.0), (1, -1.0))
_BOOLEANS = {"true": (True,), "false": (False,)}


def is_ordered(asked: object) -> bool:
    return isinstance(asked, Compare) and asked.how not in ("=", "!=")


def bound_of(asked: Compare) -> float:
    """What the limit of its side must reach. More than a number is at least the next one; upper bounds are negated."""
    value = asked.value
    assert isinstance(value, float)
    match asked.how:
        case ">=":
            return value
        case ">":
            return nextafter(value, inf)
        case "<=":
            return -value
    return -nextafter(value, -inf)


class ValueIndex:
    """Knows atoms by number. Its two sides are the highest value at the path, and the lowest."""

    __slots__ = (
        "_differs",
        "_equal",
        "_exists",
        "_is_attribute",
        "_is_json",
        "_numbers",
        "_ordered",
        "path",
        "side",
        "terms",
    )

    def __init__(self, path: Path, side: int) -> None:
        self.path, self.side = path, side
        self._is_json, self._is_attribute = isinstance(path, JsonPath), isinstance(path, Attribute)
        self._equal: dict[Hashable, int] = {}
        self._differs: dict[Hashable, int] = {}
        self._exists = -1
        self._ordered = 0  # how many atoms ask for a limit
        self._numbers = 0  # how many compare numbers

    def __len__(self) -> int:
        return len(self._equal) + len(self._differs) + self._ordered + (self._exists >= 0)

    def side_of(self, asked: Compare) -> int:
        return self.side if asked.how in (">", ">=") else self.side + 1

    def add(self, atom: int, asked: Compare | Exists) -> None:
        if isinstance(asked, Exists):
            self._exists = atom
            return
        self._numbers += isinstance(asked.value, float)
        match asked.how:
            case "=":
                self._equal[key_of(asked.value)] = atom
            case "!=":
                self._differs[key_of(asked.value)] = atom

    def remove(self, asked: Compare | Exists) -> None:
        if isinstance(asked, Exists):
            self._exists = -1
            return
        self._numbers -= isinstance(asked.value, float)
        match asked.how:
            case "=":
                del self._equal[key_of(asked.value)]
            case "!=":
                del self._differs[key_of(asked.value)]

    def hold(self) -> None:
        """One bound more."""
        self._ordered += 1
        self._numbers += 1

    def release(self) -> None:
        """One bound less."""
        self._ordered -= 1
        self._numbers -= 1

    def number(self, asked: Compare | Exists) -> int | None:
        """Of an atom that is there; an ordered one has none here."""
        if isinstance(asked, Exists):
            return self._exists if self._exists >= 0 else None
        match asked.how:
            case "=":
                return self._equal.get(key_of(asked.value))
            case "!=":
                return self._differs.get(key_of(asked.value))
        return None

    def match(self, values: Sequence[Constant], holding: Holding) -> None:
        for each in values:
            atoms, limits = self.of_value(each)
            holding.atoms += atoms
            for side, limit in limits:
                holding.reach(side, limit)
        if self._differs and values:
            holding.atoms += self.different(values)

    def of_value(self, value: Constant) -> Held:
        """What one value makes hold, whatever others stand there; only that some value differs is not told."""
        numbers = list(self._as_numbers(value)) if self._numbers else []
        atoms = [self._exists] if self._exists >= 0 else []
        if self._equal:
            find = self._equal.get
            atoms += (atom for key in (*self._keys(value), *numbers) if (atom := find(key)) is not None)
        limits = [(self.side + at, sign * each) for each in numbers for at, sign in _SIDES] if self._ordered else []
        return tuple(atoms), tuple(limits)

    def constants(self) -> int:
        return len(self._equal)

    def differs(self) -> bool:
        return bool(self._differs)

    def different(self, values: Iterable[Constant]) -> Iterator[int]:
        """Some value is another one: all hold as soon as there are two.

        What is not a number differs from every number (XPath 1.0 s3.4, IEEE 754).
        """
        values = list(values)
        texts = set(map(key_of, values))
        numbers = {inf if isnan(each) else each for each in map(number, values)} if self._numbers else set()
        for key, atom in self._differs.items():
            offered = numbers if isinstance(key, float) else texts
            if len(offered) > 1 or key not in offered:
                yield atom

    def _keys(self, value: Constant) -> Iterator[Hashable]:
        """XML and attributes are strings; an attribute may also be meant as a boolean (CloudEvents SQL s3.4)."""
        yield key_of(value)
        if self._is_attribute and isinstance(value, str) and (key := _BOOLEANS.get(value.lower())) is not None:
            yield key

    def _as_numbers(self, value: Constant) -> Iterator[float]:
        """At most one, and never NaN."""
        if self._is_json:
            found = value if isinstance(value, float) else None
        else:
            found = integer(value) if self._is_attribute else number(value)
        if found is not None and found == found:
            yield found


class Group:
    """The indexes of paths that have their values together, and what is known of values seen before."""

    __slots__ = ("_indexes", "differing", "known")

    def __init__(self, indexes: Sequence[ValueIndex]) -> None:
        self._indexes = indexes
        self.differing = [each for each in indexes if each.differs()]
        self.known: dict[str, Held] = {}

    def of_value(self, value: str) -> Held:
        atoms, limits = zip(*(each.of_value(value) for each in self._indexes), strict=True)
        return tuple(chain.from_iterable(atoms)), tuple(chain.from_iterable(limits))


def key_of(value: Constant) -> Hashable:
    """One key for one constant: to a dictionary `True` is `1.0`."""
    return (value,) if isinstance(value, bool) or value is None else value
