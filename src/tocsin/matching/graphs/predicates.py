"""Vertex predicates, each distinct one with a number: a class, a constant, a test, or a conjunction.

Of an event it is known at once which vertexes have a class or are a constant. A test that only Python can answer (a
regular expression) is told for all literals; all else is a program, which runs when a search first needs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any as Any_
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.markup.graphs.graph_pattern import All, Any, Compared, Like, Opposite, PatternVertex, Spoken, Test
from tocsin.markup.graphs.literals import Kind
from tocsin.matching.graphs import layout as at
from tocsin.matching.graphs.pools import Pool
from tocsin.matching.index.postings import Columns

COMPARATORS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "=": 4, "!=": 5}
TWO_OPERANDS = 4  # words of a comparison
DEEPEST = at.STACK - 2  # what is nested deeper Python answers


class Named(Struct, frozen=True, cache_hash=True):
    what: Literal["class", "constant"]
    name: str


class PythonTest(Struct, frozen=True, cache_hash=True):
    """A test that Python makes; with `error`, the predicate of vertexes for which it has no answer."""

    test: Test
    error: bool = False


class Conjunction(Struct, frozen=True, cache_hash=True):
    classes: tuple[str, ...]
    constant: str | None
    tests: tuple[Test, ...]


Key = Named | PythonTest | Conjunction


class PredicateHeader(Struct, frozen=True):
    """The part of a snapshot that is not in arrays: what is known of an event at once, with its numbers."""

    classes: list[tuple[str, int]]
    constants: list[tuple[str, int]]
    told: list[tuple[Test, int, int]]
    texts: list[tuple[str, int]]
    compares: int


class Predicates:
    """All predicates in use, counted; one that is no longer used is forgotten."""

    def __init__(self) -> None:
        self._rows = Columns(program=np.int32, base=np.int32, uses=np.int32)
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key | None] = [None]
        self._rows["program"][self._rows.take()] = -1  # ANY
        self.programs, self.doubles = Pool(np.uint32), Pool(np.float64)
        self._texts: dict[str, tuple[int, int]] = {}  # each with how often it is asked for
        self._text_at: dict[int, str] = {}
        self._next_text = 0
        self.told: dict[Test, tuple[int, int]] = {}  # the predicates of those that pass, and of errors
        self.classes: dict[str, int] = {}
        self.constants: dict[str, int] = {}
        self.compares = 0  # so many use values of literals
        self.told_version = 0
        self.version = 0  # of what is known of an event at once

    def take(self, vertex: PatternVertex) -> int:
        if vertex.constant is None and not vertex.tests and len(vertex.classes) < 2:
            return self._take(Named("class", vertex.classes[0])) if vertex.classes else at.ANY
        if vertex.constant is not None and not vertex.tests and not vertex.classes:
            return self._take(Named("constant", vertex.constant))
        tests = tuple(dict.fromkeys(vertex.tests))
        return self._take(Conjunction(tuple(sorted(set(vertex.classes))), vertex.constant, tests))

    def use(self, number: int) -> None:
        """Once more."""
        if number != at.ANY:
            self._rows["uses"][number] += 1

    def release(self, number: int) -> None:
        if number == at.ANY:
            return
        self._rows["uses"][number] -= 1
        if not self._rows["uses"][number]:
            self._forget(number)

    def text(self, text: str) -> int:
        return self._texts.get(text, (-1, 0))[0]

    def header(self) -> PredicateHeader:
        told = [(test, *both) for test, both in self.told.items()]
        texts = [(text, number) for text, (number, _) in self._texts.items()]
        return PredicateHeader(list(self.classes.items()), list(self.constants.items()), told, texts, self.compares)

    def arrays(self) -> dict[str, NDArray[Any_]]:
        rows = {name: self._rows[name][: self._rows.end].copy() for name in ("program", "base")}
        return rows | {"programs": self.programs.array[: self.programs.end], "doubles": self.doubles.array}

    @classmethod
    def of(cls, header: PredicateHeader, arrays: Mapping[str, NDArray[Any_]]) -> Predicates:
        """Of arrays that may be mapped files; it is not for changes."""
        made = cls()
        made._rows = Columns.of({name: arrays[name] for name in ("program", "base")})
        made.programs, made.doubles = Pool.of(arrays["programs"]), Pool.of(arrays["doubles"])
        made.classes, made.constants = dict(header.classes), dict(header.constants)
        made.told, made.told_version = {test: (holds, fails) for test, holds, fails in header.told}, 1
        made._texts, made.compares = {text: (number, 1) for text, number in header.texts}, header.compares
        return made

    def __len__(self) -> int:
        return self._rows.end

    def used(self) -> int:
        return len(self._numbers) + len(self._texts) + len(self.told) + self.compares

    @property
    def size(self) -> int:
        """Bytes of the arrays."""
        return sum(each.nbytes for each in (*self._rows.arrays(), self.programs.array, self.doubles.array))

    @property
    def program_at(self) -> NDArray[np.int32]:
        return self._rows["program"]

    @property
    def base_of(self) -> NDArray[np.int32]:
        return self._rows["base"]

    def _take(self, key: Key) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._enter(key)
        self._rows["uses"][number] += 1
        return number

    def _enter(self, key: Key) -> int:
        number = self._numbers[key] = self._rows.take()
        if number == len(self._keys):
            self._keys.append(key)
        else:
            self._keys[number] = key
        self._rows["program"][number], self._rows["base"][number], self._rows["uses"][number] = -1, at.ANY, 0
        match key:
            case Conjunction():
                self._write(number, key)
            case Named(what, name):
                (self.classes if what == "class" else self.constants)[name] = number
                self.version += 1
        return number

    def _write(self, number: int, key: Conjunction) -> None:
        # the narrowest first: it says which vertexes are looked at
        parts: list[Named | None] = [] if key.constant is None else [Named("constant", key.constant)]
        parts += (Named("class", each) for each in key.classes)
        base, *others = parts or [None]
        self._rows["base"][number] = at.ANY if base is None else self._take(base)
        words = [*self._marked(others), *self._tested(key.tests, at.AND, first=not others), at.STOP]
        self._rows["program"][number] = self.programs.put(words)

    def _marked(self, parts: list[Named | None]) -> Iterator[int]:
        for place, each in enumerate(parts):
            assert each is not None
            yield from (at.MARKED, self._take(each))
            if place:
                yield at.AND

    def _tested(self, tests: tuple[Test, ...], joint: int, *, first: bool = True) -> Iterator[int]:
        if not tests and first:
            yield from (at.MARKED, at.ANY)
            if joint == at.OR:
                yield at.NOT
        for place, each in enumerate(tests):
            yield from self._test(each)
            if place or not first:
                yield joint

    def _test(self, test: Test) -> Iterator[int]:
        match test:
            case All() | Any() | Opposite() if depth_of(test) > DEEPEST:
                yield from self._told(test)
            case All(tests):
                yield from self._tested(tests, at.AND)
            case Any(tests):
                yield from self._tested(tests, at.OR)
            case Opposite(inner):
                yield from self._test(inner)
                yield at.NOT
            case Compared() if test.value.kind in (Kind.NUMBER, Kind.BOOLEAN, Kind.TIME):
                self.compares += 1
                double = self.doubles.put((test.value.number,))
                yield from (at.NUMBERED, test.value.kind, COMPARATORS[test.how], double)
            case Compared() if test.value.kind == Kind.STRING and test.how in ("=", "!="):
                self.compares += 1
                yield from (at.TEXT, test.value.kind, COMPARATORS[test.how], self._take_text(test.value.text))
            case Compared() | Like() | Spoken():
                yield from self._told(test)

    def _told(self, test: Test) -> Iterator[int]:
        both = self._take(PythonTest(test)), self._take(PythonTest(test, error=True))
        if test not in self.told:
            self.told[test] = both
            self.told_version += 1
        yield from (at.TOLD, *both, Kind.STRING if isinstance(test, Like) else at.ANY_KIND)

    def _take_text(self, text: str) -> int:
        number, uses = self._texts.get(text, (self._next_text, 0))
        if not uses:
            self._next_text += 1
            self._text_at[number] = text
        self._texts[text] = (number, uses + 1)
        return number

    def _forget(self, number: int) -> None:
        key = self._keys[number]
        assert key is not None
        del self._numbers[key]
        self._keys[number] = None
        match key:
            case Conjunction():
                self._erase(number)
            case Named(what, name):
                del (self.classes if what == "class" else self.constants)[name]
                self.version += 1
            case PythonTest(test, error):
                if not error:
                    del self.told[test]
                    self.told_version += 1
        self._rows.give_back(number)

    def _erase(self, number: int) -> None:
        """The program goes, and what it uses is used once less."""
        start = place = int(self._rows["program"][number])
        while (word := int(self.programs.array[place])) != at.STOP:
            place = self._step_over(word, place)
        self.programs.give_back(start, place + 1 - start)
        self.release(int(self._rows["base"][number]))

    def _step_over(self, word: int, place: int) -> int:
        words = self.programs.array
        if word == at.MARKED:
            self.release(int(words[place + 1]))
            return place + 2
        if word == at.TOLD:
            for each in words[place + 1 : place + 3].tolist():
                self.release(each)
            return place + 4
        if word == at.NUMBERED:
            self.compares -= 1
            self.doubles.give_back(int(words[place + 3]), 1)
            return place + TWO_OPERANDS
        if word == at.TEXT:
            self.compares -= 1
            text = self._text_at[int(words[place + 3])]
            number, uses = self._texts[text]
            if uses > 1:
                self._texts[text] = (number, uses - 1)
            else:
                del self._texts[text], self._text_at[number]
            return place + TWO_OPERANDS
        return place + 1


def depth_of(test: Test) -> int:
    """How many values its program holds at once."""
    match test:
        case All(tests) | Any(tests):
            return max((depth_of(each) + (place > 0) for place, each in enumerate(tests)), default=1)
        case Opposite(inner):
            return depth_of(inner)
    return 1
