"""Topics and publishers as one principal sees them."""

from collections.abc import Iterable, Mapping, Sequence

from tocsin.documents.ports.registry_port import RegistryPort
from tocsin.matching import rights
from tocsin.mediation.operations import RegisterPublisher
from tocsin.mediation.ws.draft_properties import all_broker_properties
from tocsin.mediation.ws.properties import Facts
from tocsin.model.access import Principal
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Registration, Subscription
from tocsin.model.topics import TopicNamespace, TopicSet


class GuardedRegistry:
    """A base of `Guarded`, which has these."""

    _broker: RegistryPort
    _principal: Principal

    @property
    def fixed_topics(self) -> bool:
        return self._broker.fixed_topics

    async def register(self, request: RegisterPublisher, *, owner: str | None = None) -> Registration:
        del owner
        if not request.topics and not any(each.topics is None for each in self._principal.of("publish")):
            raise self._may_not("register for every topic; name topics in the registration")
        for topic in request.topics:
            if not rights.may_publish(self._principal, topic):
                raise self._may_not(f"publish under the topic {topic}")
        return await self._broker.register(request, owner=self._principal.name)

    async def destroy_registration(self, registration: str) -> Registration:
        self.registration(registration)
        return await self._broker.destroy_registration(registration)

    def registration(self, registration: str) -> Registration:
        found = self._broker.registration(registration)
        if not self._is_ours(found):
            raise self._may_not(f"manage the registration {registration}, which is another's")
        return found

    def registrations(self) -> Sequence[Registration]:
        return [each for each in self._broker.registrations() if self._is_ours(each)]

    def upstream_of(self, registration: str) -> str | None:
        return self._broker.upstream_of(self.registration(registration).id)

    def topic_set(self) -> TopicSet:
        return TopicSet(tuple(filter(self._may_know_of, self._broker.topic_set().topics)))

    def properties(self, resource: str, asked: Sequence[QName]) -> tuple[bytes, ...]:
        if not resource:
            return all_broker_properties(Facts(self.topic_set(), self.fixed_topics), asked)
        try:
            self.registration(resource)
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":
                raise
            self._managed(resource)
        return self._broker.properties(resource, asked)

    def _managed(self, subscription: str) -> Subscription:
        raise NotImplementedError

    def declared_topics(self) -> Iterable[Topic]:
        return filter(self._may_know_of, self._broker.declared_topics())

    def topic_namespaces(self) -> Sequence[TopicNamespace]:
        return [each for each in self._broker.topic_namespaces() if self._may_know_all(each)]

    def topic_namespace(self, uri: str) -> TopicNamespace:
        found = self._broker.topic_namespace(uri)
        if not self._may_know_all(found):
            raise self._may_not(f"read of all topics of the namespace {uri}")
        return found

    async def declare_topics(self, document: bytes) -> TopicNamespace:
        self._must_manage_all("declare topics")
        return await self._broker.declare_topics(document)

    async def withdraw_topics(self, uri: str) -> None:
        self._must_manage_all("withdraw topics")
        await self._broker.withdraw_topics(uri)

    async def wanting(self, topics: Sequence[str]) -> Sequence[int]:
        return await self._broker.wanting(topics)

    async def tallies(self, subscriptions: Sequence[SubscriptionId]) -> Mapping[str, tuple[int, int, int]]:
        return await self._broker.tallies(subscriptions)

    def _is_ours(self, registration: Registration) -> bool:
        return registration.owner == self._principal.name or rights.may_manage_everything(self._principal)

    def _may_know_all(self, declared: TopicNamespace) -> bool:
        return all(self._may_know_of(topic) for topic, _ in declared.concrete())

    def _may_know_of(self, topic: Topic) -> bool:
        who = self._principal
        return rights.may_hear(who, topic) or rights.may_publish(who, topic) or rights.may_manage_everything(who)

    def _must_manage_all(self, what: str) -> None:
        if not rights.may_manage_everything(self._principal):
            raise self._may_not(what)

    def _may_not(self, what: str) -> Refusal:
        return Refusal("not-allowed", f"{self._principal.name} may not {what}; `tocsin users grant` gives rights")
