"""Topic expressions of many subscriptions in one trie; the oracle that evaluates one by one stands beside it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import accumulate
from operator import or_
from typing import Generic, TypeVar

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName, Topic

Key = TypeVar("Key", bound=Hashable)
ROOM = 1 << 20  # branches, keys and steps that are remembered; publishers may send ever new topics


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

    def grow(self, step: QName | str) -> _Branch[Key]:
        if step == DESCEND:
            if self.descend is None:
                self.descend = _Branch(loops=True)
            return self.descend
        return self.next.setdefault(step, _Branch())


class _State(Generic[Key]):
    """All branches that a topic's first steps reach, and where its next step leads, as far as that was asked."""

    __slots__ = ("branches", "keys", "next")

    def __init__(self, branches: list[_Branch[Key]]) -> None:
        self.branches = branches
        self.keys: frozenset[Key] | None = None
        self.next: dict[QName, _State[Key]] = {}


class TopicIndex(Generic[Key]):
    """`match` walks all expressions at once. Where a step leads is remembered until a change, so that a topic costs one
    look-up a step even if it never came before."""

    def __init__(self) -> None:
        self._root: _Branch[Key] = _Branch()
        self._start: _State[Key] | None = None
        self._room = ROOM

    def add(self, key: Key, expression: TopicIs) -> None:
        self._start = None
        for path in expression.alternatives:
            branch = self._root
            for step in path:
                branch = branch.grow(step)
            branch.keys[key] = None

    def remove(self, key: Key, expression: TopicIs) -> None:
        self._start = None
        for path in expression.alternatives:
            self._prune(key, path)

    def match(self, topic: Topic) -> frozenset[Key]:
        state = self._start or self._begin()
        for step in topic.steps:
            following = state.next.get(step)
            state = self._move(state, step) if following is None else following
        return self._keys(state) if state.keys is None else state.keys

    def _begin(self) -> _State[Key]:
        self._room = ROOM
        self._start = _State(_closure([self._root]))
        return self._start

    def _move(self, state: _State[Key], step: QName) -> _State[Key]:
        following = state.next[step] = _State(_closure(_step(state.branches, step)))
        self._spend(1 + len(following.branches))
        return following

    def _keys(self, state: _State[Key]) -> frozenset[Key]:
        found = state.keys = frozenset(key for branch in state.branches for key in branch.keys)
        self._spend(len(found))
        return found

    def _spend(self, room: int) -> None:
        """Who walks on states that are forgotten here goes on to the end of its topic."""
        self._room -= room
        if self._room < 0:
            self._start = None

    def _prune(self, key: Key, path: tuple[QName | str, ...]) -> None:
        trail = [self._root]
        for step in path:
            below = trail[-1].descend if step == DESCEND else trail[-1].next.get(step)
            if below is None:
                return
            trail.append(below)
        trail[-1].keys.pop(key, None)
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
