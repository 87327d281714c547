"""One walk finds what is found one by one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.xml_samples import NAMESPACES, documents, paths

from tocsin.markup import xml
from tocsin.markup.conditions import Exists, XmlPath
from tocsin.markup.xml import Element
from tocsin.markup.xpath_subset import read
from tocsin.matching import xml_walk
from tocsin.matching.xml_values import values_at
from tocsin.matching.xml_walk import Walk


def path(expression: str) -> XmlPath:
    condition = read(expression, NAMESPACES)
    assert isinstance(condition, Exists) and isinstance(condition.path, XmlPath)
    return condition.path


def found(walk: Walk, root: Element) -> dict[XmlPath, list[str]]:
    return {each: sorted(values) for each, values in walk.values(root).items()}


def one_by_one(root: Element, wanted: list[XmlPath]) -> dict[XmlPath, list[str]]:
    return {each: values for each in wanted if (values := sorted(values_at(root, each)))}


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(paths().map(path), max_size=10), st.data(), st.integers(0, 10))
def test_one_walk_finds_what_is_found_one_by_one(wanted: list[XmlPath], data: st.DataObject, removed: int) -> None:
    walk = Walk()
    for each in wanted:
        walk.add(each)
    for _ in range(2):
        root = xml.parse(data.draw(documents()))
        assert found(walk, root) == one_by_one(root, wanted)
        for each in wanted[:removed]:
            walk.remove(each)
        wanted = wanted[removed:]
    assert found(walk, root) == one_by_one(root, wanted)


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(paths().map(path), max_size=6), documents(), st.integers(0, 8))
def test_what_is_forgotten_on_the_way_is_found_again(wanted: list[XmlPath], document: bytes, most: int) -> None:
    walk, root = Walk(), xml.parse(document)
    for each in wanted:
        walk.add(each)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xml_walk, "MOST_KEPT", most)
        assert found(walk, root) == one_by_one(root, wanted) == found(walk, root)


def test_a_path_added_twice_stays_until_it_is_removed_twice() -> None:
    walk, wanted, root = Walk(), path("a[@x='5']/@y"), xml.parse(b"<r><a x='5' y='1'/><a x='6' y='2'/></r>")
    walk.add(wanted)
    walk.add(path("a[@x='5']/@y"))
    walk.remove(wanted)
    assert walk.values(root) == {wanted: ["1"]}
    walk.remove(wanted)
    assert walk.values(root) == {}


def test_predicates_come_and_go_after_documents_were_seen() -> None:
    walk, root = Walk(), xml.parse(b"<r><a x='5' y='1'/></r>")
    first, second, third = path("a[@x='5']/@y"), path("a[@x='5' and @y < 2]/@x"), path("a[not(@z)]/@x")
    for each in (first, second, third):
        walk.values(root)
        walk.add(each)
    assert walk.values(root) == {first: ["1"], second: ["5"], third: ["5"]}
    for each in (first, third):
        walk.remove(each)
    assert walk.values(root) == {second: ["5"]}


def test_nothing_is_left_of_what_was_removed() -> None:
    walk, wanted = Walk(), [path(each) for each in ("/a/b//c/@x", "//a[@x='1']", "a//b", ".", "/a/b")]
    for each in wanted:
        walk.add(each)
    for each in wanted:
        walk.remove(each)
    assert walk._document.is_empty() and walk._root.is_empty()


def test_what_is_kept_for_names_in_documents_has_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_walk, "MOST_KEPT", 100)
    walk, wanted = Walk(), path("//a//b")
    walk.add(wanted)
    for start in range(5):
        names = "".join(f"<n{start}-{each}/>" for each in range(1000))
        assert walk.values(xml.parse(f"<r>{names}<a><b>5</b></a></r>".encode())) == {wanted: ["5"]}
        assert walk._kept <= 110


def test_a_deep_document_is_walked() -> None:
    walk, wanted = Walk(), [path("//*"), path("//*" * 32), path("//a//*/@x")]
    for each in wanted:
        walk.add(each)
    root = xml.parse(b"<a>" * 250 + b"<b/>" * 1000 + b"</a>" * 250)
    assert {each: len(values) for each, values in walk.values(root).items()} == {wanted[0]: 1250, wanted[1]: 1219}
