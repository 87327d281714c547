"""Whether a condition holds of the values at its paths: one by one, each path in the way of its own language."""

import operator
from collections.abc import Callable, Iterable
from math import nan

from tocsin.markup import cesql_terms, cesql_values, xpath_numbers
from tocsin.markup.conditions import (
    Attribute,
    Compare,
    Computed,
    Condition,
    Constant,
    Every,
    Exists,
    JsonPath,
    Negated,
    Path,
    Some,
    XmlPath,
)

Values = tuple[Constant, ...]
ValuesAt = Callable[[Path], Values]
_BOOLEANS = {"true": True, "false": False}
_COMPARE: dict[str, Callable[[float | str, float | str], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(condition: Condition, values: ValuesAt) -> bool:
    match condition:
        case Compare(path, how, constant):
            return any(compares(path, each, how, constant) for each in values(path))
        case Exists(path):
            return bool(values(path))
        case Every(conditions):
            return all(holds(each, values) for each in conditions)
        case Some(conditions):
            return any(holds(each, values) for each in conditions)
        case Negated(negated):
            return not holds(negated, values)
        case Computed(term, outcome):
            return cesql_terms.outcome(term, lambda name: _attribute(values, name)) is outcome


def _attribute(values: ValuesAt, name: str) -> str | None:
    found = values(Attribute(name))
    return str(found[0]) if found else None


def compares(path: Path, value: Constant, how: str, constant: Constant) -> bool:
    """One value that stands at a path. What cannot be converted compares with nothing."""
    match path:
        case XmlPath():
            if isinstance(constant, float) or how not in ("=", "!="):  # XPath 1.0 s3.4
                return _ordered(number(value), how, constant if isinstance(constant, float) else number(constant))
            return (value == constant) is (how == "=")
        case Attribute():
            converted = _cast(value, constant)
            return converted is not None and _ordered(converted, how, constant)
        case JsonPath():
            return _ordered(value, how, constant)


def number(value: Constant) -> float:
    """As XPath 1.0 converts it."""
    return xpath_numbers.number(value) if isinstance(value, str) else nan


def _cast(value: Constant, constant: Constant) -> Constant:
    """An attribute as the type of the constant (CloudEvents SQL s3.7); None when it cannot be."""
    if isinstance(constant, bool):
        return _BOOLEANS.get(str(value).lower())
    if isinstance(constant, float):
        return integer(value)
    return value


def integer(value: Constant) -> float | None:
    """CloudEvents SQL s3.7, String to Integer: 32 bits, with a sign or without."""
    try:
        return float(cesql_values.integer(value)) if isinstance(value, str) else None
    except cesql_values.EvaluationError:
        return None


def _ordered(value: Constant, how: str, constant: Constant) -> bool:
    if how in ("=", "!="):
        return same(value, constant) is (how == "=")
    if isinstance(value, bool) or isinstance(constant, bool) or value is None or constant is None:
        return how in ("<=", ">=") and same(value, constant)  # RFC 9535 s2.3.5.2.2: equal is also no more and no less
    if isinstance(value, str) is not isinstance(constant, str):
        return False
    return _COMPARE[how](value, constant)


def same(value: Constant, constant: Constant) -> bool:
    """Of one type and equal: in Python alone `True == 1`."""
    return value == constant and isinstance(value, bool) is isinstance(constant, bool)


def paths_of(condition: Condition) -> Iterable[Path]:
    match condition:
        case Compare(path=path) | Exists(path=path):
            yield path
        case Every(conditions) | Some(conditions):
            for each in conditions:
                yield from paths_of(each)
        case Negated(negated):
            yield from paths_of(negated)
        case Computed(term):
            yield from map(Attribute, dict.fromkeys(cesql_terms.names_in(term)))
