"""Expressions of CloudEvents SQL 1.0.0 and what they yield; every one ends, for there are no loops (s1).

As a filter only a Boolean without any error passes, so the first error ends it: "fail fast" (s1.2, s4.1).
Attributes are strings here, whatever they were where they came from (s3.2), for HTTP headers have no types.
"""

from collections.abc import Callable, Iterable
from typing import Union

from msgspec import Struct

from tocsin.markup.cesql_values import (
    FUNCTIONS,
    OPERATORS,
    EvaluationError,
    Value,
    boolean,
    equal,
    in_range,
    integer,
    is_like,
    string,
)

Attributes = Callable[[str], str | None]


class Literal(Struct, frozen=True, tag=True, cache_hash=True):
    """`kind` tells `1` from `true`, which Python takes for equal."""

    value: Value
    kind: str


class Identifier(Struct, frozen=True, tag=True, cache_hash=True):
    name: str


class Present(Struct, frozen=True, tag=True, cache_hash=True):
    """`EXISTS name`."""

    name: str


class Not(Struct, frozen=True, tag=True, cache_hash=True):
    term: "Term"


class Minus(Struct, frozen=True, tag=True, cache_hash=True):
    term: "Term"


class Like(Struct, frozen=True, tag=True, cache_hash=True):
    term: "Term"
    pattern: str


class In(Struct, frozen=True, tag=True, cache_hash=True):
    term: "Term"
    elements: tuple["Term", ...]


class Call(Struct, frozen=True, tag=True, cache_hash=True):
    name: str
    arguments: tuple["Term", ...]


class Chain(Struct, frozen=True, tag=True, cache_hash=True):
    """Operators of one precedence, from left to right (s3.6)."""

    first: "Term"
    rest: tuple[tuple[str, "Term"], ...]


Term = Union[Literal, Identifier, Present, Not, Minus, Like, In, Call, Chain]  # noqa: UP007 - names its own members


def outcome(term: Term, attributes: Attributes) -> bool | None:
    """None for an error, and for what is no Boolean: neither passes a filter (s1.2)."""
    try:
        found = value_of(term, attributes)
    except EvaluationError:
        return None
    return found if isinstance(found, bool) else None


def value_of(term: Term, attributes: Attributes) -> Value:
    match term:
        case Literal(value):
            return value
        case Identifier(name):
            found = attributes(name)
            if found is None:
                raise EvaluationError(f"there is no attribute {name!r}")
            return found
        case Present(name):
            return attributes(name) is not None
        case Not(negated):
            return not boolean(value_of(negated, attributes))
        case Minus(negated):
            return in_range(-integer(value_of(negated, attributes)))
        case Like(liked, pattern):
            return is_like(string(value_of(liked, attributes)), pattern)
        case In(wanted, elements):
            return _is_in(value_of(wanted, attributes), elements, attributes)
        case Call(name, arguments):
            return FUNCTIONS[name].call(*(value_of(each, attributes) for each in arguments))
        case Chain(first, rest):
            return _chained(value_of(first, attributes), rest, attributes)


def names_in(term: Term) -> Iterable[str]:
    match term:
        case Identifier(name) | Present(name):
            yield name
        case Not(inner) | Minus(inner) | Like(term=inner):
            yield from names_in(inner)
        case In(inner, others) | Chain(inner, others):
            yield from names_in(inner)
            for each in others:
                yield from names_in(each[1] if isinstance(each, tuple) else each)
        case Call(_, arguments):
            for each in arguments:
                yield from names_in(each)


def _chained(left: Value, rest: tuple[tuple[str, Term], ...], attributes: Attributes) -> Value:
    for how, term in rest:
        if how == "AND":
            left = boolean(left) and boolean(value_of(term, attributes))
        elif how == "OR":
            left = boolean(left) or boolean(value_of(term, attributes))
        else:
            left = OPERATORS[how](left, value_of(term, attributes))
    return left


def _is_in(value: Value, elements: Iterable[Term], attributes: Attributes) -> bool:
    """The value says as what they are compared (s3.4.5)."""
    found = [equal(value_of(each, attributes), value) for each in elements]  # all: only AND and OR stop early
    return any(found)
