"""The topic index (expressions of many subscriptions in one trie), the oracle for a single one, and covering."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate
from operator import or_
from typing import Any, Generic, TypeVar

from msgspec import Struct

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName, Topic

Key = TypeVar("Key", bound=Hashable)
ROOM = 1 << 20  # branches, keys and steps that are remembered; publishers may send ever new topics
MOST_MENDED = 1_000  # states that one change may touch; it is cheaper to make them anew than to look at more
_NOBODY: frozenset[Any] = frozenset()


def size_of(*steps: QName) -> int:
    """How much of the room the steps of a topic take where they are remembered."""
    return sum([4 + (len(step.namespace) + len(step.local)) // 16 for step in steps])


def topic_matches(expression: TopicIs, topic: Topic) -> bool:
    """The oracle: what the grammar says, one expression and one topic."""
    return any(_matches(path, topic.steps) for path in expression.alternatives)


def _matches(path: tuple[QName | str, ...], steps: tuple[QName, ...]) -> bool:
    """After each step of the path, `reached[n]` tells whether the path so far can take up the first n steps."""
    reached = [True, *(False for _ in steps)]
    for wanted in path:
        if wanted == DESCEND:
            reached = list(accumulate(reached, or_))
        else:
            taken = zip(reached, steps, strict=False)
            reached = [False, *(before and _step_matches(wanted, step) for before, step in taken)]
    return reached[-1]


def _step_matches(wanted: QName | str, step: QName) -> bool:
    if isinstance(wanted, str):
        return wanted == ANY
    return wanted.namespace == step.namespace and wanted.local in ("*", step.local)


class _Branch(Generic[Key]):
    __slots__ = ("descend", "keys", "loops", "next")

    def __init__(self, loops: bool = False) -> None:
        self.next: dict[QName | str, _Branch[Key]] = {}
        self.descend: _Branch[Key] | None = None
        self.loops = loops
        self.keys: dict[Key, None] = {}

    def below(self, step: QName | str) -> _Branch[Key] | None:
        return self.descend if step == DESCEND else self.next.get(step)

    def grow(self, step: QName | str) -> _Branch[Key]:
        if step == DESCEND:
            self.descend = _Branch(loops=True)
            return self.descend
        made = self.next[step] = _Branch()
        return made


class _State(Struct, Generic[Key], eq=False):
    """All branches that a topic's first steps reach, and where its next step leads, as far as that was asked."""

    branches: list[_Branch[Key]]
    keys: frozenset[Key] | None = None
    next: dict[QName, _State[Key]] = {}


class TopicIndex(Generic[Key]):
    """`match` walks all expressions at once. Where a step leads is remembered, so that a topic costs one look-up a step
    even if it never came before; a change forgets only what it changes."""

    def __init__(self) -> None:
        self._root: _Branch[Key] = _Branch()
        self._start: _State[Key] | None = None
        self._states: dict[int, list[_State[Key]]] = {}  # by the identity of a branch, those that it is part of
        self._room = ROOM

    def __bool__(self) -> bool:
        """Whether any expression is there."""
        return bool(self._root.next or self._root.descend or self._root.keys)

    def add(self, key: Key, expression: TopicIs) -> None:
        for path in expression.alternatives:
            branch = self._root
            for step in path:
                below = branch.below(step)
                if below is None:
                    below = branch.grow(step)
                    self._grown(branch, step)
                branch = below
            branch.keys[key] = None
            self._changed(branch)

    def remove(self, key: Key, expression: TopicIs) -> None:
        for path in expression.alternatives:
            self._prune(key, path)

    def match(self, topic: Topic) -> frozenset[Key]:
        state = self._start
        if state is None:
            self._room = ROOM
            self._states.clear()
            state = self._start = self._state([self._root])
        for step in topic.steps:
            following = state.next.get(step)
            state = self._move(state, step) if following is None else following
            if not state.branches:
                return _NOBODY
        if state.keys is None:
            state.keys = frozenset([key for branch in state.branches for key in branch.keys])
            self._spend(len(state.keys))
        return state.keys

    def _move(self, state: _State[Key], step: QName) -> _State[Key]:
        """That a step leads nowhere is not remembered: publishers may send ever new ones."""
        names = step, QName(step.namespace, "*"), ANY
        branches: list[_Branch[Key]] = []
        for branch in state.branches:
            branches += [branch] if branch.loops else []
            branches += [branch.next[name] for name in names if name in branch.next]
        following = self._state(branches)
        if following.branches:
            state.next[step] = following
            self._spend(2 * len(following.branches) + size_of(step))
        return following

    def _state(self, branches: list[_Branch[Key]]) -> _State[Key]:
        """Of these branches, with those reached by descending no level at all."""
        reached = {id(branch): branch for branch in branches}
        for branch in list(reached.values()):
            below = branch.descend
            while below is not None and id(below) not in reached:
                reached[id(below)] = below
                below = below.descend
        state = _State(list(reached.values()))
        for name in reached:
            self._states.setdefault(name, []).append(state)
        return state

    def _spend(self, room: int) -> None:
        """Who walks on states that are forgotten here goes on to the end of its topic."""
        self._room -= room
        if self._room < 0:
            self._start = None

    def _grown(self, branch: _Branch[Key], step: QName | str) -> None:
        """A new branch below it: another way on from its states, or, for `//`, another branch of these themselves."""
        states = self._states.get(id(branch), ())
        if step == DESCEND or len(states) > MOST_MENDED:
            self._start = None
            return
        for state in states:
            if isinstance(step, QName) and step.local != "*":
                state.next.pop(step, None)
            else:
                state.next.clear()

    def _changed(self, branch: _Branch[Key]) -> None:
        states = self._states.get(id(branch), ())
        if len(states) > MOST_MENDED:
            self._start = None
        for state in states:
            state.keys = None

    def _prune(self, key: Key, path: tuple[QName | str, ...]) -> None:
        """States keep branches that are cut off: nothing grows on these any more."""
        trail = [self._root]
        for step in path:
            below = trail[-1].below(step)
            if below is None:
                return
            trail.append(below)
        trail[-1].keys.pop(key, None)
        self._changed(trail[-1])
        for step, parent, branch in zip(reversed(path), reversed(trail[:-1]), reversed(trail), strict=False):
            if branch.keys or branch.next or branch.descend:
                return
            if step == DESCEND:
                parent.descend = None
            else:
                del parent.next[step]


