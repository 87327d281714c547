"""CloudEvents SQL 1.0.0: expressions over the context attributes of an event, read as conditions.

An error ends an expression, and what ended so passes no filter, negated or not (s1.2). A condition knows no errors: so
of every expression two are made, when it is true and when it is false, and when neither holds it was an error.
"""

import re
from collections.abc import Mapping

from msgspec import Struct

from tocsin.markup import cesql_terms as terms
from tocsin.markup.cesql_terms import Call, Chain, Identifier, In, Like, Literal, Minus, Not, Present, Term
from tocsin.markup.conditions import (
    DEEPEST,
    MIRRORED,
    Attribute,
    Comparator,
    Compare,
    Computed,
    Condition,
    Every,
    Exists,
    Negated,
    Scanner,
    Some,
    every,
    some,
)

_MOST = 256  # comparisons in one condition; what would become larger is computed as a whole
_REQUIRED = frozenset(("id", "source", "specversion", "type"))
_ALWAYS, _NEVER = Every(()), Some(())
_WORD = re.compile(r"[A-Za-z0-9_]+")
_DIGITS = re.compile(r"[+-]?[0-9]+(?![A-Za-z0-9_])")
_NAME = re.compile(r"[a-z0-9]+(?![A-Za-z0-9_])")
_FUNCTION = re.compile(r"[A-Za-z][A-Za-z_]*(?=[ \t\r\n]*\()")
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_NEGATABLE = re.compile(r"(?:NOT[ \t\r\n]+)?(?:LIKE|IN)(?![A-Za-z0-9_])", re.IGNORECASE)
_KEYWORDS = frozenset(("AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"))
# From the loosest to the tightest (s3.6).
_LEVELS = (
    re.compile(r"(?:AND|OR|XOR)(?![A-Za-z0-9_])", re.IGNORECASE),
    re.compile(r"=|!=|<>|>=|<=|>|<"),
    re.compile(r"[+-]"),
    re.compile(r"[*/%]"),
)
_LOGIC = frozenset(("AND", "OR", "XOR"))
_COMPARISONS: dict[str, tuple[Comparator, Comparator]] = {  # and when it does not hold
    "=": ("=", "!="),
    "!=": ("!=", "="),
    "<": ("<", ">="),
    "<=": ("<=", ">"),
    ">": (">", "<="),
    ">=": (">=", "<"),
}


def read(text: str) -> Condition:
    return _both(parse(text)).true


def evaluate(text: str, attributes: Mapping[str, str]) -> bool:
    return terms.outcome(parse(text), attributes.get) is True


def parse(text: str) -> Term:
    reader = _Reader(text)
    found = reader.level(0)
    reader.scanner.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.scanner = Scanner(text)

    def level(self, number: int) -> Term:
        if number == len(_LEVELS):
            return self._matched()
        first, rest = self.level(number + 1), []
        while how := self.scanner.take(_LEVELS[number]):
            if how == "=" and self.scanner.text.startswith("=", self.scanner.at):
                self.scanner.fail("write =: CloudEvents SQL compares with one", self.scanner.at)
            rest.append((_symbol(how), self.level(number + 1)))
        return Chain(first, tuple(rest)) if rest else first

    def _matched(self) -> Term:
        found = self._unary()
        for _ in range(DEEPEST):
            how = self.scanner.take(_NEGATABLE)
            if how is None:
                return found
            found = Like(found, self._string()) if how.upper().endswith("LIKE") else In(found, self._set())
            found = Not(found) if how.upper().startswith("NOT") else found
        return self.scanner.fail(f"more than {DEEPEST} of LIKE and IN in a row")

    def _unary(self) -> Term:
        digits = self.scanner.take(_DIGITS)
        if digits is not None:
            if len(digits) > 32 or not terms.LOWEST <= int(digits) <= terms.HIGHEST:
                self.scanner.fail("an integer has 32 bits", self.scanner.at - len(digits))
            return Literal(int(digits), "Integer")
        if self.scanner.takes("("):
            return self._closed()
        if self.scanner.takes("-"):
            return Minus(self.scanner.deeper(self._unary))
        word = (self.scanner.sees(_WORD) or "").upper()
        if word in _KEYWORDS:
            at = self.scanner.skip()
            self.scanner.at += len(word)
            match word:
                case "NOT":
                    return Not(self.scanner.deeper(self._unary))
                case "EXISTS":
                    return Present(self._name())
                case "TRUE" | "FALSE":
                    return Literal(word == "TRUE", "Boolean")
            return self.scanner.fail(f"{word} cannot stand here", at)
        function = self.scanner.sees(_FUNCTION)
        return self._call(function) if function else self._value()

    def _closed(self) -> Term:
        found = self.scanner.deeper(lambda: self.level(0))
        self.scanner.expect(")")
        return found

    def _value(self) -> Term:
        if self.scanner.sees(_STRING):
            return Literal(self._string(), "String")
        return Identifier(self._name())

    def _name(self) -> str:
        word = self.scanner.sees(_WORD)
        if word is not None and word.upper() in _KEYWORDS:
            self.scanner.fail(f"{word} is no attribute's name")
        if word is not None and self.scanner.sees(_NAME) is None:
            self.scanner.fail("names of attributes have lower-case letters and digits only")
        return self.scanner.take(_NAME) or self.scanner.fail("a value, an attribute or '(' is expected here")

    def _string(self) -> str:
        """Only the quote itself is escaped in it (s2.2); other backslashes are for LIKE."""
        found = self.scanner.take(_STRING) or self.scanner.fail("a string in quotes is expected here")
        return found[1:-1].replace(f"\\{found[0]}", found[0])

    def _set(self) -> tuple[Term, ...]:
        self.scanner.expect("(")
        return self.scanner.deeper(self._listed)

    def _listed(self) -> tuple[Term, ...]:
        found = self.scanner.several(lambda: self.level(0), ",")
        self.scanner.expect(")")
        return tuple(found)

    def _call(self, name: str) -> Term:
        at, takes = self.scanner.skip(), terms.arity(name.upper())
        if takes is None:
            self.scanner.fail(f"there is no function {name}")
        self.scanner.at += len(name)
        self.scanner.expect("(")
        arguments = () if self.scanner.takes(")") else self.scanner.deeper(self._listed)
        if not takes[0] <= len(arguments) <= takes[1]:
            self.scanner.fail(f"{name} does not take {len(arguments)} arguments", at)
        return Call(name.upper(), arguments)


