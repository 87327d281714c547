"""One walk finds what is found one by one."""

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.xml_samples import NAMESPACES, documents, paths
from tests.pace import within

from tocsin.markup import xml
from tocsin.markup.conditions import Exists, Step, XmlPath
from tocsin.markup.content import values_at
from tocsin.markup.xml import Element
from tocsin.markup.xpath_conditions import read
from tocsin.matching.index import xml_walk
from tocsin.matching.index.xml_walk import Walk


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


def walk_of(wanted: Iterable[str]) -> Walk:
    walk = Walk()
    for each in wanted:
        walk.add(path(each))
    return walk


def test_the_attributes_of_an_element_are_looked_at_not_all_that_are_asked_for() -> None:
    walk = Walk()
    for number in range(1000):
        walk.add(XmlPath((Step("*", True),), f"@x{number}"))
    root = xml.parse(b"<r>" + b"<a/>" * 20_000 + b"<a x7='1'/><a x8='2' y='3'/></r>")
    with within(1_000):  # one by one 20,000,000 looks
        assert list(walk.values(root).values()) == [["1"], ["2"]]


def test_a_change_copies_nothing_of_what_is_asked_for_at_the_same_place() -> None:
    walk, root = Walk(), xml.parse(b"<a x5='1' new='2'/>")
    every = [XmlPath((Step("*", True),), f"@x{number}") for number in range(20_000)]
    new = XmlPath((Step("*", True),), "@new")
    for each in every:
        walk.add(each)
    with within(1_000):
        for _ in range(100):
            walk.add(new)
            assert walk.values(root) == {every[5]: ["1"], new: ["2"]}
            walk.remove(new)
            assert walk.values(root) == {every[5]: ["1"]}


_ITEMS = b"<r>" + b"".join(b"<item name='a%d' value='%d'>t</item>" % (each, each) for each in range(20)) + b"</r>"


@pytest.mark.parametrize(
    ("asked", "holding"),
    [
        ("@name='a{0}' or @name='b{0}'", 20),
        ("not(not(@name='a{0}') or not(@value))", 20),
        ("@value='{0}' and not(@name='a7')", 19),
        ("@value={0}", 20),
        ("@value>{0} and @value<{0}.5", 0),
        ("@x{0}", 0),
    ],
)
def test_predicates_are_found_by_what_they_ask_for(asked: str, holding: int) -> None:
    walk, root = walk_of(f"//item[{asked.format(each)}]/@value" for each in range(2000)), xml.parse(_ITEMS)
    assert len(walk.values(root)) == holding
    with within(700):  # one by one 800,000 predicates
        for _ in range(20):
            walk.values(root)


def test_what_many_predicates_ask_for_of_an_element_is_taken_once() -> None:
    walk = walk_of(f"//a[not(@x='{each}')]" for each in range(1000))
    root = xml.parse(b"<r><a>" + b"<b>some text</b>" * 60_000 + b"</a></r>")
    with within(500):
        assert len(walk.values(root)) == 1000


def test_a_path_is_found_once_by_several_keys() -> None:
    wanted = path("//a[@x='1' or @y='1' or @x < 2 or @y]/@x")
    walk = Walk()
    walk.add(wanted)
    assert walk.values(xml.parse(b"<r><a x='1' y='1'/></r>")) == {wanted: ["1"]}


def test_long_names_are_not_kept() -> None:
    walk = walk_of(("//*//a", "//*/@x", "//@y", "//@z", "//@u", "//@v", "//@w"))
    children = "".join(f"<c{each} p:k{each}=''/>" for each in range(200))
    root = xml.parse(f"<r xmlns='{'n' * 100_000}' xmlns:p='{'p' * 100_000}'>{children}</r>".encode())
    tracemalloc.start()
    walk.values(root)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000_000


def test_names_are_charged_by_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_walk, "MOST_KEPT", 10_000)
    walk = walk_of(("//*//a", *(f"//@{each}" for each in "uvwxyz")))
    tracemalloc.start()
    for start in range(10):
        children = "".join(f"<{'n' * 900}{start}-{each} {'k' * 900}{start}-{each}=''/>" for each in range(300))
        walk.values(xml.parse(f"<r>{children}</r>".encode()))
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_500_000  # of 5,400,000 characters


def test_of_long_names_all_is_found_too() -> None:
    long = "n" * 2000
    wanted = XmlPath((Step(f"{{{long}}}a", True),), f"@{long}")
    walk, every = Walk(), XmlPath((Step(f"{{{long}}}*", True),))
    walk.add(wanted)
    walk.add(every)
    assert walk.values(xml.parse(f"<a xmlns='{long}' {long}='5'>6</a>".encode())) == {wanted: ["5"], every: ["6"]}
