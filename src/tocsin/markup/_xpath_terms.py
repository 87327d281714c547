"""The tokens, functions (XPath 1.0 s3.7, s4) and operands of XPath expressions that are read as conditions."""

from __future__ import annotations

import re
from enum import Enum
from typing import Literal, NamedTuple

from tocsin.markup.conditions import (
    MIRRORED,
    Compare,
    Condition,
    Every,
    Exists,
    Negated,
    Some,
    Step,
    XmlPath,
    every,
    some,
)
from tocsin.markup.xpath import number
from tocsin.model.names import NAME_START, NCNAME

Kind = Literal["node-set", "string", "number", "boolean"]

_NAME = NCNAME.pattern
_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_OTHERS = r"//|\.\.|::|[!<>]=|[^ \t\r\n]"
WORD = re.compile(rf"""[ \t\r\n]*({_NAME}(?::(?:{_NAME}|\*))?|"[^"]*"|'[^']*'|{_NUMBER}|{_OTHERS})""")
STARTS_NAME = re.compile(f"[{NAME_START}]").match
NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
END = "\0"

NODE_TYPES = frozenset(("text", "node", "comment", "processing-instruction"))
AXES = re.compile(
    "(?:ancestor|descendant)(?:-or-self)?|(?:following|preceding)(?:-sibling)?|attribute|child|namespace|parent|self"
)
NEGATION = "negation"
PRECEDENCE = {"or": 1, "and": 2, "=": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4}
PRECEDENCE |= {"+": 5, "-": 5, "*": 6, "div": 6, "mod": 6, NEGATION: 7, "|": 8}


class Function(NamedTuple):
    gives: Kind
    least: int
    most: int
    takes_nodes: bool = False


_MANY = 4096
FUNCTIONS = {
    "last": Function("number", 0, 0),
    "position": Function("number", 0, 0),
    "count": Function("number", 1, 1, True),
    "id": Function("node-set", 1, 1),
    "local-name": Function("string", 0, 1, True),
    "namespace-uri": Function("string", 0, 1, True),
    "name": Function("string", 0, 1, True),
    "string": Function("string", 0, 1),
    "concat": Function("string", 2, _MANY),
    "starts-with": Function("boolean", 2, 2),
    "contains": Function("boolean", 2, 2),
    "substring-before": Function("string", 2, 2),
    "substring-after": Function("string", 2, 2),
    "substring": Function("string", 2, 3),
    "string-length": Function("number", 0, 1),
    "normalize-space": Function("string", 0, 1),
    "translate": Function("string", 3, 3),
    "boolean": Function("boolean", 1, 1),
    "not": Function("boolean", 1, 1),
    "true": Function("boolean", 0, 0),
    "false": Function("boolean", 0, 0),
    "lang": Function("boolean", 1, 1),
    "number": Function("number", 0, 1),
    "sum": Function("number", 1, 1, True),
    "floor": Function("number", 1, 1),
    "ceiling": Function("number", 1, 1),
    "round": Function("number", 1, 1),
}


def start_of(text: str, index: int) -> int:
    """Where a token stands; counted again, for only errors ask."""
    for place, found in enumerate(WORD.finditer(text)):
        if place == index:
            return found.start(1)
    return len(text)


LONGEST_CONSTANT = 256  # so that longer string values of elements, which contain each other, need not be kept
MOST_STEPS = 32  # of a path that all documents are asked for; the time of others is measured
_CONDITIONS = (Compare, Exists, Every, Some, Negated)
TRUE, FALSE = Every(()), Some(())


class Beyond(Enum):
    """The kind of an operand that is more than a condition."""

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
        return some(Exists(path) for path in operand)
    return operand if isinstance(operand, _CONDITIONS) else None


def negated(operand: Operand) -> Operand:
    of = condition(operand)
    return Beyond.BOOLEAN if of is None else Negated(of)


def joined(how: str, left: Operand, right: Operand) -> Operand:
    one, other = condition(left), condition(right)
    if one is None or other is None:
        return Beyond.BOOLEAN
    conditions = _parts(how, one) + _parts(how, other)
    return some(conditions) if how == "or" else every(conditions)


def compared(how: str, left: Operand, right: Operand) -> Operand:
    """A path with a constant; turned round when that stands left."""
    if isinstance(right, tuple):
        left, how, right = right, MIRRORED[how], left
    if not isinstance(left, tuple) or not isinstance(right, str | float):
        return Beyond.BOOLEAN
    if isinstance(right, str):
        if len(right) > LONGEST_CONSTANT:
            return Beyond.BOOLEAN
        if how not in ("=", "!="):  # strings are not ordered (XPath 1.0 s3.4)
            right = number(right)
    if right != right:
        return FALSE
    return some(Compare(path, how, right) for path in left)  # type: ignore[arg-type]


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
            self.having = asked if self.having is None else every((*_parts("and", self.having), *_parts("and", asked)))

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
