"""What a node knows of topics and publishers: the part of it that answers who asks."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from tocsin.broker.engines.sending import Sending
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topic_counts import TopicCounts
from tocsin.broker.topics.topic_space import TopicSpace
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.index.topics import TopicIndex
from tocsin.matching.resolution import as_said
from tocsin.mediation.operations import RegisterPublisher
from tocsin.mediation.ws import draft_properties
from tocsin.mediation.ws.properties import (
    CREATION_TIME,
    Facts,
    registration_properties,
    subscription_properties,
)
from tocsin.model import names
from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Registration, Subscription
from tocsin.model.topics import TopicNamespace, TopicSet
from tocsin.routing.demand import allows
from tocsin.store.database import Store

Filters = tuple[Filter, ...]


class Registry:
    """A base of `Node`, which has these."""

    base_url: str
    known: Catalogue
    publishers: Registrations
    topic_space: TopicSpace
    topic_counts: TopicCounts
    store: Store
    sending: Sending
    _subscriptions: dict[SubscriptionId, Subscription]

    def now(self) -> Instant:
        raise NotImplementedError

    def subscription(self, subscription: str) -> Subscription:
        raise NotImplementedError

    async def register(self, request: RegisterPublisher, *, owner: str | None = None) -> Registration:
        return await self.publishers.register(request, self._subscriptions.values(), owner)

    async def destroy_registration(self, registration: str) -> Registration:
        return await self.publishers.destroy(registration)

    def registration(self, registration: str) -> Registration:
        return self.publishers.get(registration)

    def registrations(self) -> Sequence[Registration]:
        return self.publishers.all()

    def upstream_of(self, registration: str) -> str | None:
        return self.publishers.upstream_of(registration)

    @property
    def fixed_topics(self) -> bool:
        return self.topic_space.fixed

    def topic_set(self) -> TopicSet:
        return self.topic_space.topic_set(name for name, _, _ in self.topic_counts.rows())

    def properties(self, resource: str, asked: Sequence[QName]) -> tuple[bytes, ...]:
        if not resource:
            return draft_properties.all_broker_properties(Facts(self.topic_set(), self.fixed_topics), asked)
        now = self.now()
        if self.publishers.has(resource):
            registration = self.registration(resource)
            drafts = draft_properties.registration_table(registration, now)
            return registration_properties(registration, asked, now, drafts)
        subscription = as_said(self._addressed(self.subscription(resource)), self.known)
        created = self._created(resource) if any(each.local == CREATION_TIME.local for each in asked) else None
        drafts = draft_properties.subscription_table(subscription, now, created)
        return subscription_properties(subscription, asked, now, created, drafts)

    def _addressed(self, subscription: Subscription) -> Subscription:
        """A pull point of ours is kept as a path; others need its whole address."""
        consumer = subscription.consumer
        if consumer is None or not consumer.address.startswith("/"):
            return subscription
        whole = replace(consumer, address=f"{self.base_url}{consumer.address}")
        return replace(subscription, consumer=whole)

    def _created(self, subscription: str) -> Instant | None:
        history = self.store.history(SubscriptionId(subscription))
        return history[0].when if history else None

    def declared_topics(self) -> Iterable[Topic]:
        return self.topic_space.declared()

    def topic_namespaces(self) -> Sequence[TopicNamespace]:
        return self.topic_space.namespaces()

    def topic_namespace(self, uri: str) -> TopicNamespace:
        return self.topic_space.namespace(uri)

    async def declare_topics(self, document: bytes) -> TopicNamespace:
        return await self.topic_space.declare(document)

    async def withdraw_topics(self, uri: str) -> None:
        await self.topic_space.withdraw(uri)

    async def wanting(self, topics: Sequence[str]) -> Sequence[int]:
        """How many subscriptions could be told of each of these; counted apart from the loop, over what stands now."""
        standing = Counter(each.filters for each in self._subscriptions.values() if each.state == "active")
        return await asyncio.to_thread(_count, standing, topics)

    async def tallies(self, subscriptions: Sequence[SubscriptionId]) -> Mapping[str, "Tally"]:
        """What became of what they were to be told: waiting, delivered since the start, dead letters."""
        dead = await asyncio.to_thread(self.store.dead_letters_by_subscription)
        delivered = self.sending.delivered
        waiting = self._waiting_by_subscription()
        return {each: (waiting.get(each, 0), delivered.get(each, 0), dead.get(each, 0)) for each in subscriptions}

    def _waiting_by_subscription(self) -> Mapping[SubscriptionId, int]:
        return {} if self.sending.engine is None else self.sending.engine.deliverer.waiting()


Tally = tuple[int, int, int]


def _count(standing: Mapping[Filters, int], topics: Sequence[str]) -> list[int]:
    """One index for those that ask for topics, so that many subscriptions and many topics are no matter."""
    index: TopicIndex[Filters] = TopicIndex()
    others: list[Filters] = []
    for filters in standing:
        key = next((each for each in filters if isinstance(each, TopicIs)), None)
        if key is None:
            others.append(filters)
        else:
            index.add(filters, key)
    return [_wanting(each, index, others, standing) for each in topics]


def _wanting(name: str, index: "TopicIndex[Filters]", others: list[Filters], standing: Mapping[Filters, int]) -> int:
    topic = names.topic(name)
    if topic is None:
        return 0
    asking = (each for each in (*index.match(topic), *others) if allows(each, topic))
    return sum(standing[each] for each in asking)
