"""What is asked for at a node and below it: the union of what many ask, without what is covered by the rest."""

from collections import Counter
from collections.abc import Iterable
from itertools import takewhile

import msgspec
from msgspec import Struct

from tocsin.markup.conditions import Compare, Condition, Every, Exists
from tocsin.markup.content import condition_of
from tocsin.matching.covering import covers_all
from tocsin.matching.index.topics import topics_cover
from tocsin.model.filters import ANY, DESCEND, NOTHING, AllOf, AnyOf, AttributeIs, Content, Filter, Not, TopicIs
from tocsin.model.names import QName
from tocsin.routing.tree.widening import Conjunction

MOST = 1000  # alternatives; who asks for more asks for everything
MOST_BYTES = 1 << 20  # of them all
MOST_COMPARED, DEARER = 100_000, 30  # glances at pairs for one change; a comparison costs as much as so many of them
QUICK = 200  # steps of comparing two
_Steps = tuple[QName | str, ...]
_Signs = tuple[set[object], set[object]]
_ANYTHING = "anything"  # is said by what is not looked into
_encode = msgspec.msgpack.Encoder().encode


class Interest(Struct, frozen=True):
    """One of these is enough. None of them is nothing; one without any filter is everything."""

    alternatives: tuple[Conjunction, ...] = ()

    @property
    def is_everything(self) -> bool:
        return () in self.alternatives

    def filters(self) -> tuple[Filter, ...]:
        """As a subscription asks for it. All topics are one expression, which one index finds."""
        if self.is_everything:
            return ()
        topics = tuple(path for each in self.alternatives for path in _topics(each))
        parts = tuple(AllOf(each) if len(each) > 1 else each[0] for each in self.alternatives if not _topics(each))
        if topics:
            parts = (TopicIs(topics), *parts)
        return parts if len(parts) == 1 else (AnyOf(parts),) if parts else (NOTHING,)


EVERYTHING = Interest(((),))


def _topics(asked: Conjunction) -> tuple[_Steps, ...]:
    return asked[0].alternatives if len(asked) == 1 and isinstance(asked[0], TopicIs) else ()


class _Shape(Struct, frozen=True):
    """What can be seen of a conjunction at once, so that most pairs need not be compared: whatever is narrower offers
    all that it `needs`, None where that cannot be said. `prefix` are the names that its only topic begins with."""

    topic: TopicIs | None
    prefix: _Steps
    needs: frozenset[object] | None
    offers: frozenset[object]
    size: int

    def may_cover(self, other: "_Shape") -> bool:
        if self.topic is not None and other.topic is not None:
            begins = all(path[: len(self.prefix)] == self.prefix for path in other.topic.alternatives)
            return begins and self.prefix != self.topic.alternatives[0]
        return self.needs is None or self.needs <= other.offers or _ANYTHING in other.offers


def _shape(asked: Conjunction) -> _Shape:
    first = asked[0] if len(asked) == 1 else None
    topic = first if isinstance(first, TopicIs) else None
    paths = () if topic is None else topic.alternatives
    prefix = tuple(takewhile(lambda step: not _is_wild(step), paths[0])) if len(paths) == 1 else ()
    seen = [_signs(each) for each in asked]
    needs = None if None in seen else frozenset[object]().union(*(each[0] for each in seen if each))
    offers = frozenset[object]().union(*(each[1] if each else {_ANYTHING} for each in seen))
    return _Shape(topic, prefix, needs, offers, len(_encode(asked)))


def _is_wild(step: object) -> bool:
    return step in (ANY, DESCEND) or getattr(step, "local", "") == ANY


def _signs(asked: Filter) -> _Signs | None:
    """What a filter needs another to say that it covers, and what it says itself."""
    match asked:
        case AllOf() | AnyOf() | Not():
            return None
        case AttributeIs(name, how, value):
            return _same((AttributeIs, name), value if how == "exact" else None)
        case Content():
            condition = condition_of(asked)
            return None if condition is None else _signs_of(condition)
    return {type(asked)}, {type(asked)}


