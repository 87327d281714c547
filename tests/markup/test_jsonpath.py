import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.markup.telling import values_in

from tocsin.markup.conditions import (
    DEEPEST,
    LONGEST,
    Compare,
    Condition,
    Every,
    Exists,
    ExpressionError,
    JsonPath,
    Negated,
    Some,
)
from tocsin.markup.content import holds
from tocsin.markup.jsonpath import evaluate, read

A, B = JsonPath(("a",)), JsonPath(("b",))
CONDITIONS: list[tuple[str, Condition]] = [
    ("$.a", Exists(A)),
    ("@.a", Exists(A)),
    ("$", Exists(JsonPath(()))),
    ("!$.a", Negated(Exists(A))),
    ("$ .a [ 'x y' ]\n[-1]", Exists(JsonPath(("a", "x y", -1)))),
    ('$["a"][0]', Exists(JsonPath(("a", 0)))),
    (r"$['\'\"é\ud83d\ude00\\']".replace(r"\"", '"'), Exists(JsonPath(("'\"é😀\\",)))),
    (r'$["\u00e9\n\/\""]', Exists(JsonPath(('é\n/"',)))),
    ("$.é_1", Exists(JsonPath(("é_1",)))),
    ("$.a == 'x'", Compare(A, "=", "x")),
    ("$.a!=1", Negated(Compare(A, "=", 1.0))),
    ("1 < $.a", Compare(A, ">", 1.0)),
    ("-0 >= $.a", Compare(A, "<=", 0.0)),
    ("null != $.a", Negated(Compare(A, "=", None))),
    ("$.a <= 1.5e-1", Compare(A, "<=", 0.15)),
    ("$.a == true || $.b == false", Some((Compare(A, "=", True), Compare(B, "=", False)))),
    ("$.a && $.b || $.a", Some((Every((Exists(A), Exists(B))), Exists(A)))),
    ("!($.a && ($.b))", Negated(Every((Exists(A), Exists(B))))),
]


@pytest.mark.parametrize(("text", "condition"), CONDITIONS, ids=[text for text, _ in CONDITIONS])
def test_singular_queries_compared_with_constants_are_conditions(text: str, condition: Condition) -> None:
    assert read(text) == condition


@pytest.mark.parametrize(
    "text",
    [
        *("$.*", "$..a", "$[1:2]", "$['a', 'b']", "$[*]", "$.a[?@.b == 1]", "$.a == $.b", "1 == 1", "$.a && $..b"),
        *("length($.a) > 1", "count($.*) == 2", "match($.a, 'a.*')", "search($.a, 'b')", "value($..a) == 1", "!$.*"),
    ],
)
def test_what_is_legal_but_more_is_no_condition(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("$.a ==", 6),
        ("$.a = 1", 4),
        ("$.a == 1 == 1", 9),
        ("!$.a == 1", 5),  # s2.3.5.1: only in parentheses
        ("!!$.a", 1),
        ("$.*[?!@ == 1]", 8),
        ("$.a]", 3),
        ("$.a, $.b", 3),
        ("$.a][?$.b", 3),
        ("($.a", 4),
        ("true", 4),
        ("$.a && true", 11),
        ("$.* && true", 7),
        ("nope($.a)", 0),
        ("$.a == 1e400", 7),
        ("$.a == 01", 8),
        ("$. a", 2),
        ("length($.a)", 0),
        ("$.* == 1", 4),  # s2.4.3: more than one value cannot be compared
        ("$.a == 'x", 7),
        ("$.a == 'x\ty'", 8),
        (r"$.a == '\ud800'", 8),
        (r"$.a == '\x'", 8),
        ("$.a[9007199254740992]", 4),
        ("$.a[01]", 4),
        ("$.a and $.b", 4),
        ("a", 0),
        ("$.a" + " " * LONGEST, LONGEST),
        ("(" * 2000 + "$.a" + ")" * 2000, DEEPEST),
        ("$.*" + "[?@" * (DEEPEST + 1) + "]" * (DEEPEST + 1), 3 * DEEPEST + 3),
        ("$.*[?@[?@]", 10),
        (" && ".join(["$.*"] * 202), 0),
    ],
)
def test_what_is_no_jsonpath_is_told_with_its_position(text: str, position: int) -> None:
    with pytest.raises(ExpressionError) as told:
        read(text)
    assert told.value.position == position


