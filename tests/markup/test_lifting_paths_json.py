"""Paths of liftings in JSON: as RFC 9535 has them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonpath_rfc9535 import find as found_by_a_library
from tests.effort import examples

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.lifting_paths import json_path

PIECES = ["$", "@", ".", "..", "a", "b", "[", "]", "*", "?", "0", "-1", "'a'", "==", "&&", "1", "!", "é"]
VALUE = {"a": {"b": [1, 2.0, {"c": "x", "n": 3}, {"c": "y"}], "odd name": True}, "n": None, "t": "6", "c": "top"}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.t", ["6"]),
        ("@.t", ["6"]),
        ("$.a.b[0]", [1]),
        ("$.a.b[-1].c", ["y"]),
        ("$.a.b[7]", []),
        ("$['a']['odd name']", [True]),
        ('$.a["odd name"]', [True]),
        ("$.n", [None]),
        ("$.t.t", []),
        ("$.a.b[*].c", ["x", "y"]),
        ("$.a.*.x", []),
        ("$..c", ["top", "x", "y"]),
        ("$.a..['c']", ["x", "y"]),
        ("$.a.b[?@.c == 'y'].c", ["y"]),
        ("$.a.b[?@.n > 2 && @.c != 'z'].c", ["x"]),
        ("$.a.b[?!@.n].c", ["y"]),
        ("$.a.b[?@['c']].c", ["x", "y"]),
        ("$.a.b[?@.n >= 3 || @.c < 'x'].c", ["x"]),
        ("$.a.b[?@ == 2]", [2.0]),
        ("$.a.b[?@.c == null].c", []),
    ],
)
def test_paths_in_json(path: str, found: list[object]) -> None:
    """With `..`, what is above comes before what is below (RFC 9535 s2.5.2.2)."""
    assert json_path(path).find(VALUE, VALUE) == found
    by_library = found_by_a_library("$" + path[1:], VALUE).values()
    assert sorted(by_library, key=str) == sorted(found, key=str)


def test_a_path_begins_where_it_is_asked() -> None:
    assert json_path("@.c").find({"c": 1}, VALUE) == [1]
    assert json_path("$.c").find({"c": 1}, VALUE) == ["top"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("a.b", "begins with $"),
        ("$.a b", "position 3"),
        ("$..a..b", ".. once"),
        ("$[1:2]", "position 1"),
        ("$[?@.a == ]", "position"),
        ("$[?@.a == $.b]", "constants"),
        ("$[?$.a == 1]", "constants"),
        ("$['\\x']", "no string"),
    ],
)
def test_paths_that_are_none(path: str, says: str) -> None:
    with pytest.raises(ExpressionError) as wrong:
        json_path(path)
    assert says in str(wrong.value)


@settings(max_examples=examples(300), deadline=None)
@given(path=st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_any_text_is_a_path_or_is_refused(path: str) -> None:
    try:
        found = json_path(path).find(VALUE, VALUE)
    except ExpressionError as problem:
        assert 0 <= problem.position <= len(path)
        return
    by_library = found_by_a_library("$" + path[1:], VALUE).values()
    assert sorted(map(str, by_library)) == sorted(map(str, found))