def _signs_of(condition: Condition) -> _Signs | None:
    match condition:
        case Exists(path):
            return {path}, {path}
        case Compare(path, how, value):
            return _same(path, (value,) if how == "=" else None)
        case Every(conditions):
            seen = [signs for each in conditions if (signs := _signs_of(each)) is not None]
            if len(seen) == len(conditions):
                return {one for each in seen for one in each[0]}, {one for each in seen for one in each[1]}
    return None


def _same(what: object, value: object | None) -> _Signs:
    """One with a value is covered by the same value, or by what asks for another relation."""
    return ({what}, {what}) if value is None else ({(what, value)}, {what, (what, value)})


class Union:
    """By who asks. What is covered hangs below what covers it, and comes up again when that goes."""

    def __init__(self, most: int = MOST) -> None:
        self._most, self._left = most, 0
        self._asked: dict[str, tuple[Conjunction, ...]] = {}
        self._uses: Counter[Conjunction] = Counter()
        self._shapes: dict[Conjunction, _Shape] = {}
        self._widest: dict[Conjunction, None] = {}
        self._covered: dict[Conjunction, Conjunction] = {}  # each with one that covers it
        self._bytes = 0
        self.is_too_much, self._tried = False, 0

    def put(self, who: str, alternatives: Iterable[Conjunction]) -> None:
        """In place of what it asked for before; nothing at all when there are none."""
        self._left = MOST_COMPARED
        before, now = self._asked.pop(who, ()), tuple(alternatives)
        if now:
            self._asked[who] = now
        if now == before:
            return
        for each in now:
            self._uses[each] += 1
            if self._uses[each] == 1:
                self._add(each)
        for each in before:
            self._uses[each] -= 1
            if not self._uses[each]:
                del self._uses[each]
                self._remove(each)
        if self.is_too_much and len(self._uses) <= self._most // 2:
            self.look_again()

    def look_again(self) -> None:
        """Whether it is still too much; nothing is tried twice of the same."""
        if not self.is_too_much or self._tried == (tried := hash(frozenset(self._uses))):
            return
        self._tried, self._left = tried, MOST_COMPARED
        self.is_too_much = False
        self._widest, self._covered, self._bytes = {}, {}, 0
        for each in sorted(
            self._uses, key=lambda each: len(self._shapes[each].prefix)
        ):  # the widest are among the first
            self._add(each)

    def interest(self) -> Interest:
        return EVERYTHING if self.is_too_much else Interest(tuple(self._widest))

    def _add(self, asked: Conjunction) -> None:
        self._shapes.setdefault(asked, _shape(asked))
        if self.is_too_much:
            return
        others = list(self._widest) if self._left > 0 else []
        wide = next((each for each in others if self._covers(each, asked)), None)
        if wide is not None:
            self._covered[asked] = wide
            return
        narrow = [each for each in others if self._covers(asked, each)]
        for each in narrow:
            self._take_out(each)
        self._covered |= dict.fromkeys(narrow, asked)
        if narrow:
            below = set(narrow)
            self._covered |= {each: asked for each, wide in self._covered.items() if wide in below}
        self._widest[asked] = None
        self._bytes += self._shapes[asked].size
        if len(self._widest) > self._most or self._bytes > MOST_BYTES:
            self.is_too_much, self._tried = True, 0
            self._widest, self._covered, self._bytes = {}, {}, 0

    def _remove(self, asked: Conjunction) -> None:
        if self._covered.pop(asked, None) is None and asked in self._widest:
            self._take_out(asked)
            for each in [each for each, wide in self._covered.items() if wide == asked]:
                del self._covered[each]
                self._add(each)
        self._shapes.pop(asked, None)

    def _take_out(self, asked: Conjunction) -> None:
        del self._widest[asked]
        self._bytes -= self._shapes[asked].size

    def _covers(self, wide: Conjunction, narrow: Conjunction) -> bool:
        """Wherever they are compared: as if nothing were declared."""
        one, other = self._shapes[wide], self._shapes[narrow]
        if not wide or self._left <= 0:  # what is not compared is taken as not covered
            return not wide
        self._left -= 1
        if not one.may_cover(other):
            return False
        self._left -= DEARER
        if one.topic is not None and other.topic is not None:
            return topics_cover(one.topic, other.topic, QUICK)
        return covers_all(wide, narrow, budget=QUICK)
