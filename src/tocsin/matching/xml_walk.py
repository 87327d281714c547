"""What stands at many paths of an XML document: all found in one walk.

The steps of all paths form a tree. The places in it that an element is at are a state; states, and the ways from one
to the next, are made as documents need them, and kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from tocsin.markup.conditions import Compare, Condition, Every, Step, XmlPath
from tocsin.markup.xml import Element
from tocsin.matching.xml_values import has, leaves, names_of, string_value, text_nodes

MOST_KEPT = 262_144

Found = defaultdict[XmlPath, list[str]]
Key = tuple[str, str]  # an attribute, and the value it has to have


class Place:
    """Where some steps lead, and the paths that end there: as they are, or with a predicate."""

    __slots__ = ("children", "descendants", "keyed", "plain", "step", "unkeyed", "up")

    def __init__(self, up: Place | None = None, step: Step | None = None) -> None:
        self.up, self.step = up, step
        self.children: dict[str, Place] = {}
        self.descendants: dict[str, Place] = {}
        self.plain: dict[XmlPath, None] = {}
        self.unkeyed: dict[XmlPath, Condition] = {}
        self.keyed: dict[Key, dict[XmlPath, Condition | None]] = {}  # None where the key is the predicate

    def below(self, step: Step) -> dict[str, Place]:
        return self.descendants if step.deep else self.children

    def has_predicates(self) -> bool:
        return bool(self.keyed or self.unkeyed)

    def is_empty(self) -> bool:
        return not (self.plain or self.children or self.descendants or self.has_predicates())

    def enter(self, path: XmlPath) -> None:
        key = None if path.having is None else key_of(path.having)
        if path.having is None:
            self.plain[path] = None
        elif key is None:
            self.unkeyed[path] = path.having
        else:
            self.keyed.setdefault(key, {})[path] = None if isinstance(path.having, Compare) else path.having

    def leave(self, path: XmlPath) -> None:
        key = None if path.having is None else key_of(path.having)
        if path.having is None:
            del self.plain[path]
        elif key is None:
            del self.unkeyed[path]
        else:
            del self.keyed[key][path]
            if not self.keyed[key]:
                del self.keyed[key]

    def satisfied(self, element: Element) -> list[XmlPath]:
        """The paths whose predicate holds of an element."""
        found = [path for path, asked in self.unkeyed.items() if has(element, asked)]
        for key in element.items() if self.keyed else ():
            keyed = self.keyed.get(key)  # type: ignore[arg-type]
            if keyed is not None:
                found += [path for path, asked in keyed.items() if asked is None or has(element, asked)]
        return found


def key_of(asked: Condition) -> Key | None:
    """An equality without which the predicate does not hold: of thousands of items by name, few are looked at."""
    match asked:
        case Compare(path=XmlPath(leaf=leaf), how="=", value=str(value)):
            return leaf[1:], value
        case Every(conditions):
            return next(filter(None, map(key_of, conditions)), None)
    return None


class State:
    """The places that an element is at, and those from which any below it may go on with a `//` step."""

    __slots__ = ("attributes", "deep", "goes_on", "here", "next", "predicates", "takes", "texts", "wholes")

    def __init__(self, here: frozenset[Place], deep: frozenset[Place]) -> None:
        self.here, self.deep = here, deep
        self.next: dict[object, State] = {}
        paths = [path for place in here for path in place.plain]
        self.attributes = tuple((path, path.leaf[1:]) for path in paths if path.leaf[:1] == "@")
        self.texts = tuple(path for path in paths if path.leaf == "text()")
        self.wholes = tuple(path for path in paths if not path.leaf)
        self.predicates = tuple(place for place in here if place.has_predicates())
        self.takes = bool(paths or self.predicates)
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
        if path.having is None or not place.has_predicates():
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
        if path.having is None or not place.has_predicates():
            self._forget()
            _prune(place)

    def values(self, root: Element) -> dict[XmlPath, list[str]]:
        """Those of every path that has any."""
        found: Found = defaultdict(list)
        state = self._start.next.get(root.tag) or self._way(self._start, root.tag)
        if state.takes:
            _take(root, state, found)
        waiting = [(root, state)] if state.goes_on else []
        while waiting:
            element, state = waiting.pop()
            ways = state.next
            for child in element:
                tag = child.tag
                after = ways.get(tag) or self._way(state, tag)
                if after.takes:
                    _take(child, after, found)
                if after.goes_on and len(child):
                    waiting.append((child, after))
        found.default_factory = None
        return found

    def _beginning(self, path: XmlPath) -> Place:
        return self._document if path.absolute and path.steps else self._root

    def _forget(self) -> None:
        self._states: dict[tuple[frozenset[Place], frozenset[Place]], State] = {}
        self._kept = 0
        self._start = State(frozenset((self._document,)), _deep((self._document,)))

    def _way(self, state: State, tag: object) -> State:
        """Strangers choose the names in documents: what is kept for these has a limit."""
        if self._kept >= MOST_KEPT:
            self._forget()
        self._kept += 1
        after = state.next[tag] = self._after(state, tag) if isinstance(tag, str) else _NOWHERE
        return after

    def _after(self, state: State, tag: str) -> State:
        names = names_of(tag)
        children = (place.children.get(name) for place in state.here for name in names)
        descendants = (place.descendants.get(name) for place in state.deep for name in names)
        root = (self._root,) if self._document in state.here else ()
        here = frozenset(place for place in chain(children, descendants, root) if place is not None)
        deep = state.deep | _deep(here)
        return self._state(here, deep) if here or deep else _NOWHERE

    def _state(self, here: frozenset[Place], deep: frozenset[Place]) -> State:
        known = self._states.get((here, deep))
        if known is None:
            known = self._states[here, deep] = State(here, deep)
            self._kept += len(here) + len(deep)
        return known


def _deep(places: Iterable[Place]) -> frozenset[Place]:
    return frozenset(place for place in places if place.descendants)


def _prune(place: Place) -> None:
    while place.up is not None and place.step is not None and place.is_empty():
        del place.up.below(place.step)[place.step.name]
        place = place.up


def _take(element: Element, state: State, found: Found) -> None:
    if state.wholes:
        whole = string_value(element)
        for path in state.wholes:
            found[path].append(whole)
    for path, name in state.attributes:
        value = element.get(name)
        if value is not None:
            found[path].append(value)
    for value in text_nodes(element) if state.texts else ():
        for path in state.texts:
            found[path].append(value)
    for place in state.predicates:
        for path in place.satisfied(element):
            for value in leaves(element, path.leaf):
                found[path].append(value)
