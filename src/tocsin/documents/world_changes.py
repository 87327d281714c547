"""From the world as it stands to the world that a document describes: only what differs is changed."""

from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import (
    Change,
    PutCategory,
    PutEdge,
    PutRules,
    PutService,
    PutTopic,
    RemoveCategory,
    RemoveEdge,
    RemoveService,
    RemoveTopic,
)
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World

Make = Callable[[str, str | None], Change]


def merged(world: World, changes: Iterable[Change]) -> list[Change]:
    """What the document does not speak of stays: other names, parents, owners, votes, notifiers that run."""
    target = World.of(world.changes())
    for change in changes:
        target.apply(_added(target, change))
    return list(_putting(world, target))


def replaced(world: World, changes: Iterable[Change]) -> list[Change]:
    """What the document does not name goes. Votes and running notifiers are no part of a plain table, and stay."""
    target = World.of(_kept(world, change) for change in changes)
    for service in world.services.values():
        if service.node and service.name not in target.services:
            raise runs_still(service)
    return [*_putting(world, target), *_removing(world, target)]


def runs_still(service: Service) -> Refusal:
    return Refusal(
        "in-use",
        f"service {service.name!r} has a notifier that runs at {service.node};"
        f" `tocsin notifiers remove` or DELETE /api/notifiers/{{name}} there ends both",
    )


def _added(world: World, change: Change) -> Change:
    """A name without a parent or an owner says nothing of these: a table of edges has no room for them."""
    match change:
        case PutTopic(name, None) if name in world.topics:
            return PutTopic(name, world.topics.parent(name))
        case PutCategory(name, parent, owner) if name in world.categories:
            return PutCategory(name, parent or world.categories.parent(name), owner or world.owners.get(name))
        case PutRules() if change == PutRules():
            return world.rules
    return _kept(world, change)


def _kept(world: World, change: Change) -> Change:
    match change:
        case PutEdge(edge) if edge == Edge(*edge.key):
            return PutEdge(world.edges.get(edge.key, edge))
        case PutService(service):
            return PutService(placed(service, world.services.get(service.name)))
    return change


def placed(service: Service, before: Service | None) -> Service:
    """Where a notifier runs, and how its service is told, is said by the node that runs it and by no document: one
    that was saved names nodes that may be elsewhere by now."""
    if before is None or not before.node:
        return replace(service, node="")
    return replace(service, notifier=before.notifier, node=before.node, address=before.address, dialect=before.dialect)


def _putting(world: World, target: World) -> Iterator[Change]:
    if target.rules != world.rules:
        yield target.rules
    yield from _moved(world.topics, target.topics, PutTopic, set())
    owned = {name for name in target.categories if target.owners.get(name) != world.owners.get(name)}
    yield from _moved(world.categories, target.categories, lambda n, p: PutCategory(n, p, target.owners.get(n)), owned)
    yield from _services(world, target)
    yield from (PutEdge(edge) for key, edge in target.edges.items() if world.edges.get(key) != edge)


def _moved(now: Taxonomy, then: Taxonomy, put: Make, also: set[str]) -> Iterator[Change]:
    """Those that move stand alone first and then from the top down, so that no step on the way makes a cycle."""
    changed = [name for name, parent in then.items() if name not in now or now.parent(name) != parent or name in also]
    for name in changed:
        if name in now and now.parent(name) not in (None, then.parent(name)):
            yield put(name, None)
    for name in sorted(changed, key=lambda each: len(then.above(each))):
        yield put(name, then.parent(name))


def _services(world: World, target: World) -> Iterator[Change]:
    """All are there before one tells another."""
    changed = [each for each in target.services.values() if world.services.get(each.name) != each]
    yield from (PutService(replace(each, tells={})) for each in changed if each.name not in world.services)
    yield from (PutService(each) for each in changed if each.tells or each.name in world.services)


def _removing(world: World, target: World) -> Iterator[Change]:
    yield from (RemoveEdge(*key) for key in world.edges if key not in target.edges)
    gone = [each for each in world.services.values() if each.name not in target.services]
    yield from (PutService(replace(each, tells={})) for each in gone if each.tells)
    yield from (RemoveService(each.name) for each in gone)
    yield from map(RemoveCategory, _from_below(world.categories, target.categories))
    yield from map(RemoveTopic, _from_below(world.topics, target.topics))


def _from_below(now: Taxonomy, then: Taxonomy) -> list[str]:
    return sorted((name for name in now if name not in then), key=lambda each: -len(now.above(each)))
