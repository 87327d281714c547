"""`/api/registrations`: publishers that register, without SOAP."""

from collections.abc import Mapping, Sequence

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents.registrations import REGISTRATIONS, RegisterRequest, RegistrationDocument
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.gathering import Share, union
from tocsin.doors.api.router import Answer, Resource
from tocsin.model.subscription import Registration

registrations = Resource(REGISTRATIONS)


def _merged(shares: Sequence[Share], query: Mapping[str, str]) -> Page[RegistrationDocument]:
    del query
    return Page(union(shares, lambda each: each.id), None)


@registrations.get(says="Publishers that registered", merge=_merged)
def list_registrations(node: Node, caller: Caller) -> Page[RegistrationDocument]:
    return Page([_shown(node, caller, each) for each in node.registrations.all(caller)], None)


@registrations.post(says="Register a publisher", status=201)
async def register(node: Node, caller: Caller, asked: RegisterRequest) -> Answer[RegistrationDocument]:
    made = await node.registrations.register(caller, asked.normalised(node.now()))
    return Answer(_shown(node, caller, made), {"Location": f"{node.base_url}{REGISTRATIONS}/{made.id}"})


@registrations.get("/{id}", says="One registration")
def get_registration(node: Node, caller: Caller, id: str) -> RegistrationDocument:
    return _shown(node, caller, node.registrations.get(caller, id))


@registrations.delete("/{id}", says="End a registration")
async def destroy_registration(node: Node, caller: Caller, id: str) -> None:
    await node.registrations.destroy(caller, id)


def _shown(node: Node, caller: Caller, registration: Registration) -> RegistrationDocument:
    return RegistrationDocument.of(registration, node.registrations.upstream_of(caller, registration.id))