TopicPath = tuple[QName | str, ...]
Paths = frozenset[TopicPath]

BUDGET = 10_000  # paths looked at; expressions that need more are taken as not covered
_OTHER = "\0"  # in no name, hence of none that an expression mentions


def topics_cover(wide: TopicIs, narrow: TopicIs, budget: int = BUDGET) -> bool:
    """True only if every topic that `narrow` matches is matched by `wide`.

    Inclusion of regular languages, by derivatives: what remains of an expression after one topic name is again a set
    of paths. The names worth trying are those the paths begin with, and one that none of them mentions.
    """
    start = frozenset(wide.alternatives)
    for path in narrow.alternatives:
        budget = _spend(start, frozenset((path,)), budget)
        if budget < 0:
            return False
    return True


def _spend(wide: Paths, narrow: Paths, budget: int) -> int:
    """What is left of the budget when all of `narrow` is covered; less than nothing when it is not, or not shown."""
    seen: set[tuple[Paths, Paths]] = set()
    waiting = [(wide, narrow)]
    while waiting:
        if (pair := waiting.pop()) in seen:
            continue
        seen.add(pair)
        for name in _names(_reached(pair[0]) | _reached(pair[1])):
            budget -= 1 + len(pair[0]) + len(pair[1])
            covering, covered = _derivatives(pair[0], name), _derivatives(pair[1], name)
            if budget < 0 or (_ends(covered) and not _ends(covering)):
                return -1
            if covered:
                waiting.append((covering, covered))
    return budget


def _derivatives(paths: Paths, name: QName) -> Paths:
    """What may follow once the topic's next name is this one."""
    return frozenset(_rest(_reached(paths), name))


def _rest(paths: Iterable[TopicPath], name: QName) -> Iterator[TopicPath]:
    for path in paths:
        if path and path[0] == DESCEND:
            yield path
        elif path and _takes(path[0], name):
            yield path[1:]


def _reached(paths: Paths) -> Paths:
    """With what is left when `//` stands for no topic at all."""
    found = set(paths)
    for path in paths:
        while path and path[0] == DESCEND:
            path = path[1:]
            found.add(path)
    return frozenset(found)


def _ends(paths: Paths) -> bool:
    return () in _reached(paths)


def _takes(step: QName | str, name: QName) -> bool:
    if isinstance(step, str):
        return step == ANY
    return step.namespace == name.namespace and step.local in ("*", name.local)


def _names(paths: Paths) -> set[QName]:
    heads = {path[0] for path in paths if path and isinstance(path[0], QName)}
    named = {head for head in heads if isinstance(head, QName) and head.local != "*"}
    others = {QName(head.namespace, _OTHER) for head in heads if isinstance(head, QName)}
    return named | others | {QName(_OTHER, _OTHER)}
