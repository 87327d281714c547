"""What a caller may ask of the services of a node, and what it is told of the rest."""

from collections.abc import AsyncIterator, Awaitable
from itertools import count
from pathlib import Path
from time import process_time
from uuid import UUID

import pytest
from tests.broker.test_pull_points import running

from tocsin.broker.caller import NODE, Caller
from tocsin.broker.node import Node
from tocsin.mediation.operations import RegisterPublisher, Subscribe
from tocsin.mediation.soap.namespaces import WSN_1_2
from tocsin.mediation.ws.topic_documents import T1
from tocsin.model.access import Principal, Right, Secret
from tocsin.model.declarations import Ontology, Producer
from tocsin.model.filters import TopicIs
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.identity import Node as NodeName
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

MANY = 50_000
A, B = Topic((QName("urn:x", "a"),)), Topic((QName("urn:x", "b"),))
BEN = Caller(Principal("ben", (Right("subscribe"),)))
MANAGER = Caller(Principal("max", (Right("publish"), Right("subscribe"), Right("manage"))))
SOME = Caller(Principal("some", (Right("publish"), Right("subscribe"), Right("manage", TopicIs((A.steps,))))))
FEW = Caller(Principal("few", (Right("publish", TopicIs((A.steps,))),)))
OTHER = Caller(Principal("other", (Right("publish"),)))
FREE = Secret("free", "bearer", "t", Instant(1))
BOUND = Secret("bound", "bearer", "t", Instant(1), "", "https://a.example")
TOPICS = '<w:Topic name="a"/><w:Topic name="b"/>'
SPACE = f'<w:TopicNamespace xmlns:w="{T1}" targetNamespace="urn:x">{TOPICS}</w:TopicNamespace>'.encode()


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    async with running(tmp_path, told=[]) as node:
        yield node


async def refused(asked: Awaitable[object], why: str = "may not") -> None:
    with pytest.raises(Refusal, match=why) as refusal:
        await asked
    assert refusal.value.reason == "not-allowed"


# Subscriptions of others


def owned_by(node: Node, *owners: str) -> None:
    names = (SubscriptionId(UUID(int=number * 7919 % (1 << 64)).hex) for number in count(1))
    for name, owner in zip(names, owners, strict=False):
        made = Subscription(name, owner, None, None, Form("cloudevents"), (), Position(NodeName("n"), 0), None)
        node.standing.by_id[name] = made


async def test_pages_are_full_of_what_one_may_see(node: Node) -> None:
    owned_by(node, *["ann", "ben"] * 10)
    first = node.subscriptions.page(BEN, "", 6)
    rest = node.subscriptions.page(BEN, first[-1].id, 6)
    assert [each.owner for each in (*first, *rest)] == ["ben"] * 10
    assert sorted(names := [each.id for each in (*first, *rest)]) == names
    assert node.subscriptions.page(BEN, "", 9, lambda each: each.id == names[3]) == [first[3]]
    node.standing.by_id.clear()


async def test_those_of_others_are_looked_at_once(node: Node) -> None:
    """By pages of a thousand this took some hundred times as long as one look at each."""
    owned_by(node, *["ann"] * MANY)
    began = process_time()
    assert node.subscriptions.page(BEN, "", 100) == []
    assert process_time() - began < 2.0
    node.standing.by_id.clear()


# Secrets


def sent(consumer: str | None, end: str | None = None, at: str = "https://b.example") -> Subscribe:
    """With these secrets."""
    ending = None if end is None else Endpoint(at, secret=end)
    return Subscribe(Endpoint(at, secret=consumer), ending, Form("cloudevents"), (), None)


async def test_a_secret_for_any_address_is_sent_only_for_who_manages_everything(node: Node) -> None:
    for secret in (FREE, BOUND):
        await node.consumers.add_secret(NODE, secret, replace=False)
    for request in (sent("free"), sent(None, "free")):
        await refused(node.subscriptions.subscribe(BEN, request), "'free'")
    assert node.subscriptions.page(NODE, "", 9) == []
    for caller, request in (
        (BEN, sent("bound", at="https://a.example")),
        (BEN, sent(None)),
        (MANAGER, sent("free")),
    ):
        await node.subscriptions.subscribe(caller, request)
    assert len(node.subscriptions.page(NODE, "", 9)) == 3


