import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topics import (
    MOST_STEPS,
    Path,
    TopicDialect,
    parse_concrete_topic,
    parse_topic_expression,
)

NAMESPACES = {"t": "urn:t", "u": "urn:u"}
NS = "urn:t"


def name(local: str, namespace: str = "") -> QName:
    return QName(namespace, local)


def full(text: str) -> tuple[Path, ...]:
    return parse_topic_expression(text, "full", NAMESPACES).alternatives


def refused(text: str, dialect: TopicDialect) -> tuple[int, str]:
    with pytest.raises(Refusal) as caught:
        parse_topic_expression(text, dialect, NAMESPACES)
    assert caught.value.reason == "bad-topic-expression"
    found = re.search(r"position (\d+): (.*)", caught.value.text)
    assert found is not None
    return int(found[1]), found[2]


FORMS: dict[str, tuple[Path, ...]] = {
    "a": ((name("a"),),),
    "t:a": ((name("a", NS),),),
    "*": ((ANY,),),
    "t:*": ((name("*", NS),),),
    "//a": ((DESCEND, name("a")),),
    "//*": ((DESCEND, ANY),),
    "t://*": ((name("*", NS), DESCEND),),
    "t://a": ((name("a", NS),), (name("*", NS), DESCEND, name("a"))),
    "t:a/b": ((name("a", NS), name("b")),),
    "t:a/u:b": ((name("a", NS), name("b", "urn:u")),),
    "t:a/*": ((name("a", NS), ANY),),
    "t:a/*/b": ((name("a", NS), ANY, name("b")),),
    "t:a//b": ((name("a", NS), DESCEND, name("b")),),
    "t:a//u:b": ((name("a", NS), DESCEND, name("b", "urn:u")),),
    "t:a//*": ((name("a", NS), DESCEND, ANY),),
    "t:a//.": ((name("a", NS), DESCEND),),
    "t:a/.": ((name("a", NS),),),
    "t:a//.//b": ((name("a", NS), DESCEND, name("b")),),
    "t:a|u:b": ((name("a", NS),), (name("b", "urn:u"),)),
    " t:a | u:b/c ": ((name("a", NS),), (name("b", "urn:u"), name("c"))),
    "a|a": ((name("a"),),),
    "a.b-c": ((name("a.b-c"),),),
}


@pytest.mark.parametrize("text", FORMS)
def test_ws_topics_s8_3_full_dialect(text: str) -> None:
    assert full(text) == FORMS[text]


@pytest.mark.parametrize("text", ["a", "t:a", "t:a/b", "t:a/u:b", "a/b/c"])
def test_ws_topics_s8_2_concrete_dialect(text: str) -> None:
    assert parse_topic_expression(text, "concrete", NAMESPACES) == TopicIs(FORMS.get(text) or full(text))
    assert parse_concrete_topic(text, NAMESPACES) == Topic(full(text)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["a", "t:a"])
def test_ws_topics_s8_1_simple_dialect(text: str) -> None:
    assert parse_topic_expression(text, "simple", NAMESPACES) == TopicIs(FORMS[text])


@pytest.mark.parametrize(
    ("dialect", "text", "position", "why"),
    [
        ("simple", "t:a/b", 3, "root topics only"),
        ("simple", "t:*", 2, "no wildcards"),
        ("simple", "//a", 0, "no wildcards"),
        ("simple", "a|b", 1, "no alternatives"),
        ("concrete", "a/*/b", 1, "no wildcards"),
        ("concrete", "a/b//c/*", 3, "no wildcards"),
        ("concrete", "a/.", 1, "no wildcards"),
        ("concrete", "a/. ", 1, "no wildcards"),
        ("concrete", "a|a", 1, "no alternatives"),
        ("full", "", 0, "a topic name or \\* is expected"),
        ("full", "  ", 2, "a topic name or \\* is expected"),
        ("full", "a|", 2, "a topic name or \\* is expected"),
        ("full", "a||b", 2, "a topic name or \\* is expected"),
        ("full", "1a", 0, "a topic name or \\* is expected"),
        ("full", "/a", 0, "a topic name or \\* is expected"),
        ("full", "a/", 1, "/ or // and a topic name"),
        ("full", "a//", 1, "/ or // and a topic name"),
        ("full", "a///b", 1, "/ or // and a topic name"),
        ("full", "a b", 1, "/ or // and a topic name"),
        ("full", "t:a/t:*", 5, "/ or // and a topic name"),
        ("full", "a|b:c:d", 2, "'b' is not declared"),
        ("full", "x:a", 0, "'x' is not declared"),
        ("full", "t:a/x:b", 4, "'x' is not declared"),
        ("full", "ab | x://c", 5, "'x' is not declared"),
    ],
)
def test_the_position_of_what_is_wrong(dialect: TopicDialect, text: str, position: int, why: str) -> None:
    found = refused(text, dialect)
    assert found[0] == position
    assert re.search(why, found[1])


def test_an_expression_has_a_length_and_a_depth() -> None:
    assert refused("a" * 8193, "full")[1].startswith("it has 8193 characters")
    full("/".join("a" * (MOST_STEPS + 1)))
    assert "steps" in refused("/".join("a" * (MOST_STEPS + 2)), "full")[1]


def test_a_long_expression_is_not_repeated_in_full() -> None:
    with pytest.raises(Refusal) as caught:
        parse_topic_expression("a" * 5000 + "/", "full", {})
    assert len(caught.value.text) < 300


@pytest.mark.parametrize("namespace", ["urn:{x}", "a b", "a\tb"])
def test_a_namespace_without_a_text_form_is_refused(namespace: str) -> None:
    with pytest.raises(Refusal, match="which is not a URI"):
        parse_concrete_topic("p:a", {"p": namespace})


@given(st.text(alphabet="abtu:/*.| ", max_size=16), st.sampled_from(["simple", "concrete", "full"]))
def test_any_text_is_read_or_refused(text: str, dialect: TopicDialect) -> None:
    try:
        found = parse_topic_expression(text, dialect, NAMESPACES)
    except Refusal as refusal:
        assert refusal.reason == "bad-topic-expression"
    else:
        assert found.alternatives
        assert dialect == "full" or len(found.alternatives) == 1
