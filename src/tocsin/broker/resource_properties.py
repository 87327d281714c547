"""WS-ResourceProperties of the broker, a subscription or a registration."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topics import Topics
from tocsin.matching.resolution import as_said
from tocsin.mediation.ws import draft_properties
from tocsin.mediation.ws.properties import CREATION_TIME, Facts, registration_properties, subscription_properties
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.subscription import Subscription
from tocsin.store.database import Store


class ResourceProperties:
    def __init__(
        self,
        store: Store,
        base_url: str,
        now: Callable[[], Instant],
        *,
        topics: Topics,
        registrations: Registrations,
        subscriptions: Subscriptions,
        declarations: Declarations,
    ) -> None:
        self._store, self._base_url, self._now = store, base_url, now
        self._topics, self._registrations = topics, registrations
        self._subscriptions, self._declarations = subscriptions, declarations

    async def get(self, caller: Caller, resource: str, asked: Sequence[QName]) -> tuple[bytes, ...]:
        """As elements: of a subscription or a registration by its id, of the broker with none."""
        now = self._now()
        if not resource:
            facts = Facts(await self._topics.topic_set(caller), self._topics.fixed)
            return draft_properties.all_broker_properties(facts, asked)
        if self._registrations.has(resource):
            registration = self._registrations.get(caller, resource)
            drafts = draft_properties.registration_table(registration, now)
            return registration_properties(registration, asked, now, drafts)
        found = self._subscriptions.get(caller, resource)
        subscription = as_said(self._addressed(found), self._declarations.known)
        created = self._created(resource) if any(each.local == CREATION_TIME.local for each in asked) else None
        drafts = draft_properties.subscription_table(subscription, now, created)
        return subscription_properties(subscription, asked, now, created, drafts)

    def _addressed(self, subscription: Subscription) -> Subscription:
        """A pull point of ours is kept as a path; others need its whole address."""
        consumer = subscription.consumer
        if consumer is None or not consumer.address.startswith("/"):
            return subscription
        return replace(subscription, consumer=replace(consumer, address=f"{self._base_url}{consumer.address}"))

    def _created(self, subscription: str) -> Instant | None:
        history = self._store.past.history(SubscriptionId(subscription))
        return history[0].when if history else None
