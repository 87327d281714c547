"""Reads XPath 1.0 expressions as conditions, where they are no more than that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from tocsin.markup import xpath
from tocsin.markup._xpath_terms import (
    AXES,
    END,
    FUNCTIONS,
    HERE,
    LONGEST_CONSTANT,
    NEGATION,
    NO_CHARACTER,
    NODE_TYPES,
    PRECEDENCE,
    STARTS_NAME,
    WORD,
    Beyond,
    Operand,
    Route,
    called,
    compared,
    condition,
    joined,
    kind_of,
    minus,
    start_of,
)
from tocsin.markup.conditions import Condition, ExpressionError
from tocsin.markup.xpath import LONGEST, XPathError

__all__ = ["DEEPEST", "LONGEST_CONSTANT", "read"]

DEEPEST = 64
_XML = "http://www.w3.org/XML/1998/namespace"
_SLASHES = ("/", "//")
_AND, _RELATIONAL, _ADDITIVE = 2, 4, 5


def read(text: str, namespaces: Mapping[str, str]) -> Condition | None:
    """None for what is XPath 1.0, but more than a condition; raises `ExpressionError` for what is none."""
    if len(text) > LONGEST:
        raise ExpressionError(text, LONGEST, f"the expression has more than {LONGEST} characters")
    if not text.isprintable() and (found := NO_CHARACTER.search(text)):
        raise ExpressionError(text, found.start(), "this is no character of XML")
    amounts_to = condition(_Reader(text, namespaces).whole())
    if amounts_to is None:
        # By who will have to evaluate it.
        try:
            xpath.check(text, dict(namespaces))
        except XPathError as problem:
            raise ExpressionError(text, 0, str(problem)) from None
    return amounts_to


class _Reader:
    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self._text, self._namespaces = text, namespaces
        self._words: list[str] = WORD.findall(text)
        self._words.append(END)
        self._at = self._depth = self._predicates = 0

    def whole(self) -> Operand:
        operand = self._expression()
        if self._words[self._at] != END:
            self._fail("an operator or the end is expected here")
        return operand

    def _expression(self) -> Operand:
        """Operators wait until one comes that binds no stronger, so that only brackets nest."""
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(f"this is nested more than {DEEPEST} deep; write it with fewer brackets")
        operands: list[Operand] = []
        waiting: list[tuple[str, int]] = []
        while True:
            while self._words[self._at] == "-":
                waiting.append((NEGATION, self._at))
                self._at += 1
            operands.append(self._operand())
            operator = self._words[self._at]
            strength = PRECEDENCE.get(operator, 0)
            while waiting and PRECEDENCE[waiting[-1][0]] >= strength:
                self._reduce(operands, *waiting.pop())
            if not strength:
                break
            waiting.append((operator, self._at))
            self._at += 1
        self._depth -= 1
        return operands[0]

    def _reduce(self, operands: list[Operand], operator: str, at: int) -> None:
        right = operands.pop()
        if operator == NEGATION:
            operands.append(minus(right))
            return
        strength, left = PRECEDENCE[operator], operands.pop()
        if strength <= _AND:
            operands.append(joined(operator, left, right))
        elif strength <= _RELATIONAL:
            operands.append(compared(operator, left, right))
        else:
            operands.append(Beyond.NUMBER if operator != "|" else self._union(left, right, at))

    def _union(self, left: Operand, right: Operand, at: int) -> Operand:
        if kind_of(left) != "node-set" or kind_of(right) != "node-set":
            self._fail("only node-sets have a union", at)
        return left + right if isinstance(left, tuple) and isinstance(right, tuple) else Beyond.NODES

    def _operand(self) -> Operand:
        word, at = self._words[self._at], self._at
        first = word[0]
        if first in "\"'":
            primary: Operand = self._literal(word)
        elif "0" <= first <= "9" or (first == "." and word != "." and word != ".."):
            primary = float(word)
            self._at += 1
        elif first == "(":
            self._at += 1
            primary = self._expression()
            self._expect(")")
        elif STARTS_NAME(word) and word not in NODE_TYPES and self._words[at + 1] == "(":
            primary = self._call(word)
        else:
            return self._path()
        return self._filtered(primary, at) if self._words[self._at] in ("[", *_SLASHES) else primary

    def _literal(self, word: str) -> str:
        if len(word) == 1:
            self._fail("this string does not end; a quotation mark is missing")
        self._at += 1
        return word[1:-1]

    def _filtered(self, primary: Operand, at: int) -> Operand:
        if kind_of(primary) != "node-set":
            self._fail("only a node-set can be followed by a predicate or a path", at)
        while self._words[self._at] == "[":
            self._predicate()
        if self._words[self._at] in _SLASHES:
            self._steps(Route(True))
        return Beyond.NODES

    def _call(self, name: str) -> Operand:
        at = self._at
        function = FUNCTIONS.get(name)
        if function is None:
            self._fail(f"there is no function {name}() in XPath 1.0")
        if name in ("last", "position") and not self._predicates:
            self._fail(f"{name}() means something only inside a predicate")
        self._at += 2
        arguments = self._arguments()
        if not function.least <= len(arguments) <= function.most:
            self._fail(f"{name}() does not take {len(arguments)} arguments", at)
        if function.takes_nodes and arguments and kind_of(arguments[0]) != "node-set":
            self._fail(f"{name}() takes a node-set", at)
        return called(name, arguments) or Beyond(function.gives)

    def _arguments(self) -> list[Operand]:
        arguments: list[Operand] = []
        if self._words[self._at] != ")":
            arguments.append(self._expression())
            while self._words[self._at] == ",":
                self._at += 1
                arguments.append(self._expression())
        self._expect(")")
        return arguments

    def _path(self) -> Operand:
        word = self._words[self._at]
        if word not in _SLASHES:
            route = Route(False)
            self._step(route, False)
        else:
            after = self._words[self._at + 1]
            if word == "/" and not (after in ("*", "@", ".", "..") or STARTS_NAME(after)):
                self._at += 1
                return HERE  # the document's string value is its root element's
            route = Route(True)
        self._steps(route)
        return route.operand()

    def _steps(self, route: Route) -> None:
        words = self._words
        while (word := words[self._at]) in _SLASHES:
            self._at += 1
            self._step(route, word == "//")

    def _step(self, route: Route, deep: bool) -> None:
        word = self._words[self._at]
        if word == "@":
            self._at += 1
            self._attribute(route, deep)
        elif word == ".":
            self._at += 1
            route.here(deep)
            return  # no predicates (XPath 1.0 s2.5)
        elif word == "..":
            self._at += 1
            route.beyond = True
            return
        elif word == "*" or STARTS_NAME(word):
            after = self._words[self._at + 1]
            if after == "(":
                self._node_type(route, deep)
            elif after == "::":
                self._axis(route)
            else:
                route.element(self._name(word), deep)
        else:
            self._fail_at_step(word)
        while self._words[self._at] == "[":
            route.predicate(self._predicate())

    def _attribute(self, route: Route, deep: bool) -> None:
        word = self._words[self._at]
        if word[-1] == "*" or (STARTS_NAME(word) and self._words[self._at + 1] == "("):
            self._node_test()
            route.beyond = True
        elif STARTS_NAME(word):
            route.end("@" + self._name(word), deep)
        else:
            self._fail("the name of an attribute is expected here")

    def _axis(self, route: Route) -> None:
        if not AXES.fullmatch(self._words[self._at]):
            self._fail(f"there is no axis {self._words[self._at]} in XPath 1.0")
        self._at += 2
        self._node_test()
        route.beyond = True

    def _node_test(self) -> None:
        word = self._words[self._at]
        if STARTS_NAME(word) and self._words[self._at + 1] == "(":
            self._node_type(Route(False), False)
        elif word == "*" or STARTS_NAME(word):
            self._name(word)
        else:
            self._fail("a name is expected here")

    def _node_type(self, route: Route, deep: bool) -> None:
        word = self._words[self._at]
        if word not in NODE_TYPES:
            self._fail(f"a path cannot go on with the function {word}()")
        self._at += 2
        if word == "processing-instruction" and self._words[self._at][0] in "\"'":
            self._literal(self._words[self._at])
        self._expect(")")
        if word == "text":
            route.end("text()", deep)
        else:
            route.beyond = True

    def _predicate(self) -> Operand:
        self._at += 1
        self._predicates += 1
        operand = self._expression()
        self._predicates -= 1
        self._expect("]")
        return operand

    def _name(self, word: str) -> str:
        prefix, colon, local = word.partition(":")
        if not colon:
            self._at += 1
            return word
        namespace = _XML if prefix == "xml" else self._namespaces.get(prefix)
        if not namespace:
            self._fail(f"the prefix {prefix} is not declared here")
        self._at += 1
        return f"{{{namespace}}}{local}"

    def _expect(self, word: str) -> None:
        if self._words[self._at] != word:
            self._fail(f"{word} is expected here")
        self._at += 1

    def _fail_at_step(self, word: str) -> NoReturn:
        if word == "$":
            self._fail("no variables are known here")
        self._fail("the expression ends too early" if word == END else "a value or a path is expected here")

    def _fail(self, why: str, at: int | None = None) -> NoReturn:
        raise ExpressionError(self._text, start_of(self._text, self._at if at is None else at), why)
