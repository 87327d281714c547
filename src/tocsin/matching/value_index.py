"""All comparisons with what stands at one path: equal ones by a look-up, ordered ones by the limit of their side."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from math import inf, isnan, nextafter

from tocsin.markup.conditions import Attribute, Compare, Constant, Exists, JsonPath, Path
from tocsin.matching.conditions import integer, number
from tocsin.matching.holding import Holding
from tocsin.matching.ordered import Ordered

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
        self.terms: dict[int, Ordered] = {}  # by side, those found by their bound
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
            case _:
                self._ordered += 1

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
            case _:
                self._ordered -= 1

    def map(self, above: Ordered, below: Ordered) -> None:
        """Terms of a snapshot, whose ordered atoms are nowhere else."""
        self.terms = {self.side: above, self.side + 1: below}
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
        """Most paths have one value; that is worth a way of its own."""
        if not values:
            return
        if self._exists >= 0:
            holding.atoms.append(self._exists)
        if len(values) == 1 and not self._is_attribute:
            self._match_one(values[0], holding)
        else:
            self._match_all(values, holding)
        if self._differs:
            holding.atoms += self._different(values)

    def _match_one(self, value: Constant, holding: Holding) -> None:
        find = self._equal.get
        atom = find(value if type(value) is str else key_of(value))
        if atom is not None:
            holding.atoms.append(atom)
        if not self._numbers:
            return
        if self._is_json:
            if isinstance(value, float) and self._ordered and value == value:
                self._limit(value, -value, holding)
            return
        converted = number(value)
        if converted == converted:
            if (atom := find(converted)) is not None:
                holding.atoms.append(atom)
            if self._ordered:
                self._limit(converted, -converted, holding)

    def _match_all(self, values: Sequence[Constant], holding: Holding) -> None:
        numbers = [each for each in self._as_numbers(values) if each == each] if self._numbers else []
        if self._equal:
            find = self._equal.get
            keys = {*self._keys(values), *numbers}
            holding.atoms += (atom for key in keys if (atom := find(key)) is not None)
        if self._ordered and numbers:
            self._limit(max(numbers), -min(numbers), holding)

    def _limit(self, highest: float, lowest: float, holding: Holding) -> None:
        holding.sides += (self.side, self.side + 1)
        holding.found += (highest, lowest)
        if self.terms:
            for side, limit in ((self.side, highest), (self.side + 1, lowest)):
                if (terms := self.terms.get(side)) is not None and len(terms):
                    holding.terms.append(terms.up_to(limit))

    def _different(self, values: Sequence[Constant]) -> Iterator[int]:
        """Some value is another one: all hold as soon as there are two.

        What is not a number differs from every number (XPath 1.0 s3.4, IEEE 754).
        """
        texts = set(map(key_of, values))
        numbers = {inf if isnan(each) else each for each in map(number, values)} if self._numbers else set()
        for key, atom in self._differs.items():
            offered = numbers if isinstance(key, float) else texts
            if len(offered) > 1 or key not in offered:
                yield atom

    def _keys(self, values: Iterable[Constant]) -> Iterator[Hashable]:
        """XML and attributes are strings; an attribute may also be meant as a boolean (CloudEvents SQL s3.4)."""
        for each in values:
            yield key_of(each)
            if self._is_attribute and isinstance(each, str) and (key := _BOOLEANS.get(each.lower())) is not None:
                yield key

    def _as_numbers(self, values: Iterable[Constant]) -> Iterator[float]:
        if self._is_json:
            return (each for each in values if isinstance(each, float))
        if self._is_attribute:
            return (found for each in values if (found := integer(each)) is not None)
        return map(number, values)


def key_of(value: Constant) -> Hashable:
    """One key for one constant: to a dictionary `True` is `1.0`."""
    return (value,) if isinstance(value, bool) or value is None else value
