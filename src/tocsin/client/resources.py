"""What a broker has, over its JSON API: subscriptions and what became of notifications, topics, publishers, secrets."""

from collections.abc import Sequence
from typing import Any

from tocsin.client.api import Collection, Given, Resource, Way, below, bytes_of, with_query
from tocsin.client.calls import call
from tocsin.documents.consumers import ConsentDocument, SecretDocument, SecretRequest
from tocsin.documents.pull_points import CurrentMessageDocument, MessageDocument, PullPointDocument, PullPointRequest
from tocsin.documents.registrations import RegisterRequest, RegistrationDocument
from tocsin.documents.subscriptions import (
    DeadLetterDocument,
    Page,
    RedriveRequest,
    RenewRequest,
    SubscribeRequest,
    SubscriptionDocument,
)
from tocsin.documents.topics import TopicDocument, TopicNamespaceDocument
from tocsin.documents.traces import NewestDocument, TraceDocument
from tocsin.model import paths
from tocsin.model.access import SecretKind

XML = "application/xml"


class Subscriptions(Collection[Way, SubscriptionDocument]):
    """Of all dialects, pull points among them."""

    _path, _kind = paths.SUBSCRIPTIONS, SubscriptionDocument

    @call
    async def create(self, request: SubscribeRequest) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", self._path, request)

    @call
    async def renew(self, name: str, expires: str = "") -> SubscriptionDocument:
        return await self._ask(
            SubscriptionDocument, "POST", below(self._path, name, "renew"), RenewRequest(expires or None)
        )

    @call
    async def pause(self, name: str) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", below(self._path, name, "pause"))

    @call
    async def resume(self, name: str) -> SubscriptionDocument:
        return await self._ask(SubscriptionDocument, "POST", below(self._path, name, "resume"))

    @call
    async def cancel(self, name: str) -> None:
        """Ends it though its subscriber did not ask for that, and tells it so."""
        await self._send("DELETE", with_query(below(self._path, name), cancel=True))

    @call
    async def explain(self, name: str, limit: int = 10) -> NewestDocument:
        """Why the newest notifications were for it, or were not."""
        return await self._ask(NewestDocument, "GET", with_query(below(self._path, name, "explain"), limit=limit))


class PullPoints(Resource[Way]):
    @call
    async def create(self, request: PullPointRequest) -> PullPointDocument:
        return await self._ask(PullPointDocument, "POST", paths.PULL_POINTS, request)

    @call
    async def get(self, name: str) -> PullPointDocument:
        return await self._ask(PullPointDocument, "GET", below(paths.PULL_POINTS, name))

    @call
    async def messages(
        self, name: str, *, limit: int = 100, wait: float = 0.0, after: int | None = None
    ) -> Page[MessageDocument]:
        """Hands out what waits; with `after`, reads what has a higher number and hands out nothing."""
        path = with_query(below(paths.PULL_POINTS, name, "messages"), limit=limit, wait=f"{wait:.3f}", after=after)
        return await self._ask(Page[MessageDocument], "GET", path)

    @call
    async def remove(self, name: str) -> None:
        await self._send("DELETE", below(paths.PULL_POINTS, name))


class Topics(Resource[Way]):
    """What was published about, and what was declared."""

    @call
    async def list(self) -> Sequence[TopicDocument]:
        return await self._pages(TopicDocument, paths.TOPICS)

    @call
    async def current(self, topic: str) -> CurrentMessageDocument:
        """The last message about it."""
        return await self._ask(CurrentMessageDocument, "GET", with_query(paths.CURRENT_MESSAGE, topic=topic))

    @call
    async def namespaces(self) -> Sequence[TopicNamespaceDocument]:
        return await self._pages(TopicNamespaceDocument, paths.TOPIC_NAMESPACES)

    @call
    async def declare(self, document: Given) -> TopicNamespaceDocument:
        """A `wstop:TopicNamespace` document; it replaces what was declared under its namespace before."""
        return await self._ask(TopicNamespaceDocument, "PUT", paths.TOPIC_NAMESPACES, bytes_of(document), XML)

    @call
    async def withdraw(self, namespace: str) -> None:
        await self._send("DELETE", with_query(paths.TOPIC_NAMESPACES, namespace=namespace))


class Registrations(Collection[Way, RegistrationDocument]):
    """Publishers that registered."""

    _path, _kind = paths.REGISTRATIONS, RegistrationDocument

    @call
    async def create(self, request: RegisterRequest) -> RegistrationDocument:
        return await self._ask(RegistrationDocument, "POST", self._path, request)


class DeadLetters(Resource[Way]):
    """What could not be delivered."""

    @call
    async def list(self, *, subscription: str = "", after: int = 0, limit: int = 100) -> Page[DeadLetterDocument]:
        """`next` is what `after` must be for more; None when there are no more."""
        path = with_query(paths.DEAD_LETTERS, subscription=subscription, after=after, limit=limit)
        return await self._ask(Page[DeadLetterDocument], "GET", path)

    @call
    async def redrive(self, ids: Sequence[int] | None = None) -> int:
        """Tries these again, or all; how many there were."""
        request = RedriveRequest(None if ids is None else [*ids])
        return (await self._ask(dict[str, int], "POST", f"{paths.DEAD_LETTERS}/redrive", request))["redriven"]


class Secrets(Resource[Way]):
    """What consumers are shown of the broker; values are never told."""

    @call
    async def list(self) -> Sequence[SecretDocument]:
        return await self._pages(SecretDocument, paths.SECRETS)

    @call
    async def add(
        self, name: str, kind: SecretKind, value: str, *, header: str = "", address: str = "", replace: bool = False
    ) -> SecretDocument:
        """With `address` it goes there and below only; `header` names the header of that kind."""
        request = SecretRequest(name, kind, value, header, address, replace)
        return await self._ask(SecretDocument, "POST", paths.SECRETS, request)

    @call
    async def remove(self, name: str) -> None:
        await self._send("DELETE", below(paths.SECRETS, name))


class Consents(Resource[Way]):
    @call
    async def list(self) -> Sequence[ConsentDocument]:
        """Consumers that were asked for their consent and have not given it."""
        return await self._pages(ConsentDocument, paths.CONSENTS)


class Traces(Resource[Way]):
    """Who wanted a notification and why, and what became of it."""

    @call
    async def get(
        self,
        message: str = "",
        *,
        offset: int | None = None,
        index: int | None = None,
        subscription: str = "",
        every: bool = False,
        after: str = "",
        limit: int = 100,
    ) -> TraceDocument:
        """By its id or cause, or by its record; of those that wanted it, of `every` one, or of one `subscription`.

        A page looks at so many subscriptions, and may tell of none; `next` is what `after` must be to look at more.
        """
        query: dict[str, Any] = {"offset": offset, "index": index, "subscription": subscription, "all": every}
        path = below(paths.TRACE, message) if message else paths.TRACE
        return await self._ask(TraceDocument, "GET", with_query(path, **query, after=after, limit=limit))
