"""The index of XML paths. Documents that differ in texts alone share a shape and are not parsed again.

Publishers repeat themselves. A shape is learned when it comes the second time, by parsing a document that has a mark
in place of each string: what holds of it, that it is well-formed and where the strings are, holds of all of the shape.
Only a plain document can be cut into tags and strings; any other is parsed.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from operator import call, itemgetter, neg
from typing import NamedTuple, TypeVar

import numpy as np

from tocsin.markup import xml
from tocsin.markup.conditions import XmlPath
from tocsin.markup.content import abridged
from tocsin.markup.xml import Element, MarkupError
from tocsin.markup.xpath import numbers
from tocsin.markup.xpath_conditions import LONGEST_CONSTANT
from tocsin.matching.evidence import Evidence
from tocsin.matching.index.postings import HoldingAtoms
from tocsin.matching.index.value_index import ValueIndex
from tocsin.matching.index.xml_walk import Tested, Walk, items_of, satisfied

LONGEST = 1 << 16  # bytes of a document
MOST_STRINGS = LONGEST_CONSTANT  # then no string value in a skeleton is abridged
MOST_KEPT = 1 << 20  # characters of tags
MOST_SEEN = 4096

_FIRST_MARK = 0xE000  # marks are of the private use area of Unicode
# All but what is markup, a reference, a carriage return, which is read as another character, or not allowed in XML.
_ORDINARY = bytes({0x09, 0x0A, *range(0x20, 0x100)} - set(b"<>&"))
_UNUSUAL_VALUE = re.compile("[<>&\t\n]")  # XML 1.0 s3.3.3: spaces are normalised
_DECLARES = re.compile(r"\sxmlns(?::[^\s=]*)?\s*=\s*\Z")

Tags = tuple[str, ...]


class Parts(NamedTuple):
    """The strings are the texts, then the attribute values. Tags with no text between them are one, parted by `&`; in
    place of each attribute value they have a quotation mark."""

    tags: Tags
    texts: list[str]
    values: list[str]


class Shape:
    """`skeleton` is a document of this shape with marks; namespace names are a part of the shape."""

    __slots__ = ("_declared", "_names", "_values", "skeleton")

    def __init__(self, parts: Parts, declared: list[int], skeleton: Element) -> None:
        self._declared, self._names = declared, [parts.values[at] for at in declared]
        self._values, self.skeleton = len(parts.values), skeleton

    def has(self, parts: Parts) -> bool:
        """Whether a document with these tags is of the shape: else a text has a quotation mark, or a name differs."""
        values = parts.values
        return len(values) == self._values and [values[at] for at in self._declared] == self._names


class Shapes:
    def __init__(self) -> None:
        self._known: dict[Tags, Shape | None] = {}
        self._kept = 0
        self._seen: set[int] = set()

    def __len__(self) -> int:
        return len(self._known)

    def read(self, data: bytes) -> tuple[Shape, list[str]] | None:
        """The shape of a document, and its strings; None if it has to be parsed."""
        parts = parts_of(data) if len(data) <= LONGEST else None
        if parts is None:
            return None
        shape = self._known.get(parts.tags) or self._new(parts)
        return (shape, parts.texts + parts.values) if shape is not None and shape.has(parts) else None

    def _new(self, parts: Parts) -> Shape | None:
        if parts.tags in self._known or not self._came_before(hash(parts.tags)):
            return None
        size = sum(map(len, parts.tags))
        if self._kept + size > MOST_KEPT:
            self._known, self._kept = {}, 0
        self._kept += size
        shape = self._known[parts.tags] = _learned(parts)
        return shape

    def _came_before(self, tags: int) -> bool:
        if tags in self._seen:
            return True
        if len(self._seen) >= MOST_SEEN:
            self._seen.clear()
        self._seen.add(tags)
        return False


def parts_of(data: bytes) -> Parts | None:
    """None for what is not plain."""
    if data[:1] != b"<" or data[-1:] != b">" or b"\xef\xbf" in data:  # two that begin so are not allowed in XML
        return None
    brackets = data.translate(None, _ORDINARY)
    if brackets != b"<>" * (len(brackets) // 2):
        return None
    try:
        chunks = data.replace(b"><", b"&").decode().split('"')
    except UnicodeDecodeError:
        return None
    values = chunks[1::2]
    if _UNUSUAL_VALUE.search("".join(values)):
        return None
    runs = '"'.join(chunks[::2]).replace("<", ">").split(">")
    return Parts(tuple(runs[1::2]), runs[2:-1:2], values)


def _learned(parts: Parts) -> Shape | None:
    """None if the document is not well-formed, has more than elements and text, or other quotation marks than those
    around values."""
    written, strings = "".join(parts.tags), len(parts.texts) + len(parts.values)
    if written.count('"') != len(parts.values) or "'" in written or "xml:id" in written or strings > MOST_STRINGS:
        return None
    marks = list(map(chr, range(_FIRST_MARK, _FIRST_MARK + strings)))
    of_texts, of_values = marks[: len(parts.texts)], marks[len(parts.texts) :]
    runs = (f"{mark}<{tags}>" for mark, tags in zip(("", *of_texts), parts.tags, strict=True))
    *before, last = "".join(runs).replace("&", "><").split('"')
    declared = [at for at, each in enumerate(before) if _DECLARES.search(each)]
    for at in declared:
        of_values[at] = parts.values[at]
    skeleton = "".join(f'{each}"{value}"' for each, value in zip(before, of_values, strict=True)) + last
    if not xml.is_elements_and_text(skeleton.encode()):
        return None
    try:
        return Shape(parts, declared, xml.parse(skeleton.encode()))
    except MarkupError:
        return None


def positions(marks: str) -> list[int]:
    """Where in the strings of a document the parts of what stands somewhere in its skeleton are."""
    return [ord(each) - _FIRST_MARK for each in marks]


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

    def match(self, strings: list[str], holding: HoldingAtoms) -> None:
        holding.hold(self.exists)
        holding.hold(filter(None, map(call, self.words, self.word_strings(strings))))
        if self.numbers:
            values = numbers(self.number_strings(strings))
            if self.equal:
                holding.hold(atom for find, place in self.equal if (atom := find(values[place])) is not None)
            limits = self.limits([*values, *map(neg, values)])
            if not isnan(sum(values)):
                holding.sides, holding.limits = self.sides, limits
            else:
                pairs = zip(self.sides.tolist(), limits, strict=True)
                holding.reach({side: limit for side, limit in pairs if not isnan(limit)})
        for index, places in self.others:
            index.match([together(strings, each) for each in places], holding)


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

    def match(self, evidence: Evidence, holding: HoldingAtoms) -> None:
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

    def _test(self, tested: Tested, strings: list[str], holding: HoldingAtoms) -> None:
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
