"""`/api/spaces`, `/api/types`, `/api/categories` and `/api/producers`: what filters refer to by name."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.documents import declarations as d
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.parameters import After, Limit, Path
from tocsin.doors.api.router import Resource
from tocsin.model.declarations import Withdrawn
from tocsin.model.refusal import Refusal, known_names

Declared = TypeVar("Declared")
SpaceName = Annotated[str, Path("Of the space: what stands before the colon", exact=True)]
Address = Annotated[str, Path("Of the producer, percent-encoded", exact=True)]

spaces = Resource(d.SPACES)
types = Resource(d.TYPES)
categories = Resource(d.CATEGORIES)
producers = Resource(d.PRODUCERS)


@spaces.get(says="Information spaces that were declared")
def list_spaces(node: Node, caller: Caller) -> Page[d.SpaceDocument]:
    caller.anybody()
    found = sorted(node.declarations.known.spaces.items())
    return Page([d.SpaceDocument.of(space) for _, space in found], None)


@spaces.get("/{name}", says="One information space")
def get_space(node: Node, caller: Caller, name: SpaceName) -> d.SpaceDocument:
    caller.anybody()
    return d.SpaceDocument.of(declared(node.declarations.known.spaces, "information space", name))


@spaces.put("/{name}", says="Declare a space, or another that nobody uses yet")
async def declare_space(node: Node, caller: Caller, asked: d.SpaceRequest, name: SpaceName) -> d.SpaceDocument:
    await node.declarations.declare(caller, asked.space(name))
    return get_space(node, caller, name)


@spaces.delete("/{name}", says="Withdraw a space that no subscription uses")
async def withdraw_space(node: Node, caller: Caller, name: SpaceName) -> None:
    await node.declarations.declare(caller, Withdrawn("space", name))


@types.get(says="The hierarchy of types")
def get_types(node: Node, caller: Caller) -> d.TypesDocument:
    caller.anybody()
    return d.TypesDocument(_shown(node.declarations.known.types))


@types.put(says="Another hierarchy of types, whole")
async def declare_types(node: Node, caller: Caller, asked: d.TypesDocument) -> d.TypesDocument:
    await node.declarations.declare(caller, asked.hierarchy())
    return get_types(node, caller)


@categories.get(says="The hierarchy of producers' categories")
def get_categories(node: Node, caller: Caller) -> d.CategoriesDocument:
    caller.anybody()
    return d.CategoriesDocument(_shown(node.declarations.known.categories), node.declarations.categories_of_world)


@categories.put(says="Another hierarchy of categories, whole")
async def declare_categories(node: Node, caller: Caller, asked: d.CategoriesRequest) -> d.CategoriesDocument:
    await node.declarations.declare(caller, asked.hierarchy())
    return get_categories(node, caller)


@producers.get(says="Producers that were declared")
def list_producers(node: Node, caller: Caller, after: After = "", limit: Limit = 100) -> Page[d.ProducerDocument]:
    caller.anybody()
    known = node.declarations.known.producers
    page = sorted(address for address in known if address > after)[:limit]
    items = [d.ProducerDocument.of(known[address]) for address in page]
    return Page(items, page[-1] if len(page) == limit else None)


@producers.get("/{address:path}", says="One producer")
def get_producer(node: Node, caller: Caller, address: Address) -> d.ProducerDocument:
    caller.anybody()
    return d.ProducerDocument.of(declared(node.declarations.known.producers, "producer", address))


@producers.put("/{address:path}", says="Declare a producer")
async def declare_producer(
    node: Node, caller: Caller, asked: d.ProducerRequest, address: Address
) -> d.ProducerDocument:
    await node.declarations.declare(caller, asked.producer(address))
    return get_producer(node, caller, address)


@producers.delete("/{address:path}", says="Withdraw a producer")
async def withdraw_producer(node: Node, caller: Caller, address: Address) -> None:
    await node.declarations.declare(caller, Withdrawn("producer", address))


def declared(known: Mapping[str, Declared], what: str, name: str) -> Declared:
    if name not in known:
        raise Refusal("unknown-name", f"there is no {what} {name[:80]!r}; {known_names(name, sorted(known))}")
    return known[name]


def _shown(parents: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(above) for name, above in sorted(parents.items())}
