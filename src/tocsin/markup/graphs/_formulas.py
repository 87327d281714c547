"""What a filter says of variables: tests of each for itself, joined by and/or."""

from itertools import islice, product

from msgspec import Struct

from tocsin.markup.graphs.graph_pattern import All, Any, Opposite, Test


class Asked(Struct, frozen=True):
    """A test of one variable."""

    variable: str
    test: Test
    at: int


class Both(Struct, frozen=True):
    parts: tuple["Formula", ...]


class Either(Struct, frozen=True):
    parts: tuple["Formula", ...]


Formula = Asked | Both | Either


def negated(formula: Formula) -> Formula:
    """By De Morgan, which holds with errors too (SPARQL 1.1 s17.2)."""
    match formula:
        case Asked(variable, test, at):
            return Asked(variable, test.test if isinstance(test, Opposite) else Opposite(test), at)
        case Both(parts):
            return Either(tuple(map(negated, parts)))
        case Either(parts):
            return Both(tuple(map(negated, parts)))


def joined(parts: list[Formula], of_one: type[All] | type[Any], of_several: type[Both] | type[Either]) -> Formula:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, Asked):
        tests = [part.test for part in parts if isinstance(part, Asked) and part.variable == first.variable]
        if len(tests) == len(parts):
            return Asked(first.variable, of_one(tuple(tests)), first.at)
    return of_several(tuple(parts))


def one_by_one(formula: Formula) -> tuple[Asked, ...]:
    """All tests that it makes, in order."""
    match formula:
        case Asked(variable, All(tests), at):
            return tuple(Asked(variable, test, at) for test in tests)
        case Asked():
            return (formula,)
    return tuple(asked for part in formula.parts for asked in one_by_one(part))


def ways(formula: Formula, most: int) -> list[tuple[Asked, ...]]:
    """The ways for it to hold, each of which asks every variable for itself; no more of them than `most`."""
    match formula:
        case Asked():
            return [one_by_one(formula)]
        case Either(parts):
            return list(islice((way for part in parts for way in ways(part, most)), most))
    sure = [asked for part in formula.parts if isinstance(part, Asked) for asked in one_by_one(part)]
    found = [tuple(sure)]
    for part in formula.parts:
        if not isinstance(part, Asked) and len(found) < most:
            found = list(islice(((*one, *other) for one, other in product(found, ways(part, most))), most))
    return found