# RFC 9535 s2.3.5.3, its tables of comparisons and of tests, about the documents of these tables.
COMPARED = {"obj": {"x": "y"}, "arr": [2, 3]}
TESTED = {
    "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
    "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
    "e": "f",
}
RFC: list[tuple[object, str, bool]] = [
    (COMPARED, "$.absent1 == $.absent2", True),
    (COMPARED, "$.absent1 <= $.absent2", True),
    (COMPARED, "$.absent == 'g'", False),
    (COMPARED, "$.absent1 != $.absent2", False),
    (COMPARED, "$.absent != 'g'", True),
    (COMPARED, "1 <= 2", True),
    (COMPARED, "1 > 2", False),
    (COMPARED, "13 == '13'", False),
    (COMPARED, "'a' <= 'b'", True),
    (COMPARED, "'a' > 'b'", False),
    (COMPARED, "$.obj == $.arr", False),
    (COMPARED, "$.obj != $.arr", True),
    (COMPARED, "$.obj == $.obj", True),
    (COMPARED, "$.obj != $.obj", False),
    (COMPARED, "$.arr == $.arr", True),
    (COMPARED, "$.obj == 17", False),
    (COMPARED, "$.obj != 17", True),
    (COMPARED, "$.obj <= $.arr", False),
    (COMPARED, "$.obj < $.arr", False),
    (COMPARED, "$.obj <= $.obj", True),
    (COMPARED, "1 <= $.arr", False),
    (COMPARED, "1 >= $.arr", False),
    (COMPARED, "true <= true", True),
    (COMPARED, "true > true", False),
    (TESTED, "$.a[?@.b == 'kilo']", True),
    (TESTED, "$.a[?@>3.5]", True),
    (TESTED, "$.a[?@>6]", False),
    (TESTED, "$.a[?@.b]", True),
    (TESTED, "$[?@.*]", True),
    (TESTED, "$[?@[?@.b]]", True),
    (TESTED, "$.o[?@<3, ?@<3]", True),
    (TESTED, '$.a[?@<2 || @.b == "k"]', True),
    (TESTED, '$.a[?match(@.b, "[jk]")]', True),
    (TESTED, '$.a[?match(@.b, "[k-z]l")]', False),
    (TESTED, '$.a[?search(@.b, "[k-z]l")]', False),
    (TESTED, '$.a[?search(@.b, "l")]', True),
    (TESTED, "$.o[?@>1 && @<4]", True),
    (TESTED, "$.o[?@>2 && @<3]", False),
    (TESTED, "$.o[?@.u || @.x]", True),
    (TESTED, "$.a[?@.b == $.x]", True),
    (TESTED, "$.a[?@ == @]", True),
    (TESTED, "count($.a[*]) == 10 && length($.e) == 1 && value($..u) == 6", True),
    ({"a": True}, "$.a == 1", False),
    ({"a": 1}, "$.a == true", False),
    ({"a": 0}, "$.a != false", True),
    ({"a": 0}, "$.a >= false", False),
    ({"a": True}, "$.a >= true", True),
    ({"a": None}, "$.a <= null", True),
    ({"a": "1"}, "$.a < 2", False),
    ({"a": [1]}, "$.a == 1 || $.a <= 1 || $.a > 1", False),
    ([0, False, ""], "count($[?@]) == 3", True),  # a falsy value is there
    ([[True], 1], "$[?@[0] == 1]", False),
    ({"a": [True], "b": [1]}, "$.a == $.b", False),
    ({"a": {"x": [False]}, "b": {"x": [0]}}, "$.a != $.b", True),
    ({"a": {"x": [0]}, "b": {"x": [0.0]}}, "$.a <= $.b", True),
]


