"""Topics and publishers as a principal with few rights sees them."""

from pathlib import Path
from typing import Any, cast

import pytest

from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.registry import Registry
from tocsin.broker.topics.topic_counts import TopicCounts
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.documents.ports.port import Broker
from tocsin.doors.guarded import Guarded
from tocsin.mediation.operations import RegisterPublisher
from tocsin.mediation.soap.namespaces import WSN_1_2
from tocsin.mediation.ws.topic_documents import T1
from tocsin.model.access import Principal, Right
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form
from tocsin.store.database import Store
from tocsin.wire.addresses import AddressGuard

A, B = Topic((QName("urn:x", "a"),)), Topic((QName("urn:x", "b"),))
FEW = Principal("few", (Right("publish", TopicIs((A.steps,))),))
OTHER = Principal("other", (Right("publish"),))
ALL = Principal("all", (Right("publish"), Right("manage")))
TOPICS = '<w:Topic name="a"/><w:Topic name="b"/>'
SPACE = f'<w:TopicNamespace xmlns:w="{T1}" targetNamespace="urn:x">{TOPICS}</w:TopicNamespace>'


class Bare(Registry):
    """The part of a node that is asked here."""

    base_url, body_limit = "http://broker", 1000

    def __init__(self, store: Store) -> None:
        self.store, self._subscriptions = store, {}
        self.topic_space = TopicSpace(store.topic_namespaces, fixed=False)
        self.topic_counts = TopicCounts.load(store)
        self.publishers = Registrations(
            store.registrations, AddressGuard(loopback_allowed=True), self.base_url, lambda: Instant(1)
        )


@pytest.fixture
def bare(tmp_path: Path) -> Broker:
    return cast(Broker, Bare(Store.open(tmp_path / "tocsin.db")))


def asked(*topics: Topic) -> RegisterPublisher:
    return RegisterPublisher(None, topics, False, None, Form("wsn-1.3"))


async def refused(action: Any) -> None:
    with pytest.raises(Refusal) as refusal:
        await action
    assert refusal.value.reason == "not-allowed"


async def test_one_registers_for_what_one_may_publish(bare: Broker) -> None:
    few = Guarded(bare, FEW)
    assert (await few.register(asked(A), owner="somebody else")).owner == "few"
    await refused(few.register(asked(A, B)))
    await refused(few.register(asked()))
    assert (await Guarded(bare, OTHER).register(asked())).topics == ()


async def test_one_sees_and_ends_what_is_ones_own(bare: Broker) -> None:
    few, other, everything = (Guarded(bare, each) for each in (FEW, OTHER, ALL))
    made = await few.register(asked(A))
    assert (few.registrations(), other.registrations(), everything.registrations()) == ([made], [], [made])
    await refused(other.destroy_registration(made.id))
    for look in (other.registration, other.upstream_of):
        with pytest.raises(Refusal, match="another's"):
            look(made.id)
    assert await everything.destroy_registration(made.id) == made


async def test_topics_are_declared_by_who_manages_and_read_by_who_may_know(bare: Broker) -> None:
    few, everything = Guarded(bare, FEW), Guarded(bare, ALL)
    await refused(few.declare_topics(SPACE.encode()))
    await everything.declare_topics(SPACE.encode())
    assert few.topic_set().topics == tuple(few.declared_topics()) == (A,)
    assert everything.topic_set().topics == (A, B)
    assert few.topic_namespaces() == [] and len(everything.topic_namespaces()) == 1
    with pytest.raises(Refusal, match="may not read"):
        few.topic_namespace("urn:x")
    assert len(few.properties("", [QName("http://docs.oasis-open.org/wsn/b-2", "TopicExpression")])) == 1
    await refused(few.withdraw_topics("urn:x"))
    await everything.withdraw_topics("urn:x")


async def test_properties_go_by_the_names_of_the_drafts_too(bare: Broker) -> None:
    await Guarded(bare, ALL).declare_topics(SPACE.encode())
    asked_for = [QName(WSN_1_2, "Topic"), QName(WSN_1_2, "FixedTopicSet")]
    assert len(bare.properties("", asked_for)) == 3
    assert len(Guarded(bare, FEW).properties("", asked_for)) == 2
