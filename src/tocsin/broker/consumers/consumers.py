"""What the node knows of those it sends to: the secrets they are shown, and whether they consented."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import chain

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.consumers.consents import Asking, Consents, Waiting
from tocsin.broker.consumers.secrets import Secrets, SinkSecrets, secrets_of
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.delivery.deliverer import Deliverer
from tocsin.documents.consumers import CONSENTS
from tocsin.flow.addressing import pull_point_of
from tocsin.model.access import Secret
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, Pairs, SubscriptionId
from tocsin.model.records import Changed
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.routing.consent import Patience
from tocsin.store.database import Store
from tocsin.wire.addresses import place
from tocsin.wire.http_client import HttpClient

Spread = Callable[[str, str, bytes | None], Awaitable[None]]
SECRETS = "secrets"


class Consumers:
    """A subscription whose consumer refuses is cancelled. `spread` has a secret put at all nodes of a ring."""

    def __init__(
        self,
        settings: Settings,
        base_url: str,
        store: Store,
        standing: StandingSubscriptions,
        http: HttpClient,
        deliverer: Deliverer,
        now: Callable[[], Instant],
        report: Callable[[str], None],
        spread: Spread,
    ) -> None:
        self._spread = spread
        asked = settings.delivery
        self._store, self._standing = store, standing
        self.webhook_origins = settings.access.webhook_origins
        self._all_are_asked = asked.consent == "ask"
        self._secrets = Secrets(store.secrets, credentials_over_http=asked.credentials_over_http)
        self._sinks = SinkSecrets(self._secrets, standing)
        patience = Patience(asked.consent_wait, asked.first_backoff, asked.longest_backoff)
        asking = Asking(place(base_url)[0], base_url + CONSENTS, asked.consent_rate, patience)
        self._consents = Consents(store, asking, http, deliverer, standing, now, report)

    def start(self) -> None:
        """Before anything is offered to the deliverer."""
        self._consents.start()

    async def close(self) -> None:
        await self._consents.close()

    def check(self, caller: Caller, *endpoints: Endpoint | None) -> None:
        """Whether the secrets they name are there, and for them. One that may go anywhere is sent nowhere by somebody
        who could name a place of its own."""
        for endpoint in endpoints:
            if endpoint is not None:
                self._secrets.check(endpoint)
                anywhere = endpoint.secret is not None and self._secrets.goes_anywhere(endpoint.secret)
                if anywhere and not caller.manages_everything():
                    raise caller.may_not(f"have the secret {endpoint.secret!r} sent, which is not for one address only")

    def asked(self, consumer: Endpoint | None, form: Form) -> Endpoint | None:
        """The consumer, as one that is asked for consent or not. We do not ask ourselves; SOAP has no such question."""
        if consumer is None:
            return None
        all_are = self._all_are_asked and form.soap is None
        asked = (consumer.consent or all_are) and pull_point_of(consumer.address) is None
        return msgspec.structs.replace(consumer, consent=asked)

    def changed(self, change: Changed) -> None:
        self._consents.changed(change.subscription)
        self._sinks.changed(change.subscription)

    def together(self, subscription: SubscriptionId) -> int:
        """How many notifications it takes in one message."""
        form = self._form(subscription)
        return 1 if form is None else form.together

    def max_latency(self, subscription: SubscriptionId) -> float:
        """How many seconds it lets a notification wait for others."""
        form = self._form(subscription)
        return 0.0 if form is None else form.max_latency_ms / 1000

    def _form(self, subscription: SubscriptionId) -> Form | None:
        """The store may know of it before we are told."""
        found = self._standing.by_id.get(subscription)
        if found is None and subscription.isalnum():
            history = self._store.past.history(subscription)
            found = history[-1].subscription if history else None
        return None if found is None else found.form

    def dress(self, delivery: Delivery) -> Pairs:
        """The headers of one attempt: with what is never written down."""
        return delivery.headers + self._consents.headers_for(delivery) + self._secrets.headers_for(delivery)

    def secrets(self, caller: Caller) -> Sequence[Secret]:
        caller.anybody()  # their values are never told
        return self._secrets.all()

    async def add_secret(self, caller: Caller, secret: Secret, *, replace: bool) -> None:
        caller.must_manage_everything("add secrets")
        if replace:
            self._check_users(secret)
        before = self._secrets.entry(secret.name)
        await self._secrets.add(secret, replace=replace)
        try:
            await self._spread(SECRETS, secret.name, self._secrets.entry(secret.name))
        except Refusal:
            await self._secrets.take(secret.name, before)  # who asks again is to find it as it was
            raise

    async def remove_secret(self, caller: Caller, name: str) -> None:
        """Others first: one of them may have a subscription that uses it."""
        caller.must_manage_everything("remove secrets")
        before, users = self._secrets.entry(name), {each.id for each in self._users(name)}
        try:
            if before is not None and not users:
                await self._spread(SECRETS, name, None)
        except Refusal:
            await self._spread(SECRETS, name, before)
            raise
        await self._secrets.remove(name, users)

    @property
    def common_secrets(self) -> "_CommonSecrets":
        return _CommonSecrets(self._secrets, self._users)

    def consents(self, caller: Caller) -> Sequence[Waiting]:
        caller.must_manage_everything("see who was asked for consent")
        return self._consents.waiting()

    async def consent(self, token: str, rate: str) -> SubscriptionId:
        """Whoever has the token was told it by us."""
        return await self._consents.called_back(token, rate)

    def _users(self, secret: str) -> Iterable[Subscription]:
        for each in chain(self._standing.by_id.values(), self._standing.changing.values()):
            if secret in secrets_of(each):
                yield each

    def _check_users(self, secret: Secret) -> None:
        """Another value is what replacing is for; of another kind, or for another address, it is another secret."""
        before = next((each for each in self._secrets.all() if each.name == secret.name), None)
        if before is None or not any(self._users(secret.name)):
            return
        if (before.kind, before.header, before.address) != (secret.kind, secret.header, secret.address):
            raise Refusal("in-use", f"the secret {secret.name!r} is in use and not the same but for its value")


class _CommonSecrets:
    """As other nodes of a ring put them, which do not know who uses them here."""

    def __init__(self, secrets: Secrets, users: Callable[[str], Iterable[Subscription]]) -> None:
        self._secrets, self._users = secrets, users
        self.entries = secrets.entries

    async def take(self, name: str, value: bytes | None) -> None:
        if value is None and self._secrets.entry(name) is not None:
            await self._secrets.remove(name, {each.id for each in self._users(name)})
        elif value is not None:
            await self._secrets.take(name, value)