@pytest.mark.parametrize(("document", "text", "expected"), RFC, ids=[text for _, text, _ in RFC])
def test_rfc_9535(document: object, text: str, expected: bool) -> None:
    data = json.dumps(document).encode()
    assert evaluate(text, data) is expected
    condition = read(text)
    assert condition is None or holds(condition, values_in("application/json", data)) is expected


@pytest.mark.parametrize("document", [b"", b"{", b"NaN", b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900])
def test_what_cannot_be_searched_is_told(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        evaluate("count($..a) == 1", document)


NAMES = st.sampled_from(["a", "b", "x y", "é", "'", '"', "\\", "\n", "😀"])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 1.0, 1.5, -0.0, 2**60, 1e300]),
    st.sampled_from(["", "a", "b", "ab", "1", "é", "'\"\\\n", "true"]),
)
ANYTHING = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
DOCUMENTS = st.fixed_dictionaries({"a": ANYTHING, "b": VALUES}) | ANYTHING
QUERIES = st.sampled_from(["$.a", "$.b"]) | st.lists(NAMES | st.integers(-2, 2), max_size=3).map(
    lambda steps: "$" + "".join(f"[{json.dumps(each)}]" for each in steps)
)
TESTS = st.one_of(
    QUERIES,
    QUERIES.map(lambda query: f"!{query}"),
    st.builds(
        lambda query, how, value, mirrored: (
            f"{json.dumps(value)}{how}{query}" if mirrored else f"{query} {how} {json.dumps(value)}"
        ),
        QUERIES,
        st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
        VALUES,
        st.booleans(),
    ),
)
EXPRESSIONS = st.recursive(
    TESTS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(" && ".join),
        st.lists(inner, min_size=1, max_size=3).map(" || ".join),
        inner.map(lambda text: f"({text})"),
        inner.map(lambda text: f"!({text})"),
    ),
    max_leaves=5,
)


@settings(max_examples=examples(400), deadline=None)
@given(EXPRESSIONS, st.lists(DOCUMENTS, min_size=1, max_size=5))
def test_a_condition_holds_when_the_library_says_so(text: str, documents: list[object]) -> None:
    condition = read(text)
    assert condition is not None
    for document in documents:
        data = json.dumps(document).encode()
        assert holds(condition, values_in("application/json", data)) is evaluate(text, data)


TOKENS = [
    *("$", "@", ".", "..", "a", "[", "]", "(", ")", "?", "!", "=="),
    *("<", "&&", "||", ",", ":", "*", "'a'", "1", "-1", "null", "count(", "'"),
]


@settings(max_examples=examples(600), deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=12))
def test_any_text_is_read_or_refused(tokens: list[str]) -> None:
    text = "".join(tokens)
    try:
        read(text)
    except ExpressionError as told:
        assert 0 <= told.position <= len(text)


def test_who_asks_for_conditions_only_does_not_pay_for_the_library() -> None:
    asks = "import sys; from tocsin.markup.jsonpath import read; read('$.a == 1'); assert 'regex' not in sys.modules"
    subprocess.run([sys.executable, "-c", asks], check=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("level > 3", "a path begins with $, for example $.level > 3"),
        ("$.b == 1 && level", "a path begins with $, for example $.level"),
        ("$.a = 'x'", "JSONPath compares with =="),
        ("($.a = 'x')", "JSONPath compares with =="),
        ("$.a and $.b", "JSONPath writes && for 'and'"),
        ("$.a 3", "an operator or the end is expected here"),
    ],
)
def test_what_another_language_would_take_is_told_in_this_one(text: str, words: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        read(text)
    assert refused.value.why.startswith(words)
