"""Which topics may be used, as declared."""

from pathlib import Path

import pytest

from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.mediation.ws.topic_documents import T1
from tocsin.model import names
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression
from tocsin.store.database import Store

DOCUMENT = f"""<w:TopicNamespace xmlns:w="{T1}" targetNamespace="urn:x" final="true">
  <w:Topic name="open"><w:Topic name="known"/></w:Topic>
  <w:Topic name="shut" final="true"><w:Topic name="known"/></w:Topic>
</w:TopicNamespace>""".encode()


def topic(text: str) -> Topic:
    found = names.topic(text)
    assert found is not None
    return found


async def declared(path: Path, *, fixed: bool) -> TopicSpace:
    space = TopicSpace(Store.open(path / "tocsin.db").topic_namespaces, fixed=fixed)
    await space.declare(DOCUMENT)
    return space


async def test_without_declarations_anything_goes(tmp_path: Path) -> None:
    space = TopicSpace(Store.open(tmp_path / "tocsin.db").topic_namespaces, fixed=False)
    for each in ("a/b", "{urn:x}shut/other"):
        space.check(topic(each))


@pytest.mark.parametrize(
    ("text", "fixed", "complaint"),
    [
        ("{urn:x}open/known", True, None),
        ("{urn:x}open/other", False, None),
        ("{urn:x}open/other", True, "fixed"),
        ("other", False, None),
        ("other", True, "fixed"),
        ("{urn:x}shut", False, None),
        ("{urn:x}shut/known", False, None),
        ("{urn:x}shut/other", False, "below {urn:x}shut, which was declared final"),
        ("{urn:x}shut/known/deeper", False, "final"),
        ("{urn:x}new", False, "namespace that was declared final"),
        ("{urn:y}new", False, None),
        (str(NO_TOPIC), True, None),
    ],
)
async def test_what_may_be_published_where(tmp_path: Path, text: str, fixed: bool, complaint: str | None) -> None:
    space = await declared(tmp_path, fixed=fixed)
    for _ in range(2):  # the second time from memory
        if complaint is None:
            space.check(topic(text))
        else:
            with pytest.raises(Refusal) as refused:
                space.check(topic(text))
            assert refused.value.reason == "unknown-topic" and complaint in refused.value.text


async def test_a_subscription_must_select_something_of_a_fixed_set(tmp_path: Path) -> None:
    space = await declared(tmp_path, fixed=True)
    good, bad = (parse_topic_expression(each, "full", {"x": "urn:x"}) for each in ("x:*/known", "x:open/nothing"))
    space.check_filters((good,))
    space.check_filters(())
    with pytest.raises(Refusal, match="selects none"):
        space.check_filters((good, bad))
    (await declared(tmp_path, fixed=False)).check_filters((bad,))


async def test_declarations_survive_and_can_be_withdrawn(tmp_path: Path) -> None:
    await declared(tmp_path, fixed=True)
    again = TopicSpace(Store.open(tmp_path / "tocsin.db").topic_namespaces, fixed=True)
    assert [each.namespace for each in again.namespaces()] == ["urn:x"]
    again.check(topic("{urn:x}open"))
    await again.withdraw("urn:x")
    with pytest.raises(Refusal):
        again.check(topic("{urn:x}open"))
    with pytest.raises(Refusal, match="urn:x"):
        await again.withdraw("urn:x")
    assert TopicSpace(Store.open(tmp_path / "tocsin.db").topic_namespaces, fixed=True).namespaces() == []


async def test_a_bad_document_changes_nothing(tmp_path: Path) -> None:
    space = await declared(tmp_path, fixed=True)
    with pytest.raises(Refusal):
        await space.declare(DOCUMENT.replace(b'name="open"', b'name="o p"'))
    space.check(topic("{urn:x}open"))


async def test_the_set_is_what_was_declared_and_what_was_seen(tmp_path: Path) -> None:
    space = await declared(tmp_path, fixed=False)
    found = space.topic_set(["a/b", "{urn:x}open", "{urn:x}ope", "{cut sho"])
    shown = [str(each) for each in found.topics]
    assert shown == sorted(shown)
    assert {"a/b", "{urn:x}ope", "{urn:x}open", "{urn:x}shut/known"} <= set(shown) and len(shown) == 6
