"""The topic index: expressions of many subscriptions in one trie, and the oracle for a single one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import accumulate
from operator import or_
from typing import Any, Generic, TypeVar

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName, Topic

Key = TypeVar("Key", bound=Hashable)
ROOM = 1 << 20  # branches, keys and steps that are remembered; publishers may send ever new topics


MOST_MENDED = 1_000  # states that one change may touch; it is cheaper to make them anew than to look at more
_NOBODY: frozenset[Any] = frozenset()


def size_of(topic: Topic) -> int:
    """How much of the room a topic takes where it is remembered."""
    return sum(map(_size, topic.steps))


def _size(step: QName) -> int:
    return 4 + (len(step.namespace) + len(step.local)) // 16


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


class _State(Generic[Key]):
    """All branches that a topic's first steps reach, and where its next step leads, as far as that was asked."""

    __slots__ = ("branches", "keys", "next")

    def __init__(self, branches: list[_Branch[Key]]) -> None:
        self.branches = branches
        self.keys: frozenset[Key] | None = None
        self.next: dict[QName, _State[Key]] = {}


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
        state = self._start or self._begin()
        for step in topic.steps:
            following = state.next.get(step)
            state = self._move(state, step) if following is None else following
            if not state.branches:
                return _NOBODY
        return self._keys(state) if state.keys is None else state.keys

    def _begin(self) -> _State[Key]:
        self._room = ROOM
        self._states.clear()
        self._start = self._made(_closure([self._root]))
        return self._start

    def _move(self, state: _State[Key], step: QName) -> _State[Key]:
        """That a step leads nowhere is not remembered: publishers may send ever new ones."""
        branches = _closure(_step(state.branches, step))
        if not branches:
            return _State(branches)
        following = state.next[step] = self._made(branches)
        self._spend(2 * len(branches) + _size(step))
        return following

    def _made(self, branches: list[_Branch[Key]]) -> _State[Key]:
        state = _State(branches)
        for branch in branches:
            self._states.setdefault(id(branch), []).append(state)
        return state

    def _keys(self, state: _State[Key]) -> frozenset[Key]:
        found = state.keys = frozenset(key for branch in state.branches for key in branch.keys)
        self._spend(len(found))
        return found

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


def _step(branches: list[_Branch[Key]], step: QName) -> Iterable[_Branch[Key]]:
    namespace = QName(step.namespace, "*")
    for branch in branches:
        if branch.loops:
            yield branch
        for name in (step, namespace, ANY):
            if (below := branch.next.get(name)) is not None:
                yield below


def _closure(branches: Iterable[_Branch[Key]]) -> list[_Branch[Key]]:
    """With the branches reached by descending no level at all."""
    reached = {id(branch): branch for branch in branches}
    for branch in list(reached.values()):
        below = branch.descend
        while below is not None and id(below) not in reached:
            reached[id(below)] = below
            below = below.descend
    return list(reached.values())
