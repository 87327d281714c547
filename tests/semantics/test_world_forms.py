"""One world in every form, and which form is meant."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from tests.effort import examples
from tests.semantics.worlds import contents, worlds

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import PutCategory, PutService, PutTopic
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import MEDIA_TYPES, demo, read_world, write_world

TABLES = ("text/csv", "text/tab-separated-values")
WHOLE = [each for each in MEDIA_TYPES if each not in TABLES]


@pytest.mark.parametrize("form", WHOLE)
@settings(max_examples=examples(40), deadline=None)
@given(world=worlds())
def test_a_world_is_the_same_after_it_was_written_and_read(form: str, world: World) -> None:
    assert contents(World.of(read_world(write_world(world, form), form))) == contents(world)


@settings(max_examples=examples(40), deadline=None)
@given(world=worlds())
def test_tables_together_say_names_and_edges(world: World) -> None:
    if any(";" in name for name in world.categories):
        return
    again = World()
    for table in ("taxonomies", "services", "edges"):
        for change in read_world(write_world(world, f"text/csv; table={table}"), "text/csv", onto=again):
            again.apply(change)
    assert dict(again.topics.items()) == dict(world.topics.items())
    assert dict(again.categories.items()) == dict(world.categories.items())
    assert {name: each.categories for name, each in again.services.items()} == {
        name: each.categories for name, each in world.services.items()
    }
    assert again.edges.keys() == world.edges.keys()


@pytest.mark.parametrize("form", WHOLE)
def test_the_same_world_is_written_the_same_way(form: str) -> None:
    assert write_world(demo(), form) == write_world(demo(), form)


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_what_is_read_onto_its_own_world_changes_nothing(form: str) -> None:
    world = demo()
    changes = read_world(write_world(world, form), form, onto=world)
    for change in changes:
        world.apply(change)
    assert contents(world) == contents(demo())


@pytest.mark.parametrize(
    ("form", "same_as"),
    [
        (".ttl", "text/turtle"),
        ("a.b/world.TTL", "text/turtle"),
        ("world.owl", "application/rdf+xml"),
        ("nt", "application/n-triples"),
        ("application/json; charset=utf-8", "application/json"),
        ("Text/CSV", "text/csv"),
    ],
)
def test_a_media_type_or_an_ending_says_the_form(form: str, same_as: str) -> None:
    assert write_world(demo(), form) == write_world(demo(), same_as)


@pytest.mark.parametrize("form", ["", "world", "application/pdf", "world.docx", "text/html"])
def test_a_form_that_is_not_known_is_refused_with_those_that_are(form: str) -> None:
    with pytest.raises(Refusal, match="text/turtle"):
        read_world(b"", form)
    with pytest.raises(Refusal, match="text/turtle"):
        write_world(World(), form)


@pytest.mark.parametrize("form", MEDIA_TYPES)
def test_an_empty_world_can_be_written(form: str) -> None:
    assert write_world(World(), form)


@pytest.mark.parametrize(
    ("form", "data"),
    [
        ("json", b'{"services": {"S": ["A"]}, "edges": [["A", "T", "B"]]}'),
        ("csv", b"from,topic,to\nA,T,B\n"),
        ("ttl", b"@prefix i: <urn:tocsin:ino#> . [] a i:Interest ; i:from <A> ; i:topic <T> ; i:to <B> ."),
    ],
)
class TestPart:
    """A document that says a part, and uses names that it does not declare."""

    def test_is_read_onto_a_world_that_has_them(self, form: str, data: bytes) -> None:
        world = World.of([PutTopic("T"), PutCategory("A", owner="ann"), PutCategory("B", "A")])
        for change in read_world(data, form, onto=world):
            world.apply(change)
        assert ("A", "T", "B") in world.edges
        assert world.owners == {"A": "ann"}

    def test_is_refused_where_they_are_not(self, form: str, data: bytes) -> None:
        with pytest.raises(Refusal, match="there is no category 'A'") as refused:
            read_world(data, form, onto=World())
        assert refused.value.reason == "bad-world"

    def test_makes_them_when_told_to_and_moves_none_that_is_there(self, form: str, data: bytes) -> None:
        world = World.of([PutCategory("A"), PutCategory("B", "A", "bob")])
        for change in read_world(data, form, onto=world, create=True):
            world.apply(change)
        assert dict(world.categories.items()) == {"A": None, "B": "A"}
        assert "T" in world.topics
        assert world.owners == {"B": "bob"}


def test_services_may_tell_each_other_in_a_circle() -> None:
    world = World.of([PutTopic("T"), PutCategory("A"), *(PutService(Service(name, ("A",))) for name in "XY")])
    world.apply(PutService(Service("X", ("A",), tells={"T": "Y"})))
    world.apply(PutService(Service("Y", ("A",), tells={"T": "X"})))
    for form in WHOLE:
        assert contents(World.of(read_world(write_world(world, form), form))) == contents(world)


PAGE = (Path(__file__).parents[2] / "docs" / "world-files.md").read_text()
SHOWN: list[tuple[str, str]] = re.findall(r"^```(json|csv|turtle)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("form", "text"), SHOWN)
def test_what_the_documentation_shows_is_read(form: str, text: str) -> None:
    media = {"turtle": "ttl"}.get(form, form)
    world = World.of(read_world(text.encode(), media, create=form == "csv"))
    assert world.edges


def test_the_documentation_shows_each_form() -> None:
    assert {form for form, _ in SHOWN} == {"json", "csv", "turtle"}
    assert all(media in PAGE for media in MEDIA_TYPES)
