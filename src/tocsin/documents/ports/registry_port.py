"""What the doors ask of the node about topics and publishers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tocsin.mediation.operations import RegisterPublisher
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Registration
from tocsin.model.topics import TopicNamespace, TopicSet


class RegistryPort(Protocol):
    @property
    def fixed_topics(self) -> bool:
        """Whether only declared topics can be used."""
        ...

    async def register(self, request: RegisterPublisher, *, owner: str | None = None) -> Registration:
        """Returns when it is on disk; the broker subscribes at a publisher on demand after that."""
        ...

    async def destroy_registration(self, registration: str) -> Registration: ...

    def registration(self, registration: str) -> Registration: ...

    def registrations(self) -> Sequence[Registration]: ...

    def upstream_of(self, registration: str) -> str | None:
        """How the broker's own subscription at that publisher stands; None where it needs none."""
        ...

    def topic_set(self) -> TopicSet:
        """The topics declared, and those seen."""
        ...

    def properties(self, resource: str, asked: Sequence[QName]) -> tuple[bytes, ...]:
        """WS-ResourceProperties of a subscription or a registration by its id, of the broker with none, as elements."""
        ...

    def declared_topics(self) -> Iterable[Topic]: ...

    def topic_namespaces(self) -> Sequence[TopicNamespace]: ...

    def topic_namespace(self, uri: str) -> TopicNamespace: ...

    async def declare_topics(self, document: bytes) -> TopicNamespace:
        """A `wstop:TopicNamespace` document; it replaces what was declared under its namespace before."""
        ...

    async def withdraw_topics(self, uri: str) -> None: ...

    async def wanting(self, topics: Sequence[str]) -> Sequence[int]:
        """How many subscriptions could be told of something under each of these."""
        ...

    async def tallies(self, subscriptions: Sequence[SubscriptionId]) -> Mapping[str, tuple[int, int, int]]:
        """How much waits for each, was delivered since the start, and is a dead letter."""
        ...
