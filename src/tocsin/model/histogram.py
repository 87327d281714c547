"""Histograms of replies (paper 001 s2.2): merged in any order and grouping they are the same.

Free text has no bound on how many values there are, and memory has: a histogram that is cut keeps its largest values,
and the sum of the rest; `slack` is the most that a value which is not kept may have. So of every value it is known
between which numbers its count lies: `counts[value]` and that plus `short[value]`. What was never cut is exact.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

MOST_VALUES = 1000  # that are kept, and passed on


class Histogram(Struct, array_like=True):
    counts: dict[str, int] = field(default_factory=dict)
    rest: int = 0  # replies with values that are not kept
    slack: int = 0
    short: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.counts.values()) + self.rest

    @property
    def exact(self) -> bool:
        return not self.slack

    def add(self, value: str) -> None:
        """In place. One that was not kept may have been there before."""
        if value in self.counts:
            self.counts[value] += 1
        else:
            self.counts[value] = 1
            if self.slack:
                self.short[value] = self.slack

    def take(self, other: "Histogram") -> None:
        """In place, what `merged` gives of both."""
        if self.slack or other.slack:
            both = merged([self, other])
            self.counts, self.rest, self.slack, self.short = both.counts, both.rest, both.slack, both.short
            return
        counts = self.counts
        for value, count in other.counts.items():
            counts[value] = counts.get(value, 0) + count
        self.rest += other.rest

    def cut(self, most: int = MOST_VALUES) -> "Histogram":
        """The largest of it; of equal ones those that come first by their name, so that the same is kept everywhere."""
        if len(self.counts) <= most:
            return self
        ranked = sorted(self.counts.items(), key=lambda each: (-each[1], each[0]))
        kept, dropped = dict(ranked[:most]), ranked[most:]
        largest = max(count + self.short.get(value, 0) for value, count in dropped)
        short = {value: short for value, short in self.short.items() if value in kept}
        return Histogram(kept, self.rest + sum(count for _, count in dropped), max(self.slack, largest), short)

    def most_of(self, value: str) -> int:
        """What its count may be at most."""
        return self.counts[value] + self.short.get(value, 0) if value in self.counts else self.slack

    def ranked(self) -> list[tuple[str, int]]:
        return sorted(self.counts.items(), key=lambda each: (-each[1], each[0]))


def merged(histograms: Iterable[Histogram]) -> Histogram:
    """The sum of them. A value that one of them does not keep may be there for its slack."""
    parts = [each for each in histograms if each.counts or each.rest]
    if len(parts) == 1:
        only = parts[0]
        return Histogram(dict(only.counts), only.rest, only.slack, dict(only.short))
    counts: dict[str, int] = {}
    for part in parts:
        for value, count in part.counts.items():
            counts[value] = counts.get(value, 0) + count
    slack = sum(part.slack for part in parts)
    short = _short(counts, parts) if slack else {}
    return Histogram(counts, sum(part.rest for part in parts), slack, short)


def _short(counts: Mapping[str, int], parts: list[Histogram]) -> dict[str, int]:
    found = {value: sum(part.most_of(value) for part in parts) - count for value, count in counts.items()}
    return {value: short for value, short in found.items() if short}
