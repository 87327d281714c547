"""Finds the values at many paths of an XML document in one walk.

The steps of all paths form a tree. The places in it that an element is at are a state; states, and the ways from one
to the next, are made as documents need them, and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain

from tocsin.markup.conditions import Step, XmlPath
from tocsin.markup.content import leaves, names_of, string_value, text_nodes
from tocsin.markup.xml import Element
from tocsin.matching.index.xml_predicates import Predicates

MOST_KEPT = 65_536
LONGEST_KEPT = 1024
FEW = 4  # attributes that are asked for one by one

Paths = tuple[XmlPath, ...]
ValuesByPaths = defaultdict[Paths, list[str]]
Tested = list[tuple[Element, tuple[Predicates, ...]]]


class Place:
    """Where some steps lead, and the paths that end there: as they are, or with a predicate."""

    __slots__ = ("attributes", "children", "descendants", "leaves", "predicates", "step", "up")

    def __init__(self, up: Place | None = None, step: Step | None = None) -> None:
        self.up, self.step = up, step
        self.children: dict[str, Place] = {}
        self.descendants: dict[str, Place] = {}
        self.leaves: dict[str, XmlPath] = {}  # the string value and the text nodes
        self.attributes: dict[str, XmlPath] = {}
        self.predicates: Predicates | None = None

    def below(self, step: Step) -> dict[str, Place]:
        return self.descendants if step.deep else self.children

    def is_empty(self) -> bool:
        return not (self.leaves or self.attributes or self.children or self.descendants or self.predicates)

    def enter(self, path: XmlPath) -> None:
        if path.having is not None:
            if self.predicates is None:
                self.predicates = Predicates()
            self.predicates.enter(path, path.having)
        elif path.leaf[:1] == "@":
            self.attributes[path.leaf[1:]] = path
        else:
            self.leaves[path.leaf] = path

    def leave(self, path: XmlPath) -> None:
        if path.having is not None:
            assert self.predicates is not None
            self.predicates.leave(path, path.having)
            self.predicates = self.predicates or None
        elif path.leaf[:1] == "@":
            del self.attributes[path.leaf[1:]]
        else:
            del self.leaves[path.leaf]


class State:
    """The places that an element is at, and those from which any below it may go on with a `//` step.

    After each change it is made again: so it refers to the attributes of its places, and copies only few.
    """

    __slots__ = (
        *("attributes", "deep", "goes_on", "here", "named", "next"),
        *("predicates", "tables", "takes", "texts", "wholes"),
    )

    def __init__(self, here: frozenset[Place], deep: frozenset[Place]) -> None:
        self.here, self.deep = here, deep
        self.next: dict[object, State] = {}
        self.named: dict[str, tuple[XmlPath, ...]] = {}  # by the attributes that were seen
        self.tables = tuple(place.attributes for place in here if place.attributes)
        few = sum(map(len, self.tables)) <= FEW
        self.attributes = tuple(chain.from_iterable(map(dict.items, self.tables))) if few else ()
        self.texts = tuple(place.leaves["text()"] for place in here if "text()" in place.leaves)
        self.wholes = tuple(place.leaves[""] for place in here if "" in place.leaves)
        self.predicates = tuple(place.predicates for place in here if place.predicates is not None)
        self.takes = bool(self.tables or self.texts or self.wholes or self.predicates)
        self.goes_on = bool(deep) or any(place.children for place in here)


_NOWHERE = State(frozenset(), frozenset())


class Walk:
    def __init__(self) -> None:
        self._document, self._root = Place(), Place()
        self._counts: dict[XmlPath, int] = {}
        self._forget()

    def add(self, path: XmlPath) -> None:
        """As often as it is wanted."""
        known = self._counts.get(path, 0)
        self._counts[path] = known + 1
        if known:
            return
        place = self._beginning(path)
        for step in path.steps:
            below = place.below(step)
            if step.name not in below:
                below[step.name] = Place(place, step)
            place = below[step.name]
        if path.having is None or place.predicates is None:
            self._forget()
        place.enter(path)

    def remove(self, path: XmlPath) -> None:
        """Which has to have been added."""
        self._counts[path] -= 1
        if self._counts[path]:
            return
        del self._counts[path]
        place = self._beginning(path)
        for step in path.steps:
            place = place.below(step)[step.name]
        place.leave(path)
        if path.having is None or place.predicates is None:
            self._forget()
            _prune(place)

    def values(self, root: Element) -> dict[XmlPath, list[str]]:
        """Those of every path that has any."""
        found: dict[XmlPath, list[str]] = {}
        for paths, values in self.grouped(root).items():
            for path in paths:
                found.setdefault(path, []).extend(values)
        return found

    def grouped(self, root: Element) -> dict[Paths, list[str]]:
        """The same, by paths that have these values together; a path may be in several groups."""
        found, tested = self.followed(root)
        for element, predicates in tested:
            for paths, values in satisfied(predicates, element, items_of(element)):
                found[paths] += values
        return found

    def followed(self, root: Element) -> tuple[ValuesByPaths, Tested]:
        """The same for paths without a predicate; and the elements of which predicates are to be tested."""
        found: ValuesByPaths = defaultdict(list)
        tested: Tested = []
        state = self._start.next.get(root.tag) or self._way(self._start, root.tag)
        if state.takes:
            self._take(root, state, found, tested)
        waiting = [(root, state)] if state.goes_on else []
        while waiting:
            element, state = waiting.pop()
            ways = state.next
            for child in element:
                tag = child.tag
                after = ways.get(tag) or self._way(state, tag)
                if after.takes:
                    self._take(child, after, found, tested)
                if after.goes_on and len(child):
                    waiting.append((child, after))
        return found, tested

    def _beginning(self, path: XmlPath) -> Place:
        return self._document if path.absolute and path.steps else self._root

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[Place], frozenset[Place]], State] = {}
        self._kept = 0
        self._start = State(frozenset((self._document,)), _deep((self._document,)))

    def _way(self, state: State, tag: object) -> State:
        if not isinstance(tag, str):
            return _NOWHERE
        names = names_of(tag)
        children = (place.children.get(name) for place in state.here for name in names)
        descendants = (place.descendants.get(name) for place in state.deep for name in names)
        root = (self._root,) if self._document in state.here else ()
        here = frozenset(place for place in chain(children, descendants, root) if place is not None)
        deep = state.deep | _deep(here)
        after = self._state(here, deep) if here or deep else _NOWHERE
        if self._keeps(tag):
            state.next[tag] = after
        return after

    def _named(self, state: State, name: str) -> tuple[XmlPath, ...]:
        paths = tuple(each[name] for each in state.tables if name in each)
        if self._keeps(name):
            self._kept += len(paths)
            state.named[name] = paths
        return paths

    def _keeps(self, name: str) -> bool:
        """Strangers choose the names in documents: what is kept for these has a limit."""
        if self._kept >= MOST_KEPT:
            self._forget()
        if len(name) > LONGEST_KEPT:
            return False
        self._kept += 1 + len(name) // 64
        return True

    def _state(self, here: frozenset[Place], deep: frozenset[Place]) -> State:
        known = self._states.get((here, deep))
        if known is None:
            known = self._states[here, deep] = State(here, deep)
            self._kept += len(here) + len(deep)
        return known

    def _take(self, element: Element, state: State, found: ValuesByPaths, tested: Tested) -> None:
        if state.wholes:
            found[state.wholes].append(string_value(element))
        if state.texts and (texts := list(text_nodes(element))):
            found[state.texts] += texts
        for name, path in state.attributes:
            if (given := element.get(name)) is not None:
                found[(path,)].append(given)
        if state.tables and not state.attributes:
            self._take_named(element, state, found)
        if state.predicates:
            tested.append((element, state.predicates))

    def _take_named(self, element: Element, state: State, found: ValuesByPaths) -> None:
        """By the attributes that are there: thousands may be asked for."""
        for name, value in items_of(element):
            paths = state.named.get(name)
            paths = self._named(state, name) if paths is None else paths
            if paths:
                found[paths].append(value)


def satisfied(
    predicates: Iterable[Predicates], element: Element, items: list[tuple[str, str]]
) -> Iterator[tuple[Paths, tuple[str, ...]]]:
    """What the paths have of an element whose predicate holds of these attributes."""
    known: dict[str, tuple[str, ...]] = {}  # thousands of predicates may ask for the same
    for path in chain.from_iterable(each.satisfied(items) for each in predicates):
        leaf = path.leaf
        if leaf not in known:
            known[leaf] = tuple(leaves(element, leaf))
        if known[leaf]:
            yield (path,), known[leaf]


def items_of(element: Element) -> list[tuple[str, str]]:
    return element.items()  # type: ignore[return-value]


def _deep(places: Iterable[Place]) -> frozenset[Place]:
    return frozenset(place for place in places if place.descendants)


def _prune(place: Place) -> None:
    while place.up is not None and place.step is not None and place.is_empty():
        del place.up.below(place.step)[place.step.name]
        place = place.up
