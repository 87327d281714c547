"""Content filters: reads an expression of any language as a condition (once), and evaluates conditions one by one."""

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import inf, isnan, nan

from msgspec import UNSET

from tocsin.markup import cesql, cesql_terms, items, jsonpath, xpath, xpath_conditions
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
    Step,
    XmlPath,
)
from tocsin.markup.xml import Element, text_in
from tocsin.markup.xpath import shortened
from tocsin.markup.xpath_conditions import LONGEST_CONSTANT
from tocsin.model.filters import Content

REMEMBERED = 65_536


@lru_cache(maxsize=REMEMBERED)
def condition_of(asked: Content) -> Condition | None:
    """None for a legal expression that is more than a condition; raises `ExpressionError` for what is none."""
    match asked.language:
        case "xpath":
            return xpath_conditions.read(asked.text, dict(asked.namespaces))
        case "items":
            return items.read(asked.text, dict(asked.namespaces))
        case "jsonpath":
            return jsonpath.read(asked.text)
        case "cesql":
            return cesql.read(asked.text)
        case "sparql":
            return None


Values = tuple[Constant, ...]
ValuesAt = Callable[[Path], Values]
STRUCTURE = nan  # objects and arrays of JSON: equal to no constant, and neither above nor below any
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
    return xpath.number(value) if isinstance(value, str) else nan


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
        return float(cesql_terms.integer(value)) if isinstance(value, str) else None
    except cesql_terms.EvaluationError:
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


def values_at(root: Element, path: XmlPath) -> Iterable[str]:
    """The context node is the root element."""
    found: Iterable[Element] = (root,)
    for index, step in enumerate(path.steps):
        found = _below(root, found, step) if index or not path.absolute else _from_document(root, step)
    for element in found:
        if path.having is None or has(element, path.having):
            yield from leaves(element, path.leaf)


def has(element: Element, asked: Condition) -> bool:
    """Whether the predicate behind an element holds of its attributes."""
    return holds(asked, lambda path: tuple(leaves(element, path.leaf)) if isinstance(path, XmlPath) else ())


def _from_document(root: Element, step: Step) -> Iterable[Element]:
    """Whose only child element is the root."""
    if step.deep:
        return root.iter(step.name)
    return (root,) if step.name in names_of(str(root.tag)) else ()


def _below(root: Element, parents: Iterable[Element], step: Step) -> Iterator[Element]:
    """What is below several of them is found once."""
    if not step.deep:
        for parent in parents:
            yield from parent.iterchildren(step.name)
        return
    above = set(parents)
    for element in root.iterdescendants("*") if above else ():
        if element.getparent() in above:
            above.add(element)
            if step.name in names_of(str(element.tag)):
                yield element


def names_of(tag: str) -> tuple[str, ...]:
    """All that a step may call it."""
    namespace, brace, _ = tag.rpartition("}")
    return (tag, f"{namespace}}}*", "*") if brace else (tag, "*")


def leaves(element: Element, leaf: str) -> Iterable[str]:
    if not leaf:
        return (string_value(element),)
    if leaf == "text()":
        return text_nodes(element)
    value = element.get(leaf[1:])
    return () if value is None else (value,)


def text_nodes(element: Element) -> Iterator[str]:
    """Comments and processing instructions stand between text nodes (XPath 1.0 s5.7)."""
    if element.text:
        yield element.text
    for child in element:
        if child.tail:
            yield child.tail


def string_value(element: Element) -> str:
    """Of elements that contain others all the text, if it is short: together these may be 256 times the document."""
    return abridged(text_in(element)) if len(element) else element.text or ""


def abridged(value: str) -> str:
    """In place of a longer one stands another that no constant equals, either, and that is the same number or none."""
    if len(value) <= LONGEST_CONSTANT:
        return value
    if isnan(number(value)):
        return value[:LONGEST_CONSTANT] + "…"
    return shortened(value.strip()).rjust(LONGEST_CONSTANT + 1)


def json_values(value: object, steps: tuple[str | int, ...]) -> Values:
    """The value at a JSON path, if there is one."""
    for step in steps:
        value = _member(value, step)
    return () if value is UNSET else (constant_of(value),)


def constant_of(value: object) -> Constant:
    """What it is compared as; objects and arrays are equal to no constant."""
    if isinstance(value, int) and not isinstance(value, bool):
        # JSON bounds no number.
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    return value if value is None or isinstance(value, str | float | bool) else STRUCTURE


def _member(value: object, step: str | int) -> object:
    if isinstance(step, str):
        return value.get(step, UNSET) if isinstance(value, dict) else UNSET
    return value[step] if isinstance(value, list) and -len(value) <= step < len(value) else UNSET