async def test_secrets_are_changed_only_by_who_manages_everything(node: Node) -> None:
    await refused(node.consumers.add_secret(BEN, FREE, replace=True))
    await node.consumers.add_secret(MANAGER, FREE, replace=True)
    await refused(node.consumers.remove_secret(BEN, "free"))
    assert node.consumers.secrets(BEN) == [FREE]
    await node.consumers.remove_secret(MANAGER, "free")
    assert node.consumers.secrets(BEN) == []


# Declarations


@pytest.mark.parametrize("who", [SOME, Caller(Principal(""))])
async def test_who_manages_some_topics_declares_nothing(node: Node, who: Caller) -> None:
    await refused(node.declarations.declare(who, Producer("http://p")))
    await refused(node.semantics.declare(who, Ontology("o"), dry_run=True), "ontologies")
    with pytest.raises(Refusal, match="ontologies"):
        node.semantics.check_may_declare(who)
    assert not node.declarations.known.producers and not node.declarations.known.ontologies


async def test_who_manages_everything_declares(node: Node) -> None:
    await node.declarations.declare(MANAGER, Producer("http://p"))
    assert node.declarations.known.producers == {"http://p": Producer("http://p")}
    node.semantics.check_may_declare(MANAGER)
    await node.semantics.declare(MANAGER, Ontology("o"), dry_run=True)
    assert not node.declarations.known.ontologies
    await node.semantics.declare(MANAGER, Ontology("o"))
    assert list(node.declarations.known.ontologies) == ["o"]


# Publishers and topics


def publisher(*topics: Topic) -> RegisterPublisher:
    return RegisterPublisher(None, topics, False, None, Form("wsn-1.3"))


async def test_one_registers_for_what_one_may_publish(node: Node) -> None:
    assert (await node.registrations.register(FEW, publisher(A))).owner == "few"
    await refused(node.registrations.register(FEW, publisher(A, B)))
    await refused(node.registrations.register(FEW, publisher()))
    assert (await node.registrations.register(OTHER, publisher())).topics == ()


async def test_one_sees_and_ends_what_is_ones_own(node: Node) -> None:
    made = await node.registrations.register(FEW, publisher(A))
    seen = [list(node.registrations.all(each)) for each in (FEW, OTHER, MANAGER)]
    assert seen == [[made], [], [made]]
    await refused(node.registrations.destroy(OTHER, made.id))
    for look in (node.registrations.get, node.registrations.upstream_of):
        with pytest.raises(Refusal, match="another's"):
            look(OTHER, made.id)
    with pytest.raises(Refusal, match="another's"):
        await node.properties.get(OTHER, made.id, [])
    assert await node.registrations.destroy(MANAGER, made.id) == made


async def test_topics_are_declared_by_who_manages_and_read_by_who_may_know(node: Node) -> None:
    await refused(node.topics.declare(FEW, SPACE))
    await node.topics.declare(MANAGER, SPACE)
    assert (await node.topics.topic_set(FEW)).topics == tuple(node.topics.declared(FEW)) == (A,)
    assert (await node.topics.topic_set(MANAGER)).topics == (A, B)
    assert node.topics.namespaces(FEW) == [] and len(node.topics.namespaces(MANAGER)) == 1
    with pytest.raises(Refusal, match="may not read"):
        node.topics.namespace(FEW, "urn:x")
    assert (
        len(await node.properties.get(FEW, "", [QName("http://docs.oasis-open.org/wsn/b-2", "TopicExpression")])) == 1
    )
    await refused(node.topics.withdraw(FEW, "urn:x"))
    await node.topics.withdraw(MANAGER, "urn:x")


async def test_properties_go_by_the_names_of_the_drafts_too(node: Node) -> None:
    await node.topics.declare(MANAGER, SPACE)
    asked_for = [QName(WSN_1_2, "Topic"), QName(WSN_1_2, "FixedTopicSet")]
    assert len(await node.properties.get(NODE, "", asked_for)) == 3
    assert len(await node.properties.get(FEW, "", asked_for)) == 2
