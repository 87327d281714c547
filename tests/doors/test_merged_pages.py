"""Pages of several nodes made one: read to the end, they have everything once, in order."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from tocsin.doors.api.gathering import page_of, sums


class Item(Struct, frozen=True):
    name: str
    count: int


class Page(Struct, frozen=True):
    items: list[Item]
    next: str | None


def _page(node: dict[str, int], after: str, limit: int) -> Page:
    """As a node answers for itself."""
    names = sorted(name for name in node if name > after)[:limit]
    return Page([Item(name, node[name]) for name in names], names[-1] if len(names) == limit else None)


def _summed(items: list[Item]) -> Item:
    return Item(items[0].name, sum(each.count for each in items))


nodes = st.lists(st.dictionaries(st.text("abc", min_size=1, max_size=4), st.integers(0, 9)), min_size=1, max_size=4)


@given(nodes, st.integers(1, 5))
def test_pages_have_everything_once_with_the_sums_of_all(nodes: list[dict[str, int]], limit: int) -> None:
    expected: Counter[str] = Counter()
    for node in nodes:
        for name, count in node.items():
            expected[name] += count
    found: list[Item] = []
    after: str | None = ""
    while after is not None:
        pages = [_page(node, after, limit) for node in nodes]
        items, after = page_of(pages, {"limit": str(limit)}, lambda each: each.name, _summed)
        assert len(items) <= limit
        found += items
    assert [(each.name, each.count) for each in found] == sorted(expected.items())


def test_numbers_are_added_and_the_rest_is_of_the_first() -> None:
    one = {"node": "a", "open": True, "delivery": {"dead": 1, "share": 0.5}, "accepted": {"x": 1}}
    other = {"node": "b", "open": False, "delivery": {"dead": 2, "share": 0.5}, "accepted": {"y": 3}}
    together = {"node": "a", "open": True, "delivery": {"dead": 3, "share": 1.0}, "accepted": {"x": 1, "y": 3}}
    assert sums([one, other]) == together
