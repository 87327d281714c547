"""Comparisons with what stands at paths into XML: all paths are followed in one walk of a document, or of its shape."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from operator import call, itemgetter, neg
from typing import TypeVar

import numpy as np

from tocsin.markup.conditions import XmlPath
from tocsin.markup.xpath_numbers import numbers
from tocsin.matching.evidence import Evidence
from tocsin.matching.index.holding import Holding
from tocsin.matching.index.value_index import ValueIndex
from tocsin.matching.index.xml_shapes import Shape, Shapes, positions
from tocsin.matching.index.xml_walk import Tested, Walk, items_of, satisfied
from tocsin.matching.xml_values import abridged

T = TypeVar("T")
Alone = list[tuple[ValueIndex, int]]
Others = list[tuple[ValueIndex, list[list[int]]]]


class Plan:
    """Where among the strings of a document of one shape the values of each path are.

    What is alone, the one string that is the one value of its path, is looked up all at once: first the atoms that it
    equals, as a word or as a number, then, if it is a number, the limits of its sides.
    """

    def __init__(self, alone: Alone, others: Others, tested: Tested) -> None:
        self.others, self.tested = others, tested
        self.exists = [index.exists for index, _ in alone if index.exists >= 0]
        words = [(index.equal.get, at) for index, at in alone if index.equal]
        self.words, self.word_strings = [find for find, _ in words], _picker([at for _, at in words])
        numeric = [(index, at) for index, at in alone if index.has_numbers()]
        places = {at: place for place, at in enumerate(dict.fromkeys(at for _, at in numeric))}
        self.numbers, self.number_strings = len(places), _picker(list(places))
        self.equal = [(index.equal.get, places[at]) for index, at in numeric if index.equal]
        bounded = [(index.sides, places[at]) for index, at in numeric if index.is_bounded()]
        self.sides = np.array([side for sides, _ in bounded for side in sides], np.int32)
        self.limits = _picker([at for _, place in bounded for at in (place, place + len(places))])

    def match(self, strings: list[str], holding: Holding) -> None:
        holding.hold(self.exists)
        holding.hold(filter(None, map(call, self.words, self.word_strings(strings))))
        if self.numbers:
            self._compare(numbers(self.number_strings(strings)), holding)
        for index, places in self.others:
            index.match([together(strings, each) for each in places], holding)

    def _compare(self, values: list[float], holding: Holding) -> None:
        if self.equal:
            holding.hold(atom for find, place in self.equal if (atom := find(values[place])) is not None)
        limits = self.limits([*values, *map(neg, values)])
        if not isnan(sum(values)):
            holding.sides, holding.limits = self.sides, limits
        else:
            pairs = zip(self.sides.tolist(), limits, strict=True)
            holding.reach({side: limit for side, limit in pairs if not isnan(limit)})


class XmlIndex:
    def __init__(self) -> None:
        self._walk, self._shapes = Walk(), Shapes()
        self._indexes: dict[XmlPath, ValueIndex] = {}
        self._plans: dict[Shape, Plan] = {}  # until a change

    def __len__(self) -> int:
        return len(self._indexes)

    def at(self, path: XmlPath) -> ValueIndex | None:
        return self._indexes.get(path)

    def add(self, path: XmlPath, index: ValueIndex) -> None:
        self._indexes[path] = index
        self._walk.add(path)

    def remove(self, path: XmlPath) -> None:
        del self._indexes[path]
        self._walk.remove(path)

    def indexes(self) -> Iterable[ValueIndex]:
        return self._indexes.values()

    def forget(self) -> None:
        """An index has changed."""
        self._plans = {}

    def match(self, evidence: Evidence, holding: Holding) -> None:
        found = self._shapes.read(evidence.notification.payload.data)
        if found is not None:
            shape, strings = found
            plan = self._plans.get(shape) or self._planned(shape)
            plan.match(strings, holding)
            self._test(plan.tested, strings, holding)
        elif (document := evidence.document) is not None:
            for paths, values in self._walk.grouped(document).items():
                for path in paths:
                    self._indexes[path].match(values, holding)

    def _test(self, tested: Tested, strings: list[str], holding: Holding) -> None:
        """Of the attributes that elements have in this document."""
        for element, predicates in tested:
            items = [(name, strings[positions(mark)[0]]) for name, mark in items_of(element)]
            for (path,), marks in satisfied(predicates, element, items):
                self._indexes[path].match([together(strings, positions(each)) for each in marks], holding)

    def _planned(self, shape: Shape) -> Plan:
        found, tested = self._walk.followed(shape.skeleton)
        often = Counter(path for paths, marks in found.items() for path in paths for _ in marks)
        alone, others = Alone(), Others()
        for paths, marks in found.items():
            places = list(map(positions, marks))
            for path in paths:
                index = self._indexes[path]
                if often[path] == len(places[0]) == 1 and not index.differs():
                    alone.append((index, places[0][0]))
                else:
                    others.append((index, places))
        if len(self._plans) > len(self._shapes):
            self._plans = {}  # some are of shapes that were forgotten
        plan = self._plans[shape] = Plan(alone, others, tested)
        return plan


def _picker(places: list[int]) -> Callable[[Sequence[T]], Sequence[T]]:
    """Of a sequence, what is at these places."""
    return itemgetter(*places) if len(places) > 1 else lambda given: [given[at] for at in places]


def together(strings: list[str], places: list[int]) -> str:
    return strings[places[0]] if len(places) == 1 else abridged("".join([strings[at] for at in places]))
