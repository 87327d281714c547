"""The documents of WS-Topics 1.3."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tocsin.mediation.ws.topic_documents import (
    DEEPEST,
    T1,
    read_topic_namespace,
    read_topic_set,
    topic_namespace_document,
    topic_set_element,
)
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topics import DeclaredTopic, TopicNamespace, TopicSet

SPACE = f"""<?xml version="1.0"?>
<w:TopicNamespace xmlns:w="{T1}" xmlns:m="urn:messages" xmlns:o="urn:other" name="disasters"
    targetNamespace="urn:disasters" final="true">
  <w:documentation>All that <b>can</b> happen</w:documentation>
  <w:Topic name="earthquake" messageTypes="m:Alert m:Report plain">
    <w:documentation>It shakes</w:documentation>
    <w:MessagePattern Dialect="http://www.w3.org/TR/1999/REC-xpath-19991116">//x</w:MessagePattern>
    <w:Topic name="severe" final="1"/>
    <w:Topic name="light"><w:Topic name="felt"/></w:Topic>
    <extension xmlns="urn:elsewhere"><w:Topic name="not-one"/></extension>
  </w:Topic>
  <w:Topic name="landslide" parent="o:weather/rain"/>
</w:TopicNamespace>"""

ONVIF = f"""<wstop:TopicSet xmlns:wstop="{T1}" xmlns:tns1="http://www.onvif.org/ver10/topics"
    xmlns:tt="http://www.onvif.org/ver10/schema">
  <tns1:RuleEngine wstop:topic="false"><LineDetector wstop:topic="true"><Crossed wstop:topic="true">
    <tt:MessageDescription IsProperty="false"><tt:Source><tt:SimpleItemDescription Name="V" Type="tt:X"/></tt:Source>
    </tt:MessageDescription></Crossed></LineDetector></tns1:RuleEngine>
  <tns1:VideoSource><tns1:MotionAlarm wstop:topic="1"/></tns1:VideoSource>
