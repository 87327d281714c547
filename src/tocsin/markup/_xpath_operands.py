"""What parts of an XPath expression amount to, as conditions; where that is too little, only their kind is kept."""

from __future__ import annotations

from enum import Enum

from tocsin.markup._xpath_words import Kind
from tocsin.markup.conditions import Compare, Condition, Every, Exists, Negated, Some, Step, XmlPath
from tocsin.markup.xpath_numbers import number

LONGEST_CONSTANT = 256  # so that longer string values of elements, which contain each other, need not be kept
MOST_STEPS = 32  # of a path that all documents are asked for; the time of others is measured
_TURNED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_CONDITIONS = (Compare, Exists, Every, Some, Negated)
TRUE, FALSE = Every(()), Some(())


class Beyond(Enum):
    """More than a condition."""

    NODES = "node-set"
    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"


Paths = tuple[XmlPath, ...]  # a node-set: the union of what stands at these
Operand = Paths | str | float | Condition | Beyond
HERE: Paths = (XmlPath((), "", False),)


def kind_of(operand: Operand) -> Kind:
    match operand:
        case Beyond():
            return operand.value
        case tuple():
            return "node-set"
        case str():
            return "string"
        case float():
            return "number"
    return "boolean"


def condition(operand: Operand) -> Condition | None:
    """Its `boolean()`. Constants have one, too, but who asks for that is not worth an index."""
    if isinstance(operand, tuple):
        return _some(tuple([Exists(path) for path in operand]))
    return operand if isinstance(operand, _CONDITIONS) else None


def negated(operand: Operand) -> Operand:
    of = condition(operand)
    return Beyond.BOOLEAN if of is None else Negated(of)


def joined(how: str, left: Operand, right: Operand) -> Operand:
    one, other = condition(left), condition(right)
    if one is None or other is None:
        return Beyond.BOOLEAN
    conditions = _parts(how, one) + _parts(how, other)
    return _some(conditions) if how == "or" else _every(conditions)


def compared(how: str, left: Operand, right: Operand) -> Operand:
    """A path with a constant; turned round when that stands left."""
    if isinstance(right, tuple):
        left, how, right = right, _TURNED[how], left
    if not isinstance(left, tuple) or not isinstance(right, str | float):
        return Beyond.BOOLEAN
    if isinstance(right, str):
        if len(right) > LONGEST_CONSTANT:
            return Beyond.BOOLEAN
        if how not in ("=", "!="):  # strings are not ordered (XPath 1.0 s3.4)
            right = number(right)
    if right != right:
        return FALSE
    return _some(tuple([Compare(path, how, right) for path in left]))  # type: ignore[arg-type]


def minus(operand: Operand) -> Operand:
    return 0.0 - operand if isinstance(operand, float) else Beyond.NUMBER


def called(name: str, arguments: list[Operand]) -> Operand | None:
    match name:
        case "true":
            return TRUE
        case "false":
            return FALSE
        case "not":
            return negated(arguments[0])
        case "boolean":
            return condition(arguments[0])
    return None


def _parts(how: str, of: Condition) -> tuple[Condition, ...]:
    match of:
        case Some(conditions) if how == "or":
            return conditions
        case Every(conditions) if how == "and":
            return conditions
    return (of,)


def _some(conditions: tuple[Condition, ...]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Some(conditions)


def _every(conditions: tuple[Condition, ...]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Every(conditions)


class Route:
    """A location path while it is being read."""

    def __init__(self, absolute: bool) -> None:
        self.absolute, self.beyond = absolute, False
        self.steps: list[Step] = []
        self.leaf, self.deep_leaf = "", False
        self.having: Condition | None = None

    def element(self, name: str, deep: bool) -> None:
        if self.leaf or self.having is not None or len(self.steps) == MOST_STEPS:
            self.beyond = True
        else:
            self.steps.append(Step(name, deep))

    def end(self, leaf: str, deep: bool) -> None:
        """`//` before it also reaches the attributes and texts of the element itself."""
        if self.leaf or (deep and self.having is not None):
            self.beyond = True
        self.leaf, self.deep_leaf = leaf, deep

    def here(self, deep: bool) -> None:
        if self.leaf or deep:
            self.beyond = True

    def predicate(self, operand: Operand) -> None:
        asked = None if kind_of(operand) == "number" else condition(operand)
        if asked is None or self.leaf or not self.steps or not _of_attributes(asked):
            self.beyond = True
        else:
            self.having = asked if self.having is None else _every((*_parts("and", self.having), *_parts("and", asked)))

    def operand(self) -> Operand:
        if self.beyond:
            return Beyond.NODES
        steps = tuple(self.steps)
        if self.absolute and not steps and not self.deep_leaf:  # the document has no attributes and no text nodes
            return Beyond.NODES if self.leaf else HERE
        own = XmlPath(steps, self.leaf, self.absolute, self.having)
        if not self.deep_leaf:
            return (own,)
        below = XmlPath((*steps, Step("*", True)), self.leaf, self.absolute)
        return (own, below) if steps or not self.absolute else (below,)


def _of_attributes(asked: Condition) -> bool:
    match asked:
        case Compare(path=XmlPath(steps, leaf, absolute, having)) | Exists(path=XmlPath(steps, leaf, absolute, having)):
            return not steps and not absolute and having is None and leaf[:1] == "@"
        case Every(conditions) | Some(conditions):
            return all(map(_of_attributes, conditions))
        case Negated(of):
            return _of_attributes(of)
    return False
