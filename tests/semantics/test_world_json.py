"""Scenarios and whole worlds as JSON; what is wrong is named with its place."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.changes import PutCategory, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world import World

SCENARIO: dict[str, Any] = {
    "topics": {"Quake": "Disaster", "Disaster": None},
    "categories": {"Local": "All", "All": None},
    "edges": [["All", "Disaster", "Local"]],
    "services": {"IDER": ["All"], "CARE": ["Local"]},
    "publish": {"root": "IDER", "topic": "Disaster", "data": "7.1"},
}


def read(**parts: object) -> world_json.Document:
    return world_json.read(msgspec.json.encode(SCENARIO | parts))


def test_a_scenario() -> None:
    document = read()
    world = document.world()
    assert world.topics.parent("Quake") == "Disaster"
    assert world.neighbours("IDER", "Disaster") == ("CARE",)
    assert world.rules == PutRules()
    assert document.publish == world_json.Publish("IDER", "Disaster", "7.1")
    assert document.publish.content == b"7.1"


def test_data_that_is_no_text_is_published_as_json() -> None:
    publish = read(publish={"root": "IDER", "topic": "Disaster", "data": {"m": 7}}).publish
    assert publish is not None
    assert publish.content == b'{"m":7}'


@pytest.mark.parametrize(
    ("inherit", "rules"),
    [
        ([], PutRules()),
        (["topics"], PutRules(inherit_topics=True)),
        (["categories", "topics"], PutRules(inherit_topics=True, inherit_categories=True)),
    ],
)
def test_inheritance_is_asked_for_by_name(inherit: list[str], rules: PutRules) -> None:
    assert read(inherit=inherit).world().rules == rules


def test_a_document_without_rules_leaves_those_of_the_world() -> None:
    assert not any(isinstance(change, PutRules) for change in read().changes)


def test_what_others_wrote_beside_it_is_left_alone() -> None:
    assert read(title="Fig. 8", expected={"cin": 4}) == read()


def test_all_that_is_known_of_each_thing() -> None:
    world = read(
        categories={"All": {"owner": "ann"}, "Local": {"parent": "All", "owner": "bob"}},
        services={
            "IDER": ["All"],
            "CARE": {"categories": ["Local"], "qualities": {"price": 3}, "tells": {"Quake": "IDER"}},
        },
        edges=[{"source": "All", "topic": "Quake", "target": "Local", "votes": [{"by": "ann", "agrees": False}]}],
        rules={"quorum": 2},
    ).world()
    assert world.owners == {"All": "ann", "Local": "bob"}
    assert world.services["CARE"].qualities == {"price": 3.0}
    assert world.edges["All", "Quake", "Local"].votes[0].by == "ann"
    assert world.neighbours("IDER", "Disaster") == ()
    assert world.rules.quorum == 2


def test_the_short_form_is_written_where_it_says_all() -> None:
    world = World.of(
        [
            PutTopic("T"),
            PutCategory("A"),
            PutCategory("B", "A", "ann"),
            PutService(Service("S", ("A",))),
            PutService(Service("R", ("A", "B"), policies=("p",))),
        ]
    )
    assert msgspec.json.decode(world_json.write(world)) == {
        "topics": {"T": None},
        "categories": {"A": None, "B": {"parent": "A", "owner": "ann"}},
        "services": {"S": ["A"], "R": {"categories": ["A", "B"], "policies": ["p"]}},
        "edges": [],
        "rules": {"inherit_topics": False, "inherit_categories": False, "quorum": 3},
    }


EDGE = {"source": "All", "topic": "Quake", "target": "Local"}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"services": {"CARE": []}}, r"services\.CARE: service 'CARE' has no category; name at least one"),
    ({"services": {"CARE": {"categories": [1]}}}, r"services\.CARE\.categories\[0\]: Expected `str`, got `int`"),
    ({"services": {"CARE": "Local"}}, r"services\.CARE\.categories: Expected `array`, got `str`"),
    (
        {"services": {"CARE": ["Loc"]}},
        r"services\.CARE: there is no category 'Loc'; did you mean 'Local'\? there are: All, Local; add it",
    ),
    ({"services": {"CARE": ["Local", "Local"]}}, r"services\.CARE: .* a category twice"),
    ({"services": {"CARE": {"catgories": ["Local"]}}}, r"services\.CARE\.catgories: there is no such key"),
    ({"services": {"CARE": {}}}, r"services\.CARE: .*missing required field `categories`"),
    ({"services": {"CARE": {"categories": ["All"], "tells": {"Quake": "Nobody"}}}}, r"services\.CARE: .*'Nobody'"),
    ({"services": {"a/b": ["All"]}}, r"services\.a/b: .* slash"),
    ({"services": {"": ["All"]}}, r"services\.: a service needs a name"),
    ({"services": []}, "services: expected an object"),
    ({"edges": [["All", "Quake", "Nowhere"]]}, r"edges\[0\]: there is no category 'Nowhere'"),
    ({"edges": [["All", "Flood", "Local"]]}, r"edges\[0\]: there is no topic 'Flood'"),
    ({"edges": [["All", "Quake"]]}, r"edges\[0\]: an edge is three names"),
    ({"edges": [["All", "Quake", None]]}, r"edges\[0\]: an edge is three names"),
    ({"edges": [["All", "Quake", "All"]] * 2}, r"edges\[1\]: edge All -Quake-> All stands already at edges\[0\]"),
    ({"edges": {"All": "Local"}}, "edges: expected an array"),
    ({"edges": [EDGE | {"votes": [{"by": "a"}]}]}, r"edges\[0\]\.votes\[0\]: .*`agrees`"),
    ({"edges": [EDGE | {"votes": [{"by": "a", "agrees": True}] * 2}]}, r"edges\[0\]: somebody voted twice"),
    ({"edges": [EDGE | {"votes": [{"by": "", "agrees": True}]}]}, r"edges\[0\]: a vote needs a name"),
    ({"topics": {"A": "B", "B": "C", "C": "A"}}, "the topic taxonomy has a cycle: A under B under C under A"),
    ({"categories": {"All": "All"}}, "the category taxonomy has a cycle: All under All"),
    ({"categories": {"All": "Nothing", "Local": "All"}}, r"categories\.All: there is no category 'Nothing'"),
    ({"categories": {"All": 1}}, r"categories\.All\.parent: Expected `str \| null`, got `int`"),
    ({"topics": {"Quake": {"parent": None, "owner": "x"}}}, r"topics\.Quake\.owner: there is no such key"),
    ({"publish": {"root": "Nobody", "topic": "Quake"}}, r"publish\.root: 'Nobody' is no service here"),
    ({"publish": {"root": "IDER", "topic": "Flood"}}, r"publish\.topic: there is no topic 'Flood'"),
    ({"publish": {"root": "IDER"}}, "publish: .*missing required field `topic`"),
    ({"publish": "IDER"}, "publish: expected an object"),
    ({"inherit": ["services"]}, "inherit: it may hold 'topics' and 'categories'"),
    ({"inherit": "topics"}, "inherit: expected an array"),
    ({"inherit": [], "rules": {}}, "inherit: `rules` says it too"),
    ({"rules": {"quorum": 0}}, "rules: a quorum of 0"),
    ({"rules": {"quorum": "3"}}, r"rules\.quorum: Expected `int`"),
    ({"servces": {}}, "servces: there is no such key; write 'services'"),
]


@pytest.mark.parametrize(("parts", "text"), WRONG)
def test_what_is_wrong_is_named_with_its_place(parts: dict[str, Any], text: str) -> None:
    with pytest.raises(Refusal, match=text):
        read(**parts)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "not readable as JSON"),
        (b"{", "not readable as JSON"),
        (b"\xff\xfe", "not readable as JSON"),
        (b'{"topics": {"T": NaN}}', "not readable as JSON"),
        (b'{"services": {"S": {"categories": ["A"], "qualities": {"q": 1e999}}}}', "out of range"),
        (b"[" * 200_000, "not readable as JSON"),
        (b'{"topics":' * 100_000, "not readable as JSON"),
        (b"[]", "the top is not an object"),
        (b'"topics"', "the top is not an object"),
        (b"{}", "nothing of a world"),
        (b'{"services": {"S": [], "S": []}}', "the name 'S' stands twice"),
        (b'{"topics": {}, "topics": {}}', "the name 'topics' stands twice"),
        (b'{"topics": {"\\ud800": null}}', "not readable as JSON"),
    ],
)
def test_what_is_no_world_at_all(data: bytes, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        world_json.read(data)


def test_a_mark_at_the_start_of_the_file_does_no_harm() -> None:
    assert world_json.read(b"\xef\xbb\xbf" + msgspec.json.encode(SCENARIO)) == read()


def test_a_long_chain_is_refused_soon() -> None:
    chain = {str(number): str(number + 1) for number in range(50_000)}
    with pytest.raises(Refusal, match="deeper than 64"):
        read(topics=chain | {"50000": None})
    with pytest.raises(Refusal, match="cycle"):
        read(topics=chain | {"50000": "0"})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["A", "parent", "categories"]), inner),
    max_leaves=6,
)


@settings(max_examples=examples(120), deadline=None)
@given(st.dictionaries(st.sampled_from(world_json.PARTS), JSON))
def test_whatever_is_in_it_it_is_read_or_refused(document: dict[str, object]) -> None:
    try:
        world_json.read(msgspec.json.encode(document)).world()
    except Refusal as refused:
        assert refused.text
