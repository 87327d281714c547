"""Terms and values of CloudEvents SQL 1.0.0: casts, operators, functions, evaluation."""

import operator
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Union

from msgspec import Struct

Value = str | int | bool
LOWEST, HIGHEST = -(2**31), 2**31 - 1
LONGEST_STRING = 2**20
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,10})")
_BOOLEANS = {"true": True, "false": False}
# What Unicode calls white space (s3.5.1); Python's strip() takes some control characters with it.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class EvaluationError(ValueError):
    """Any of the errors of s3.3."""


def equal(left: Value, right: Value) -> bool:
    """The right one says as what they are compared (s3.7)."""
    if isinstance(right, bool):
        return boolean(left) is right
    return integer(left) == right if isinstance(right, int) else string(left) == right


def boolean(value: Value) -> bool:
    if not isinstance(value, str):
        return bool(value)
    found = _BOOLEANS.get(value.lower())
    if found is None:
        raise EvaluationError(f"{value[:80]!r} is no Boolean")
    return found


def integer(value: Value) -> int:
    if not isinstance(value, str):
        return int(value)
    found = _INTEGER.fullmatch(value)
    if found is None:
        raise EvaluationError(f"{value[:80]!r} is no Integer")
    return in_range(int(found[1] + found[2]))


def string(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def in_range(value: int) -> int:
    """An Integer has 32 bits (s3.1); what does not fit is an error, for a wrong number would be worse."""
    if not LOWEST <= value <= HIGHEST:
        raise EvaluationError(f"{value} has more than 32 bits")
    return value


def _divided(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    whole = abs(left) // abs(right)
    return in_range(whole if (left < 0) is (right < 0) else -whole)


def _rest(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError("division by zero")
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def _of_integers(compute: Callable[[int, int], Value]) -> Callable[[Value, Value], Value]:
    return lambda left, right: compute(integer(left), integer(right))


OPERATORS: dict[str, Callable[[Value, Value], Value]] = {
    "=": equal,
    "!=": lambda left, right: not equal(left, right),
    "XOR": lambda left, right: boolean(left) is not boolean(right),
    "<": _of_integers(operator.lt),
    "<=": _of_integers(operator.le),
    ">": _of_integers(operator.gt),
    ">=": _of_integers(operator.ge),
    "+": _of_integers(lambda left, right: in_range(left + right)),
    "-": _of_integers(lambda left, right: in_range(left - right)),
    "*": _of_integers(lambda left, right: in_range(left * right)),
    "/": _of_integers(_divided),
    "%": _of_integers(_rest),
}


def is_like(value: str, pattern: str) -> bool:
    """Every position of the pattern is one bit, and all are moved on together: no pattern goes back in the value."""
    bits, anything, stays, last = _compiled(pattern)
    reached = 1
    for each in value:
        reached = ((reached & bits.get(each, anything)) << 1) | (reached & stays)
        if not reached or reached & stays & last:  # nothing can, or anything may follow
            break
    return bool(reached & last)


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> tuple[dict[str, int], int, int, int]:
    """Which positions each character moves on, which any other does, where `%` lets one stay, and the last."""
    bits: dict[str, int] = {}
    anything, stays, bit = 0, 0, 1
    for each in re.findall(r"\\[%_]|.", pattern, re.DOTALL):
        if each == "%":
            stays |= bit
            continue
        if each == "_":
            anything |= bit
        else:
            bits[each[-1]] = bits.get(each[-1], 0) | bit
        bit <<= 1
    return {each: found | anything for each, found in bits.items()}, anything, stays, bit


def _concatenated(between: str, *values: Value) -> str:
    strings = [string(each) for each in values]
    if sum(map(len, strings)) + len(between) * len(strings) > LONGEST_STRING:
        raise EvaluationError(f"a string of more than {LONGEST_STRING} characters")
    return between.join(strings)


def _left(value: Value, length: Value) -> str:
    return string(value)[: _natural(length)]


def _right(value: Value, length: Value) -> str:
    text = string(value)
    return text[max(0, len(text) - _natural(length)) :]


def _natural(value: Value) -> int:
    if integer(value) < 0:
        raise EvaluationError("a length below zero")
    return integer(value)


def _substring(value: Value, position: Value, length: Value = HIGHEST) -> str:
    """Counted from 1, or from the end when below zero."""
    text, start, longest = string(value), integer(position), _natural(length)
    if not -len(text) <= start <= len(text):
        raise EvaluationError(f"the string has no position {start}")
    begin = start - 1 if start > 0 else len(text) + start
    return text[begin : begin + longest] if start else ""


def _absolute(value: Value) -> int:
    return in_range(abs(integer(value)))


def _is(cast: Callable[[Value], Value]) -> Callable[[Value], bool]:
    def castable(value: Value) -> bool:
        try:
            cast(value)
        except EvaluationError:
            return False
        return True

    return castable


class _Function(Struct, frozen=True, tag=True):
    call: Callable[..., Value]
    fewest: int
    most: int


_MANY = 2**31
FUNCTIONS = {
    "LENGTH": _Function(lambda value: len(string(value)), 1, 1),
    "CONCAT": _Function(lambda *values: _concatenated("", *values), 0, _MANY),
    "CONCAT_WS": _Function(lambda between, *values: _concatenated(string(between), *values), 1, _MANY),
    "LOWER": _Function(lambda value: string(value).lower(), 1, 1),
    "UPPER": _Function(lambda value: string(value).upper(), 1, 1),
    "TRIM": _Function(lambda value: string(value).strip(_SPACE), 1, 1),
    "LEFT": _Function(_left, 2, 2),
    "RIGHT": _Function(_right, 2, 2),
    "SUBSTRING": _Function(_substring, 2, 3),
    "ABS": _Function(_absolute, 1, 1),
    "INT": _Function(integer, 1, 1),
    "BOOL": _Function(boolean, 1, 1),
    "STRING": _Function(string, 1, 1),
    "IS_INT": _Function(_is(integer), 1, 1),
    "IS_BOOL": _Function(_is(boolean), 1, 1),
}


def arity(name: str) -> tuple[int, int] | None:
    """How few and how many arguments a function takes; None when there is none of that name."""
    found = FUNCTIONS.get(name)
    return None if found is None else (found.fewest, found.most)


Attributes = Callable[[str], str | None]


class Literal(Struct, frozen=True, tag=True, cache_hash=True):
    """A constant. `kind` tells `1` from `true`, which Python takes for equal."""

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