</wstop:TopicSet>"""


def document(inner: str = "", attributes: str = 'targetNamespace="urn:x"') -> bytes:
    return f'<w:TopicNamespace xmlns:w="{T1}" xmlns:p="urn:p" {attributes}>{inner}</w:TopicNamespace>'.encode()


def test_a_topic_namespace_is_read() -> None:
    found = read_topic_namespace(SPACE.encode())
    rain = Topic((QName("urn:other", "weather"), QName("", "rain")))
    assert (found.namespace, found.name, found.final) == ("urn:disasters", "disasters", True)
    assert found.documentation == "All that can happen"
    quake, slide = found.topics
    assert quake.message_types == (QName("urn:messages", "Alert"), QName("urn:messages", "Report"), QName("", "plain"))
    assert [each.name for each in quake.topics] == ["severe", "light"]
    assert [each.final for each in quake.topics] == [True, False]
    assert slide == DeclaredTopic("landslide", parent=rain)


def test_what_is_read_is_written() -> None:
    found = read_topic_namespace(SPACE.encode())
    assert read_topic_namespace(topic_namespace_document(found)) == found


def test_a_topic_set_of_a_camera_is_read() -> None:
    onvif = "http://www.onvif.org/ver10/topics"
    assert [str(each) for each in read_topic_set(ONVIF.encode()).topics] == [
        f"{{{onvif}}}RuleEngine/LineDetector",
        f"{{{onvif}}}RuleEngine/LineDetector/Crossed",
        f"{{{onvif}}}VideoSource/{{{onvif}}}MotionAlarm",
    ]


def test_a_topic_set_marks_topics_only() -> None:
    deep = Topic((QName("urn:x", "a"), QName("", "b")))
    root = etree.fromstring(topic_set_element(TopicSet.of([deep])))
    (a,) = root
    (b,) = a
    assert (root.tag, a.tag, b.tag) == (f"{{{T1}}}TopicSet", "{urn:x}a", "b")
    assert (a.get(f"{{{T1}}}topic"), b.get(f"{{{T1}}}topic")) == (None, "true")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (b"<x", "well-formed"),
        (b"<!DOCTYPE x><x/>", "DOCTYPE"),
        (b"<TopicNamespace/>", "not {"),
        (document(attributes=""), "@targetNamespace"),
        (document(attributes='targetNamespace="a b{"'), "@targetNamespace"),
        (document(attributes='targetNamespace="urn:x" name="a:b"'), "/TopicNamespace/@name"),
        (document(attributes='targetNamespace="urn:x" final="maybe"'), "'maybe' is neither true nor false"),
        (document("<w:Topic/>"), "/TopicNamespace/Topic[1]/@name"),
        (document('<w:Topic name="a"/><w:Topic name="b:c"/>'), "Topic[2]/@name"),
        (document('<w:Topic name="a"/><w:Topic name="a"/>'), "declared twice"),
        (document('<w:Topic name="a"><w:Topic name="b"/><w:Topic name="b"/></w:Topic>'), "Topic[1]/Topic[2]"),
        (document('<w:Topic name="a" messageTypes="q:b"/>'), "declared prefix"),
        (document('<w:Topic name="a" parent="p:x//y"/>'), "Topic[1]/@parent"),
        (document('<w:Topic name="a" parent="q:x"/>'), "'q' is not declared"),
        (document('<w:Topic name="a"><w:Topic name="b" parent="p:x"/></w:Topic>'), "only a root topic"),
        (document('<w:Topic name="a">' * (DEEPEST + 1) + "</w:Topic>" * (DEEPEST + 1)), f"{DEEPEST} deep"),
    ],
)
def test_a_bad_document_is_refused_with_the_place(written: bytes, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_topic_namespace(written)
    assert refused.value.reason == "malformed"
    assert words in refused.value.text


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ('<a w:topic="perhaps"/>', "/TopicSet/a/@{"),
        ("<a>" * (DEEPEST + 2) + "</a>" * (DEEPEST + 2), "deep"),
    ],
)
def test_a_bad_topic_set_is_refused_with_the_place(inner: str, words: str) -> None:
    with pytest.raises(Refusal, match="at /TopicSet") as refused:
        read_topic_set(f'<w:TopicSet xmlns:w="{T1}">{inner}</w:TopicSet>'.encode())
    assert words in refused.value.text


NAMES = st.sampled_from(["a", "b", "Größe", "c-d", "e.1"])
STEPS = st.builds(QName, st.sampled_from(["", "urn:x", "http://y/?a=1&b=2#f"]), NAMES)
TOPICS = st.builds(Topic, st.lists(STEPS, min_size=1, max_size=4).map(tuple))


@given(st.lists(TOPICS, max_size=12))
def test_every_topic_set_comes_back(topics: list[Topic]) -> None:
    written = TopicSet.of(topics)
    assert read_topic_set(topic_set_element(written)) == written


def _declared(children: st.SearchStrategy[list[DeclaredTopic]]) -> st.SearchStrategy[DeclaredTopic]:
    return st.builds(
        DeclaredTopic,
        NAMES,
        children.map(lambda each: tuple({topic.name: topic for topic in each}.values())),
        st.booleans(),
        st.lists(STEPS, max_size=2).map(tuple),
        documentation=st.sampled_from(["", "why & <how>"]),
    )


TREES = st.recursive(_declared(st.just([])), lambda below: _declared(st.lists(below, max_size=3)), max_leaves=8)


@given(st.lists(TREES, max_size=3), st.booleans())
def test_every_topic_namespace_comes_back(topics: list[DeclaredTopic], final: bool) -> None:
    unique = tuple({topic.name: topic for topic in topics}.values())
    declared = TopicNamespace("urn:x", unique, "n", final, "said")
    assert read_topic_namespace(topic_namespace_document(declared)) == declared