def _symbol(how: str) -> str:
    return "!=" if how == "<>" else how.upper()


class _Both(Struct, frozen=True):
    """The conditions under which an expression is true and is false; where neither holds, it is an error."""

    true: Condition
    false: Condition
    sure: bool = False  # never an error
    size: int = 2

    def swapped(self) -> "_Both":
        return _Both(self.false, self.true, self.sure, self.size)


def _both(term: Term) -> _Both:
    if next(iter(terms.names_in(term)), None) is None:
        return _constant(term)
    match term:
        case Present(name):
            there = Exists(Attribute(name))
            return _Both(there, Negated(there), sure=True)
        case Not(negated):
            return _operand(negated).swapped()
        case In(Identifier(name), elements) if all(isinstance(each, Literal) for each in elements):
            return _one_of(name, [terms.string(each.value) for each in elements if isinstance(each, Literal)])
        case Chain(Identifier(name), ((how, Literal(value)),)) if how in _COMPARISONS:
            return _compared(name, how, value)
        case Chain(Literal(value), ((how, Identifier(name)),)) if _is_said_as_string(value, how):
            # The right one says as what they are compared: an attribute, as a string (s3.7).
            return _compared(name, MIRRORED[how], terms.string(value))
        case Chain(first, ((how, _), *_) as rest) if how in _LOGIC:
            return _joined(first, rest) or _computed(term)
    return _computed(term)


def _is_said_as_string(value: object, how: str) -> bool:
    """Booleans have no order as strings, which is computed: their Integers have one."""
    return how in _COMPARISONS and (how in ("=", "!=", "<>") or not isinstance(value, bool))


def _operand(term: Term) -> _Both:
    """Of AND, OR, XOR and NOT, which cast it to a Boolean."""
    match term:
        case Identifier(name):
            return _Both(Compare(Attribute(name), "=", True), Compare(Attribute(name), "=", False))
        case Literal():
            return _constant(Not(Not(term)))
        case Minus() | Call():
            return _computed(Not(Not(term)))
        case Chain(_, ((how, _), *_)) if how not in _LOGIC and how not in _COMPARISONS:
            return _computed(Not(Not(term)))
    return _both(term)


def _constant(term: Term) -> _Both:
    found = terms.outcome(term, lambda _: None)
    true, false = (_ALWAYS if found is each else _NEVER for each in (True, False))
    return _Both(true, false, sure=found is not None)


def _computed(term: Term) -> _Both:
    return _Both(Computed(term, outcome=True), Computed(term, outcome=False))


def _compared(name: str, how: str, value: terms.Value) -> _Both:
    """Only `=` is ambiguous; the others are of integers (s3.4.2)."""
    if how not in ("=", "!="):
        try:
            value = terms.integer(value)
        except terms.EvaluationError:
            return _Both(_NEVER, _NEVER)
    attribute, constant = Attribute(name), float(value) if type(value) is int else value
    true, false = (Compare(attribute, each, constant) for each in _COMPARISONS[how])
    return _Both(true, false, sure=name in _REQUIRED and isinstance(value, str))


def _one_of(name: str, wanted: list[str]) -> _Both:
    """An attribute is a string, so the elements are cast to strings (s3.4.5)."""
    if len(wanted) > _MOST // 2:
        return _computed(In(Identifier(name), tuple(Literal(each, "String") for each in wanted)))
    each_one = [_compared(name, "=", each) for each in dict.fromkeys(wanted)]
    true, false = _some(*(each.true for each in each_one)), _every(*(each.false for each in each_one))
    return _Both(true, false, sure=name in _REQUIRED, size=2 * len(each_one))


def _joined(first: Term, rest: tuple[tuple[str, Term], ...]) -> _Both | None:
    """None when it would become too large: what may be an error must be asked for again by all that follow."""
    found = _operand(first)
    for how, term in rest:
        found = _join(found, how, _operand(term))
        if found.size > _MOST:
            return None
    return found


def _join(left: _Both, how: str, right: _Both) -> _Both:
    sure, size = left.sure and right.sure, left.size + right.size
    match how:
        case "AND":
            false = right.false if left.sure else _every(left.true, right.false)
            size = size if left.sure else 2 * size
            return _Both(_every(left.true, right.true), _some(left.false, false), sure, size)
        case "OR":
            return _join(left.swapped(), "AND", right.swapped()).swapped()
    true = _some(_every(left.true, right.false), _every(left.false, right.true))
    false = _some(_every(left.true, right.true), _every(left.false, right.false))
    return _Both(true, false, sure, 2 * size)


def _every(*conditions: Condition) -> Condition:
    flat = [one for each in conditions for one in (each.conditions if isinstance(each, Every) else (each,))]
    return _NEVER if _NEVER in flat else every(flat)


def _some(*conditions: Condition) -> Condition:
    flat = [one for each in conditions for one in (each.conditions if isinstance(each, Some) else (each,))]
    return _ALWAYS if _ALWAYS in flat else some(flat)
