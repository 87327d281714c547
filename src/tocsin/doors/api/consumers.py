"""`/api/secrets` and `/api/consents`: what consumers are shown of us, and what they allow."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.consumers import CONSENTS, SECRETS, ConsentDocument, SecretDocument, SecretRequest
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.gathering import Share, union
from tocsin.doors.api.parameters import Header
from tocsin.doors.api.router import Resource

Rate = Annotated[str, Header("", "webhook-allowed-rate")]
secrets = Resource(SECRETS)
consents = Resource(CONSENTS)


@secrets.get(says="Secrets towards consumers, without their values")
def list_secrets(node: Node, caller: Caller) -> Page[SecretDocument]:
    return Page([SecretDocument.of(each) for each in node.consumers.secrets(caller)], None)


@secrets.post(says="Keep a secret", status=201)
async def add_secret(node: Node, caller: Caller, asked: SecretRequest) -> SecretDocument:
    secret = asked.normalised(node.now())
    await node.consumers.add_secret(caller, secret, replace=asked.replace)
    return SecretDocument.of(secret)


@secrets.delete("/{id}", says="Forget a secret that nobody uses")
async def remove_secret(node: Node, caller: Caller, id: str) -> None:
    await node.consumers.remove_secret(caller, id)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[ConsentDocument]:
    del query
    return Page(union(shares, lambda each: f"{each.subscription} {each.consumer}"), None)


@consents.get(says="Consumers that were asked and have not consented", merge=_merged)
def list_consents(node: Node, caller: Caller) -> Page[ConsentDocument]:
    waiting = node.consumers.consents(caller)
    return Page([ConsentDocument(each.subscription, each.consumer, each.state) for each in waiting], None)


@consents.get("/{id}", says="Consent, by whoever was told the token", public=True, head=False)
@consents.post("/{id}", says="Consent, by whoever was told the token", public=True)
async def give_consent(node: Node, id: str, rate: Rate = "") -> dict[str, str]:
    """By GET or POST (web hooks s4.1.3). A look by HEAD is no consent."""
    return {"subscription": await node.consumers.consent(id, rate)}
