"""What the doors ask of the node about those it sends to."""

from collections.abc import Sequence
from typing import Protocol

from tocsin.model.access import Secret


class Asked(Protocol):
    """A consumer that was asked for its consent and has not given it yet."""

    @property
    def subscription(self) -> str: ...

    @property
    def consumer(self) -> str: ...

    @property
    def state(self) -> str: ...


class ConsumersPort(Protocol):
    @property
    def webhook_origins(self) -> Sequence[str]: ...

    def secrets(self) -> Sequence[Secret]: ...

    async def add_secret(self, secret: Secret, *, replace: bool) -> None: ...

    async def remove_secret(self, name: str) -> None: ...

    def consents(self) -> Sequence[Asked]: ...

    async def give_consent(self, token: str, rate: str) -> str:
        """The subscription that the token was made for."""
        ...
