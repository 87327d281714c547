"""FILTER expressions of graph patterns (SPARQL 1.1 s17), read as tests of single variables joined by and/or."""

from fractions import Fraction
from itertools import islice, product
from typing import NoReturn, cast

from msgspec import Struct

from tocsin.markup.conditions import MIRRORED
from tocsin.markup.graphs._names import NameReader, Tokens, Written
from tocsin.markup.graphs.graph_pattern import All, Any, Comparator, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.graphs.literals import XSD, Kind, Value, literal_value, number_value
from tocsin.markup.regexes import LARGEST, problem_of, weight_of


class VariableTest(Struct, frozen=True):
    """A test of one variable."""

    variable: str
    test: Test
    at: int


class Both(Struct, frozen=True):
    parts: tuple["Formula", ...]


class Either(Struct, frozen=True):
    parts: tuple["Formula", ...]


Formula = VariableTest | Both | Either


def negated(formula: Formula) -> Formula:
    """By De Morgan, which holds with errors too (SPARQL 1.1 s17.2)."""
    match formula:
        case VariableTest(variable, test, at):
            return VariableTest(variable, test.test if isinstance(test, Opposite) else Opposite(test), at)
        case Both(parts):
            return Either(tuple(map(negated, parts)))
        case Either(parts):
            return Both(tuple(map(negated, parts)))


def joined(parts: list[Formula], of_one: type[All] | type[Any], of_several: type[Both] | type[Either]) -> Formula:
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, VariableTest):
        tests = [part.test for part in parts if isinstance(part, VariableTest) and part.variable == first.variable]
        if len(tests) == len(parts):
            return VariableTest(first.variable, of_one(tuple(tests)), first.at)
    return of_several(tuple(parts))


def one_by_one(formula: Formula) -> tuple[VariableTest, ...]:
    """All tests that it makes, in order."""
    match formula:
        case VariableTest(variable, All(tests), at):
            return tuple(VariableTest(variable, test, at) for test in tests)
        case VariableTest():
            return (formula,)
    return tuple(asked for part in formula.parts for asked in one_by_one(part))


def ways(formula: Formula, most: int) -> list[tuple[VariableTest, ...]]:
    """The ways for it to hold, each of which asks every variable for itself; no more of them than `most`."""
    match formula:
        case VariableTest():
            return [one_by_one(formula)]
        case Either(parts):
            return list(islice((way for part in parts for way in ways(part, most)), most))
    sure = [asked for part in formula.parts if isinstance(part, VariableTest) for asked in one_by_one(part)]
    found = [tuple(sure)]
    for part in formula.parts:
        if not isinstance(part, VariableTest) and len(found) < most:
            found = list(islice(((*one, *other) for one, other in product(found, ways(part, most))), most))
    return found


_LONGEST_NUMBER = 100
_OF_SUM = 20  # words, as to the effort
_INSTEAD = {
    "BOUND": "what is not optional is always bound",
    "STR": "write the variable itself; regex asks strings",
    "LANG": 'write langMatches(lang(?x), "en")',
    "DATATYPE": "write the datatype as the variable's class",
    "CONTAINS": 'write regex(?x, "text", "q")',
    "STRSTARTS": 'write regex(?x, "^text")',
    "STRENDS": 'write regex(?x, "text$")',
    "EXISTS": "write the pattern itself, or OPTIONAL",
    "NOT": "a pattern cannot ask for what is not there",
    "COUNT": "an event is matched alone: there are no aggregates",
}


Number = Fraction | float
Operand = str | Written | Number  # a variable, a literal, or what was computed


