"""The JSON documents of what consumers are shown of the broker, and of what they allow."""

from typing import Annotated

from msgspec import Meta, Struct, field

from tocsin.mediation import times
from tocsin.model.access import Secret, SecretKind
from tocsin.model.identity import Instant

SECRETS, CONSENTS = "/api/secrets", "/api/consents"


class SecretRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`value` is never given back; `header` names the header of that kind; with `for` it goes there and below only."""

    name: str
    kind: SecretKind
    value: Annotated[str, Meta(max_length=8192)]
    header: str = ""
    address: str = field(default="", name="for")
    replace: bool = False

    def normalised(self, now: Instant) -> Secret:
        return Secret(self.name, self.kind, self.value, now, self.header, self.address)


class SecretDocument(Struct, frozen=True):
    name: str
    kind: SecretKind
    header: str
    address: str = field(name="for")
    since: str

    @classmethod
    def of(cls, secret: Secret) -> "SecretDocument":
        return cls(secret.name, secret.kind, secret.header, secret.address, times.timestamp(secret.since))


class ConsentDocument(Struct, frozen=True):
    subscription: str
    consumer: str
    state: str
