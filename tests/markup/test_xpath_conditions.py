"""What of XPath 1.0 is read as conditions, what is left to others, and where errors are."""

import pytest
from tests.pace import within

from tocsin.markup.conditions import Compare, Every, Exists, ExpressionError, Negated, Some, Step, XmlPath
from tocsin.markup.xpath import LONGEST
from tocsin.markup.xpath_conditions import DEEPEST, LONGEST_CONSTANT, read

NAMESPACES = {"p": "urn:p", "re": "http://exslt.org/regular-expressions", "": "urn:default"}
A = XmlPath((Step("a"),), "", False)
NAME_IS_X = Compare(XmlPath((), "@Name", False), "=", "x")


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("a", Exists(A)),
        ("(a)", Exists(A)),
        ("/a", Exists(XmlPath((Step("a"),)))),
        ("/a//p:b/@p:c", Exists(XmlPath((Step("a"), Step("{urn:p}b", True)), "@{urn:p}c"))),
        ("//p:*/*", Exists(XmlPath((Step("{urn:p}*", True), Step("*"))))),
        ("@xml:lang", Exists(XmlPath((), "@{http://www.w3.org/XML/1998/namespace}lang", False))),
        ("and/or", Exists(XmlPath((Step("and"), Step("or")), "", False))),
        (".", Exists(XmlPath((), "", False))),
        ("./a/.", Exists(A)),
        ("/", Exists(XmlPath((), "", False))),
        ("//@x", Exists(XmlPath((Step("*", True),), "@x"))),
        (".//@x", Some((Exists(XmlPath((), "@x", False)), Exists(XmlPath((Step("*", True),), "@x", False))))),
        ("a[@Name='x']/@Value > 5", Compare(XmlPath((Step("a"),), "@Value", False, NAME_IS_X), ">", 5.0)),
        (
            "a[@Name='x'][@y]",
            Exists(XmlPath((Step("a"),), "", False, Every((NAME_IS_X, Exists(XmlPath((), "@y", False)))))),
        ),
        ("a = 'x'", Compare(A, "=", "x")),
        ("'x'!=a", Compare(A, "!=", "x")),
        ("5 < a", Compare(A, ">", 5.0)),
        ("a >= - 5", Compare(A, ">=", -5.0)),
        ("a < ' 5 '", Compare(A, "<", 5.0)),
        ("a < 'x'", Some(())),
        ("a = -0", Compare(A, "=", 0.0)),
        ("a|b = 1", Some((Compare(A, "=", 1.0), Compare(XmlPath((Step("b"),), "", False), "=", 1.0)))),
        ("not(a) and boolean(a)", Every((Negated(Exists(A)), Exists(A)))),
        ("a or a and a", Some((Exists(A), Every((Exists(A), Exists(A)))))),
        ("(a or a) and a", Every((Some((Exists(A), Exists(A))), Exists(A)))),
        ("true()", Every(())),
        ("false()", Some(())),
        ("a and true()", Exists(A)),
    ],
)
def test_conditions(expression: str, condition: object) -> None:
    assert read(expression, NAMESPACES) == condition


@pytest.mark.parametrize(
    "expression",
    [
        *("count(a) > 1", "contains(a, 'x')", "a = b", "a + 1 = 2", "-a = 1", "a = true()", "child::a", "..", "a/.."),
        *("a[1]", "a[b]", "a[@x]/b", "a[.='x']", "a[@x=@y]", "a[/]", "@*", "@p:*", "//.", "node()", "comment()"),
        *("processing-instruction('x')", "/@x", "/text()", "5", "'x'", "(a)[1]", "(a)/b", "id('x')/a", "a[@x]//@y"),
        *("a/@x/b", "text()[1]", "a = 1 = 2", "not(5)", "5 > 3", "@x[.=1]", "a//.", "@text()", "a[last()]", "a mod 2"),
        *("a = '" + "x" * (LONGEST_CONSTANT + 1) + "'", "//*" * 33, "a[.//@x]", "1 div 0 = a", "a or count(b)"),
    ],
)
def test_what_is_more_than_a_condition(expression: str) -> None:
    assert read(expression, NAMESPACES) is None


@pytest.mark.parametrize(
    ("expression", "position"),
    [
        *[("", 0), ("   ", 3), ("a b", 2), ("a  and ", 7), ("a = ", 4), ("a/", 2), ("//", 2), ("///a", 2), ("a[", 2)],
        *[
            ("a[@x", 4),
            ("a]", 1),
            ("(a", 2),
            ("a)", 1),
            ("a = 'x", 4),
            ('"', 0),
            ("a = 1e3", 5),
            (".[1]", 1),
            ("a!b", 1),
        ],
        *[("a = q:b", 4), ("@q:b", 1), ("q:*", 0), ("count(//q:b)", 8), ("p : a", 2), ("p:a:b", 3), ("a#b", 1)],
        *[("$x", 0), ("a = $x", 4), ("a and f(b)", 6), ("re:test(a, 'x')", 0), ("a or re:match(.)", 5), ("a/f()", 2)],
        *[("count()", 0), ("a or true(1)", 5), ("concat('x')", 0), ("count('x')", 0), ("a | 5", 2), ("1 = 5/a", 4)],
        *[("'x'[1]", 0), ("axis::a", 0), ("child::", 7), ("child::5", 7), ("@5", 1), ("text(5)", 5), ("f(", 0)],
        *[
            ("last() = 1", 0),
            ("not(a", 5),
            ("not(,)", 4),
            ("concat(a,)", 9),
            ("a andb", 2),
            ("a\0", 1),
            ("a = '\ud800'", 5),
            ("ü = ß:a", 4),
        ],
        *[("(" * LONGEST, DEEPEST), ("a[" * 2048, 2 * DEEPEST), ("not(" * 1024, 4 * DEEPEST), ("a" * 5000, LONGEST)],
    ],
)
def test_where_an_error_is(expression: str, position: int) -> None:
    with pytest.raises(ExpressionError) as problem:
        read(expression, NAMESPACES)
    assert problem.value.position == position, problem.value


def test_nesting_up_to_the_limit() -> None:
    depth = DEEPEST - 1
    assert read("(" * depth + "a" + ")" * depth, {}) == Exists(A)
    assert read("a[" * depth + "a" + "]" * depth, {}) is None


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "a or " * 818 + "a",
            "a|" * 2047 + "a",
            "a=" * 2047 + "a",
            "-" * 4095 + "5",
            "a" + "[@a]" * 1023,
            "//*" * 1365,
        ),
        *(
            "a and " * 682 + "a",
            "not(a) or " * 409 + "a",
            "concat(" + "a," * 2000 + "a)",
            " " * 4095 + "a",
            "a/" * 2047 + "a",
        ),
    ],
)
def test_long_expressions_take_a_bounded_time(expression: str) -> None:
    with within(500):
        read(expression, {})
