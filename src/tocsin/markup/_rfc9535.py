"""Full JSONPath (RFC 9535) by a library, which is imported only for expressions that are no condition.

The library takes a little more than the grammar has, and errs on `@` of a falsy value; both are mended here.
"""

import re
from collections.abc import Callable

from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError, JSONPathNodeList
from jsonpath_rfc9535.exceptions import JSONPathSyntaxError
from jsonpath_rfc9535.filter_expressions import (
    ComparisonExpression,
    Expression,
    FilterContext,
    FilterExpression,
    FilterExpressionLiteral,
    FilterQuery,
    FunctionExtension,
    RelativeFilterQuery,
)
from jsonpath_rfc9535.parse import Parser
from jsonpath_rfc9535.selectors import FilterSelector
from jsonpath_rfc9535.tokens import TokenStream, TokenType

from tocsin.markup.conditions import ExpressionError

_BEFORE, _AFTER = "$[?", "]"
_MOST_JOINED = 200  # each is one level deeper, for the library
_ELSEWHERE = re.compile(r" (?:starting )?at index [0-9]+")  # it counts what we put before the text
_COMPARABLE = (FilterExpressionLiteral, FilterQuery, FunctionExtension)


class _Current(RelativeFilterQuery):
    """`@`, of a plain value too: that it is 0 or false does not make it absent."""

    __slots__ = ()

    def evaluate(self, context: FilterContext) -> object:
        return JSONPathNodeList(self.query.find(context.current))  # type: ignore[arg-type]


class _Comparison(ComparisonExpression):
    """Within arrays and objects, too, `true` is not 1 (RFC 9535 s2.3.5.2.2)."""

    __slots__ = ()

    def evaluate(self, context: FilterContext) -> bool:
        compared = super().evaluate(context)
        if compared is (self.operator != "!=") and self.operator not in ("<", ">"):
            left, right = _value(self.left.evaluate(context)), _value(self.right.evaluate(context))
            if isinstance(left, list | dict) and isinstance(right, list | dict):
                return _same(left, right) is compared
        return compared


class _Parser(Parser):
    def parse_relative_query(self, stream: TokenStream) -> Expression:
        found = super().parse_relative_query(stream)
        return _Current(found.token, found.query) if isinstance(found, RelativeFilterQuery) else found

    def parse_infix_expression(self, stream: TokenStream, left: Expression) -> Expression:
        found = super().parse_infix_expression(stream, left)
        if not isinstance(found, ComparisonExpression):
            return found
        if not isinstance(found.left, _COMPARABLE) or not isinstance(found.right, _COMPARABLE):
            raise JSONPathSyntaxError("only values and queries can be compared", token=found.token)
        return _Comparison(found.token, found.left, found.operator, found.right)

    def parse_prefix_expression(self, stream: TokenStream) -> Expression:
        if stream.peek.type_ == TokenType.NOT:
            raise JSONPathSyntaxError("'!' cannot follow another", token=stream.peek)
        return super().parse_prefix_expression(stream)


class _Environment(JSONPathEnvironment):
    parser_class = _Parser


_ENVIRONMENT = _Environment()


def compiled(text: str) -> Callable[[object], bool]:
    """The truth of a logical expression about a document, which is `$` and, outside of brackets, also `@`."""
    expression = _expression(text)

    def truth(document: object) -> bool:
        about = FilterContext(env=_ENVIRONMENT, current=document, root=document)  # type: ignore[arg-type]
        try:
            return expression.evaluate(about)
        except JSONPathError as problem:
            raise ValueError(f"the document cannot be searched: {problem}") from None

    return truth


def _expression(text: str) -> FilterExpression:
    if text.count("&&") + text.count("||") > _MOST_JOINED:
        raise ExpressionError(text, 0, f"more than {_MOST_JOINED} tests are joined")
    try:
        match _ENVIRONMENT.compile(_BEFORE + text + _AFTER).segments:
            case (segment,) if len(segment.selectors) == 1 and isinstance(segment.selectors[0], FilterSelector):
                return segment.selectors[0].expression
    except JSONPathError as problem:
        at = len(text) if problem.token is None else problem.token.index - len(_BEFORE)
        raise ExpressionError(text, min(max(at, 0), len(text)), _ELSEWHERE.sub("", str(problem.args[0]))) from None
    except (ArithmeticError, RecursionError, ValueError, IndexError) as problem:
        raise ExpressionError(text, 0, f"no JSONPath that can be evaluated: {problem}") from None
    raise ExpressionError(text, 0, "more than one logical expression")


def _value(found: object) -> object:
    return found[0].value if isinstance(found, JSONPathNodeList) and len(found) == 1 else found


def _same(left: object, right: object) -> bool:
    match left, right:
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
        case list(), list():
            return len(left) == len(right) and all(map(_same, left, right))
    return left == right and isinstance(left, bool) is isinstance(right, bool)
