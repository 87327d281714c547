"""Secrets and consents as one principal sees them: names for everybody, the rest for who manages everything."""

from collections.abc import Sequence

from tocsin.documents.ports.consumers_port import Asked
from tocsin.documents.ports.port import Broker
from tocsin.matching import rights
from tocsin.model.access import Principal, Secret
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint


class GuardedConsumers:
    """A base of `Guarded`, which has these."""

    _broker: Broker
    _principal: Principal

    @property
    def webhook_origins(self) -> Sequence[str]:
        return self._broker.webhook_origins

    def secrets(self) -> Sequence[Secret]:
        return self._broker.secrets()

    async def add_secret(self, secret: Secret, *, replace: bool) -> None:
        self._must_manage_everything("add secrets")
        await self._broker.add_secret(secret, replace=replace)

    async def remove_secret(self, name: str) -> None:
        self._must_manage_everything("remove secrets")
        await self._broker.remove_secret(name)

    def consents(self) -> Sequence[Asked]:
        self._must_manage_everything("see who was asked for consent")
        return self._broker.consents()

    async def give_consent(self, token: str, rate: str) -> str:
        """Whoever has the token was told it by us."""
        return await self._broker.give_consent(token, rate)

    def _check_secret(self, endpoint: Endpoint | None) -> None:
        """A secret that may go anywhere is sent nowhere by somebody who could name a place of his own."""
        if endpoint is None or endpoint.secret is None or rights.may_manage_everything(self._principal):
            return
        if any(each.name == endpoint.secret and not each.address for each in self._broker.secrets()):
            raise self._may_not(f"have the secret {endpoint.secret!r} sent, which is not for one address only")

    def _must_manage_everything(self, what: str) -> None:
        raise NotImplementedError

    def _may_not(self, what: str) -> Refusal:
        raise NotImplementedError
