"""Predicates found by their keys are those that hold, one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.markup import xml
from tocsin.markup.conditions import Compare, Condition, Every, Exists, Negated, Some, Step, XmlPath
from tocsin.markup.content import has
from tocsin.matching.index.xml_predicates import Has, Is, Key, Predicates, Within, keys_of

X, Y = (XmlPath((), leaf, absolute=False) for leaf in ("@x", "@y"))
_VALUES = ("5", "6", " 7 ", "-1", "", "a", "NaN", "9" * 400)
_paths = st.sampled_from((X, Y))
_numbers = st.sampled_from((-1.0, 0.0, 5.0, 6.5, 7.0, float("inf"), 1.7976931348623157e308))
_comparisons = st.builds(Compare, _paths, st.sampled_from(("=", "!=")), st.sampled_from(_VALUES)) | st.builds(
    Compare, _paths, st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), _numbers
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    _comparisons | st.builds(Exists, _paths),
    lambda inner: (
        st.builds(Negated, inner)
        | st.builds(lambda each: Every(tuple(each)), st.lists(inner, max_size=3))
        | st.builds(lambda each: Some(tuple(each)), st.lists(inner, max_size=3))
    ),
    max_leaves=5,
)
elements = st.dictionaries(st.sampled_from("xyz"), st.sampled_from(_VALUES))


def path(asked: Condition) -> XmlPath:
    return XmlPath((Step("a"),), having=asked)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(conditions, max_size=40, unique=True), st.lists(elements, min_size=1, max_size=4), st.integers(0, 40))
def test_by_their_keys_those_are_found_that_hold(
    asked: list[Condition], seen: list[dict[str, str]], removed: int
) -> None:
    predicates = Predicates()
    for each in asked:
        predicates.enter(path(each), each)
    for each in asked[:removed]:
        predicates.leave(path(each), each)
    left = asked[removed:]
    assert len(predicates) == len(left)
    for attributes in seen:
        element = xml.parse(b"<a/>")
        for name, value in attributes.items():
            element.set(name, value)
        found = list(predicates.satisfied(list(attributes.items())))
        assert len(found) == len(set(found))
        assert set(found) == {path(each) for each in left if has(element, each)}


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 30)), max_size=60, unique=True), st.data())
def test_many_intervals_come_and_go(ends: list[tuple[int, int]], data: st.DataObject) -> None:
    predicates, kept = Predicates(), set(ends)
    asked = {each: Every((Compare(X, ">", float(each[0])), Compare(X, "<=", float(sum(each))))) for each in ends}
    for each in asked.values():
        predicates.enter(path(each), each)
    for gone in data.draw(st.lists(st.sampled_from(ends), unique=True)) if ends else ():
        predicates.leave(path(asked[gone]), asked[gone])
        kept.remove(gone)
    for value in range(0, 130, 7):
        expected = {path(asked[each]) for each in kept if each[0] < value <= sum(each)}
        assert set(predicates.satisfied([("x", str(value))])) == expected


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        (Compare(X, "=", "a"), (Is("x", "a"),)),
        (Some((Compare(X, "=", "a"), Compare(X, "=", "b"), Compare(X, "=", "a"))), (Is("x", "a"), Is("x", "b"))),
        (Every((Exists(Y), Compare(X, "=", "a"))), (Is("x", "a"),)),
        (Every((Compare(X, ">=", 1.0), Compare(X, "<=", 2.0), Exists(Y))), (Within("x", 1.0, 2.0),)),
        (Every((Negated(Compare(X, "=", "a")), Exists(X))), (Has("x"),)),
        (Negated(Some((Negated(Compare(X, "=", "a")), Exists(Y)))), (Is("x", "a"),)),
        (Compare(X, "!=", "a"), (Has("x"),)),
        (Negated(Exists(X)), None),
        (Some((Compare(X, "=", "a"), Negated(Exists(X)))), None),
        (Some(()), ()),
        (Every(()), None),
    ],
)
def test_the_keys_are_the_fewest_elements_have(asked: Condition, keys: tuple[Key, ...] | None) -> None:
    assert keys_of(asked) == keys