class Filters:
    """The parser of FILTER expressions."""

    __slots__ = ("_names", "_regexes", "_words")

    def __init__(self, words: Tokens, names: NameReader) -> None:
        self._words, self._names, self._regexes = words, names, 0

    def read(self) -> Formula:
        return self._condition(self._words.at, self._either())

    def constraint(self) -> Formula:
        """What FILTER takes: a call, or an expression in brackets (SPARQL 1.1 s19.8, Constraint)."""
        if not self._words.sees("(") and not self._sees_call():
            self._words.fail("FILTER needs brackets around its expression")
        return self._condition(self._words.at, self._primary())

    def _sees_call(self) -> bool:
        return self._words.kind == "word" and self._words.word not in ("true", "false")

    def _condition(self, at: int, found: Formula | Operand) -> Formula:
        match found:
            case VariableTest() | Both() | Either():
                return found
            case str():
                self._words.fail(f"{found} must be compared with something: {found} = true asks for a truth", at)
        return self._words.fail("a constant is no condition", at)

    def _operand(self, at: int, found: Formula | Operand) -> Operand:
        if isinstance(found, VariableTest | Both | Either):
            self._words.fail("a condition is neither compared nor computed with: join conditions by && and ||", at)
        return found

    def _either(self) -> Formula | Operand:
        at, first = self._words.at, self._every()
        if self._words.operator() != "||":
            return first
        parts = [self._condition(at, first)]
        while self._words.takes("||"):
            parts.append(self._condition(self._words.at, self._every()))
        return joined(parts, Any, Either)

    def _every(self) -> Formula | Operand:
        at, first = self._words.at, self._relation()
        if self._words.operator() != "&&":
            return first
        parts = [self._condition(at, first)]
        while self._words.takes("&&"):
            parts.append(self._condition(self._words.at, self._relation()))
        return joined(parts, All, Both)

    def _relation(self) -> Formula | Operand:
        at, left = self._words.at, self._sum()
        operator = self._words.operator()
        if operator in ("IN", "NOT"):
            return self._among(at, self._operand(at, left))
        if operator not in MIRRORED:
            return left
        self._words.advance()
        here = self._words.at
        return self._compared(at, self._operand(at, left), operator, self._operand(here, self._sum()))

    def _compared(self, at: int, left: Operand, operator: str, right: Operand) -> Formula:
        match left, right:
            case str(), str():
                self._words.fail("two variables cannot be compared: a pattern asks each literal for itself", at)
            case str(), Written() | Fraction() | float():
                return VariableTest(left, Compared(cast(Comparator, operator), _value(right)), at)
            case Written() | Fraction() | float(), str():
                return VariableTest(right, Compared(MIRRORED[operator], _value(left)), at)
        return self._words.fail("there is no variable in this comparison", at)

    def _among(self, at: int, left: Operand) -> Formula:
        words = self._words
        denied = words.taken().upper() == "NOT"
        if denied and words.operator() != "IN":
            words.fail("IN is expected here")
        if denied:
            words.advance()
        if not isinstance(left, str):
            words.fail("IN needs a variable before it", at)
        test = Any(tuple(Compared("=", _value(each)) for each in self._list()))
        return VariableTest(left, Opposite(test) if denied else test, at)

    def _list(self) -> list[Written | Number]:
        words, found = self._words, list[Written | Number]()
        words.expect("(")
        while not words.sees(")") and (not found or words.takes(",") or words.fail("',' is expected here")):
            at = words.at
            each = self._operand(at, self._sum())
            if isinstance(each, str):
                words.fail(f"{each} is a variable: IN takes constants", at)
            found.append(each)
        words.expect(")")
        return found

    def _sum(self) -> Formula | Operand:
        found = self._product()
        while (how := self._words.operator()) in ("+", "-"):
            at = self._words.at
            self._words.advance()
            found = self._computed(at, how, found, self._product())
        return found

    def _product(self) -> Formula | Operand:
        found = self._signed()
        while (how := self._words.operator()) in ("*", "/"):
            at = self._words.at
            self._words.advance()
            found = self._computed(at, how, found, self._signed())
        return found

    def _signed(self) -> Formula | Operand:
        words = self._words
        if words.kind != "symbol" or words.word not in ("!", "+", "-"):
            return self._primary()
        at, sign = words.at, words.taken()
        found = words.deeper(self._signed)
        return self._denied(self._condition(at, found)) if sign == "!" else self._computed(at, sign, Fraction(0), found)

    def _denied(self, formula: Formula) -> Formula:
        self._words.spend(len(one_by_one(formula)))
        return negated(formula)

    def _primary(self) -> Formula | Operand:
        words = self._words
        match words.kind:
            case "variable":
                return f"?{words.taken()[1:]}"
            case "symbol" if words.takes("("):
                found = words.deeper(self._either)
                words.expect(")")
                return found
            case "iri" | "name":
                self._thing()
            case "blank":
                words.fail("a filter asks variables that stand for literals, and no blank nodes")
            case "word" if self._sees_call():
                return self._call()
        literal = self._names.literal()
        return literal if literal is not None else words.fail("a variable or a constant is expected here")

    def _thing(self) -> NoReturn:
        at = self._words.at
        iri = self._names.iri(bare=False)
        if self._words.sees("("):
            self._words.fail(f"the function {iri} is not known", at)
        self._words.fail("a filter asks literals: write the IRI where the variable stands, or a UNION of several", at)

    def _computed(self, at: int, how: str, first: Formula | Operand, second: Formula | Operand) -> Operand:
        self._words.spend(_OF_SUM)
        left, right = self._operand(at, first), self._operand(at, second)
        if isinstance(left, str) or isinstance(right, str):
            self._words.fail("only constants can be computed with: bring all numbers to the other side", at)
        one, other = self._number(at, left), self._number(at, right)
        if isinstance(one, float) or isinstance(other, float):
            one, other = self._double(at, one), self._double(at, other)
        if how == "/" and other == 0:
            self._words.fail("this divides by zero", at)
        match how:
            case "+":
                return one + other
            case "-":
                return one - other
            case "*":
                return one * other
        return one / other

    def _double(self, at: int, number: Number) -> float:
        try:
            return float(number)
        except OverflowError:
            return self._words.fail("this number is too large", at)

    def _number(self, at: int, operand: Written | Number) -> Number:
        if not isinstance(operand, Written):
            return operand
        value = literal_value(*operand)
        if value.kind is not Kind.NUMBER:
            self._words.fail("only numbers can be computed with", at)
        exact = operand.datatype not in (f"{XSD}double", f"{XSD}float")
        if exact and len(operand.lexical) > _LONGEST_NUMBER:
            self._words.fail(f"a number has more than {_LONGEST_NUMBER} characters", at)
        return Fraction(operand.lexical.strip()) if exact else value.number

    def _call(self) -> Formula:
        words = self._words
        at, name = words.at, words.keyword()
        if name not in ("REGEX", "LANGMATCHES"):
            self._refused()
        words.advance()
        words.expect("(")
        found = self._regex(at) if name == "REGEX" else self._spoken(at)
        words.expect(")")
        return found

    def _refused(self) -> NoReturn:
        name = self._words.keyword()
        hint = _INSTEAD.get(name, "there are comparisons, IN, regex and langMatches")
        self._words.fail(f"{self._words.word} cannot be asked of an event: {hint}")

    def _variable(self) -> str:
        if self._words.kind == "word":
            self._refused()
        if self._words.kind != "variable":
            self._words.fail("a variable is expected here")
        return f"?{self._words.taken()[1:]}"

    def _regex(self, at: int) -> Formula:
        words = self._words
        variable = self._variable()
        words.expect(",")
        place = words.at
        regex = self._names.text()
        flags = self._names.text() if words.takes(",") else ""
        like = Like(regex, "".join(sorted(set(flags))))
        if problem := problem_of(like):
            words.fail(problem, place)
        self._regexes += weight_of(like)
        if self._regexes > LARGEST:
            words.fail("the regular expressions are too large together: repeat less (x{9}), or use fewer \\p", place)
        return VariableTest(variable, like, at)

    def _spoken(self, at: int) -> Formula:
        words = self._words
        if words.keyword() != "LANG":
            words.fail("lang(?x) is expected here")
        words.advance()
        words.expect("(")
        variable = self._variable()
        words.expect(")")
        words.expect(",")
        return VariableTest(variable, Spoken(self._names.text().lower()), at)


def _value(operand: Written | Number) -> Value:
    if isinstance(operand, Written):
        return literal_value(*operand)
    try:
        return number_value(float(operand))
    except OverflowError:
        return Value(Kind.NUMBER, float("inf") if operand > 0 else float("-inf"))
