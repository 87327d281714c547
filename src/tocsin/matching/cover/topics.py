"""Covering of topic expressions: whether one matches every topic that another matches."""

from collections.abc import Iterable, Iterator

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName

Path = tuple[QName | str, ...]
Paths = frozenset[Path]

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
            covering, covered = _after(pair[0], name), _after(pair[1], name)
            if budget < 0 or (_ends(covered) and not _ends(covering)):
                return -1
            if covered:
                waiting.append((covering, covered))
    return budget


def _after(paths: Paths, name: QName) -> Paths:
    """What may follow once the topic's next name is this one."""
    return frozenset(_rest(_reached(paths), name))


def _rest(paths: Iterable[Path], name: QName) -> Iterator[Path]:
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
