"""Merging is associative and commutative, cut or not; what is kept of a cut one is between its bounds."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.histogram import Histogram, merged

texts = st.sampled_from([f"v{number}" for number in range(12)])
replies = st.lists(texts, max_size=40)


def of(said: list[str], most: int = 100) -> Histogram:
    made = Histogram()
    for each in said:
        made.add(each)
        made = made.cut(most) if len(made.counts) > 2 * most else made
    return made.cut(most)


def known(histogram: Histogram) -> tuple[dict[str, int], int, int, dict[str, int]]:
    return histogram.counts, histogram.rest, histogram.slack, histogram.short


@given(replies, replies, replies, st.integers(1, 20))
def test_merging_is_associative_and_commutative(a: list[str], b: list[str], c: list[str], most: int) -> None:
    x, y, z = of(a, most), of(b, most), of(c, most)
    left, right = merged([merged([x, y]), z]), merged([x, merged([y, z])])
    assert known(left) == known(right) == known(merged([z, y, x]))


@given(replies, replies)
def test_what_is_not_cut_is_exact(a: list[str], b: list[str]) -> None:
    found = merged([of(a), of(b)])
    assert found.counts == Counter(a + b) and found.exact and not found.rest and not found.short


@given(st.lists(replies, max_size=5), st.integers(1, 8))
def test_what_is_cut_has_every_reply_and_bounds_that_hold(parts: list[list[str]], most: int) -> None:
    found, said = (
        merged([of(each, most) for each in parts]).cut(most),
        Counter(value for each in parts for value in each),
    )
    assert found.total == said.total() and len(found.counts) <= most
    for value, count in said.items():
        assert found.counts.get(value, 0) <= count <= found.most_of(value)
    for value, count in found.counts.items():
        assert count <= said[value]


@given(replies, st.integers(1, 8))
def test_the_largest_of_one_node_are_kept_and_exact(said: list[str], most: int) -> None:
    whole = Histogram()
    for each in said:
        whole.add(each)
    assert list(whole.cut(most).counts.items()) == whole.ranked()[:most] or len(whole.counts) <= most
    assert not whole.cut(most).short


def test_adding_to_a_cut_one_says_how_much_may_have_been_there_before() -> None:
    found = of(["a", "a", "a", "b", "b", "c"], 1)
    assert known(found) == ({"a": 3}, 3, 2, {})
    found.add("b")
    assert (found.counts["b"], found.most_of("b"), found.total) == (1, 3, 7)


@given(replies, replies, st.integers(1, 20))
def test_one_that_takes_another_is_both_merged(a: list[str], b: list[str], most: int) -> None:
    x, y = of(a, most), of(b, most)
    expected, before = known(merged([x, y])), repr(y)
    x.take(y)
    assert known(x) == expected and repr(y) == before
