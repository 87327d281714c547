"""`/api/world`: the taxonomies, the services and the graph of interests, whole or piece by piece.

Every answer carries the version of the world as its ETag. Who sends that back as If-Match changes nothing if somebody
else has changed the world meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents import world as d
from tocsin.documents.ports.port import Broker
from tocsin.documents.service_patch import ServicePatch
from tocsin.documents.subscriptions import Page
from tocsin.documents.world_changes import merged, placed, replaced, runs_still
from tocsin.doors.api.queries import asked_flag, asked_limit, asked_whole
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Key, Vote
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import MEDIA_TYPES, media_type, read_world, write_world
from tocsin.wire.asgi import read_body

WORLD = "/api/world"
JSON = "application/json"
UNSAID = ("", "application/x-www-form-urlencoded")  # what curl says of whatever it is given
Item = TypeVar("Item")


class WorldHandlers:
    _broker: Broker

    async def world(self, request: Request) -> Response:
        world = self._world()
        if request.headers.get("if-none-match") == _etag(world.version):
            return Response(status_code=304, headers={"ETag": _etag(world.version)})
        form = _asked_form(request)
        body = write_world(world, form)
        return Response(
            body, media_type=form.partition(";")[0], headers={"ETag": _etag(world.version), "Vary": "Accept"}
        )

    async def put_world(self, request: Request) -> Response:
        """All of it or nothing. What the document does not name stays, or with `replace` goes."""
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        kind = request.headers.get("content-type", "")
        form = JSON if kind.partition(";")[0].strip().lower() in UNSAID else kind
        create, whole, changed = asked_flag(request, "create"), asked_flag(request, "replace"), list[c.Change]()

        def changes(world: World) -> Sequence[c.Change]:
            told = read_world(body, form, create=create, onto=None if whole else world)
            changed.extend((replaced if whole else merged)(world, told))
            return changed

        version = await self._change(request, changes, request.query_params.get("by", ""))
        return _json(d.WorldDocument.of(self._world(), version, len(changed)), version)

    async def world_topics(self, request: Request) -> Response:
        world = self._world()
        children = _children(world.topics)
        rows = ((name, _topic(world, name, children)) for name in sorted(world.topics))
        return _page(request, rows, world.version)

    async def world_topic(self, request: Request) -> Response:
        world, name = self._world(), request.path_params["name"]
        world.topics.check(name)
        return _json(_topic(world, name, _children(world.topics)), world.version)

    async def put_world_topic(self, request: Request) -> Response:
        asked: d.TopicRequest = await self._read(request, d.TopicRequest)
        await self._change(request, lambda _: [c.PutTopic(request.path_params["name"], asked.parent)], asked.by)
        return await self.world_topic(request)

    async def remove_world_topic(self, request: Request) -> Response:
        return await self._remove(request, c.RemoveTopic(request.path_params["name"]))

    async def categories(self, request: Request) -> Response:
        world = self._world()
        children, members = _children(world.categories), _members(world)
        rows = ((name, _category(world, name, children, members)) for name in sorted(world.categories))
        return _page(request, rows, world.version)

    async def category(self, request: Request) -> Response:
        world, name = self._world(), request.path_params["name"]
        world.categories.check(name)
        found = _category(world, name, _children(world.categories), _members(world))
        return _json(found, world.version)

    async def put_category(self, request: Request) -> Response:
        asked: d.CategoryRequest = await self._read(request, d.CategoryRequest)
        await self._change(request, lambda world: [asked.change(world, request.path_params["name"])], asked.by)
        return await self.category(request)

    async def remove_category(self, request: Request) -> Response:
        return await self._remove(request, c.RemoveCategory(request.path_params["name"]))

    async def services(self, request: Request) -> Response:
        """All, or those of a category or one below it."""
        world = self._world()
        category = request.query_params.get("category")
        names = sorted(world.services) if category is None else [each.name for each in world.members(category)]
        return _page(request, ((name, world.services[name]) for name in names), world.version)

    async def service(self, request: Request) -> Response:
        world = self._world()
        return _json(world.service(request.path_params["name"]), world.version)

    async def put_service(self, request: Request) -> Response:
        asked: d.ServiceRequest = await self._read(request, d.ServiceRequest)
        service = asked.service(request.path_params["name"])

        def changes(world: World) -> Sequence[c.Change]:
            before = world.services.get(service.name)
            if before is not None and before.node and service.notifier not in ("", before.notifier):
                raise runs_still(before)
            return [c.PutService(placed(service, before))]

        await self._change(request, changes, asked.by)
        return await self.service(request)

    async def change_service(self, request: Request) -> Response:
        asked: ServicePatch = await self._read(request, ServicePatch)
        await self._change(request, lambda world: asked.changes(world, request.path_params["name"]), asked.by)
        return await self.service(request)

    async def remove_service(self, request: Request) -> Response:
        """One whose notifier runs here is ended with its notifier; that of a node which is no more can be removed."""
        name = request.path_params["name"]

        def changes(world: World) -> Sequence[c.Change]:
            if any(each.service.name == name for each in self._broker.implicit.notifiers()):
                raise runs_still(world.service(name))
            return [c.RemoveService(name)]

        return await self._removed(request, changes)

    async def edges(self, request: Request) -> Response:
        world, query = self._world(), request.query_params
        names = {"source": world.categories, "topic": world.topics, "target": world.categories}
        wanted = {name: query[name] for name in names if name in query}
        for name, value in wanted.items():
            names[name].check(value)
        edges = (edge for edge in world.edges.values() if all(getattr(edge, n) == v for n, v in wanted.items()))
        if "counts" in query:
            counting = asked_flag(request, "counts")
            edges = (edge for edge in edges if world.counts(edge) == counting)
        rows = ((_joined(edge.key), edge) for edge in sorted(edges, key=lambda each: each.key))
        return _page(request, rows, world.version, lambda edge: d.EdgeDocument.of(world, edge))

    async def put_edge(self, request: Request) -> Response:
        """A new one is a proposal of whoever is named in `by`; one that is there keeps its votes."""
        asked: d.EdgeRequest = await self._read_edge(request, d.EdgeRequest)
        learned = {name: getattr(asked, name) for name in ("support", "confidence", "lift", "note")}
        key = (asked.source, asked.topic, asked.target)

        def changes(world: World) -> Sequence[c.Change]:
            fresh = Edge(*key, proposed_by=asked.by, when=self._broker.now())
            return [c.PutEdge(replace(world.edges.get(key, fresh), **learned))]

        return await self._changed_edge(request, key, changes, asked.by)

    async def vote(self, request: Request) -> Response:
        asked: d.VoteRequest = await self._read(request, d.VoteRequest)
        key = (asked.source, asked.topic, asked.target)
        vote = Vote(asked.by, asked.agrees, self._broker.now(), asked.note)
        return await self._changed_edge(request, key, lambda _: [c.CastVote(*key, vote)], asked.by)

    async def remove_edge(self, request: Request) -> Response:
        asked: d.EdgeRequest = await self._read_edge(request, d.EdgeRequest)
        removal = c.RemoveEdge(asked.source, asked.topic, asked.target)
        version = await self._change(request, lambda _: [removal], asked.by)
        return Response(status_code=204, headers={"ETag": _etag(version)})

    async def rules(self, request: Request) -> Response:
        del request
        world = self._world()
        return _json(d.RulesDocument.of(world.rules), world.version)

    async def put_rules(self, request: Request) -> Response:
        asked: d.RulesRequest = await self._read(request, d.RulesRequest)
        rules = c.PutRules(asked.inherit_topics, asked.inherit_categories, asked.quorum)
        await self._change(request, lambda _: [rules], asked.by)
        return await self.rules(request)

    async def neighbours(self, request: Request) -> Response:
        """GetNeighbors (paper 000, Table 1), with the edges that lead to each."""
        world = self._world()
        service, topic = _needed(request, "service"), _needed(request, "topic")
        world.topics.check(topic)
        names = world.neighbours(service, topic)
        ways = world.ways(service, topic)
        return _page(request, ((name, _neighbour(world, name, ways)) for name in names), world.version)

    async def world_history(self, request: Request) -> Response:
        limit, after = asked_limit(request), asked_whole(request, "after", 0)
        found = await self._broker.implicit.world_history(after, limit)
        items = list(map(d.ChangingDocument.of, found))
        return _json(Page(items, str(items[-1].version) if len(items) == limit else None))

    def _world(self) -> World:
        return self._broker.implicit.world()

    async def _change(self, request: Request, changes: Callable[[World], Sequence[c.Change]], by: str) -> int:
        """One after the other: what is compared with the version is what is changed."""

        def checked(world: World) -> Sequence[c.Change]:
            _check_version(request, world.version)
            return changes(world)

        return await self._broker.implicit.change_world(checked, by)

    async def _changed_edge(
        self, request: Request, key: Key, changes: Callable[[World], Sequence[c.Change]], by: str
    ) -> Response:
        version = await self._change(request, changes, by)
        world = self._world()
        return _json(d.EdgeDocument.of(world, world.edge(key)), version)

    async def _remove(self, request: Request, change: c.Change) -> Response:
        return await self._removed(request, lambda _: [change])

    async def _removed(self, request: Request, changes: Callable[[World], Sequence[c.Change]]) -> Response:
        version = await self._change(request, changes, request.query_params.get("by", ""))
        return Response(status_code=204, headers={"ETag": _etag(version)})

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError

    async def _read_edge(self, request: Request, kind: Any) -> Any:
        """From the body, or where that is empty from the query."""
        body = await read_body(request.scope, request.receive, self._broker.body_limit)
        said = body or msgspec.json.encode(dict(request.query_params))
        try:
            return msgspec.json.decode(said, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise Refusal("malformed", str(error)) from None


def _topic(world: World, name: str, children: dict[str, list[str]]) -> d.WorldTopicDocument:
    return d.WorldTopicDocument(name, world.topics.parent(name), children.get(name, []))


def _category(
    world: World, name: str, children: dict[str, list[str]], members: dict[str, list[str]]
) -> d.CategoryDocument:
    owner, parent = world.owners.get(name), world.categories.parent(name)
    return d.CategoryDocument(name, parent, owner, children.get(name, []), members.get(name, []))


def _children(taxonomy: Taxonomy) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, parent in taxonomy.items():
        if parent is not None:
            found.setdefault(parent, []).append(name)
    return found


def _members(world: World) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for service in world.services.values():
        for category in service.categories:
            found.setdefault(category, []).append(service.name)
    return found


def _neighbour(world: World, name: str, ways: list[tuple[Edge, set[str]]]) -> d.NeighbourDocument:
    edges = [str(edge) for edge, members in ways if name in members]
    return d.NeighbourDocument(name, list(world.services[name].categories), edges)


def _check_version(request: Request, version: int) -> None:
    """RFC 9110 s13.1.1; a weak tag is as good: there is one version of everything."""
    said = request.headers.get("if-match")
    if said is None or said.strip() == "*":
        return
    tags = [each.strip().removeprefix("W/").strip('"') for each in said.split(",")]
    if str(version) not in tags:
        raise Refusal(
            "changed-since",
            f"the world was changed by somebody else: it is at version {version}, not {' or '.join(tags)[:80]};"
            " read it again, and make your change to that",
        )


def _asked_form(request: Request) -> str:
    """`form` in the query, else what Accept likes best of what there is."""
    if (form := request.query_params.get("form")) is not None:
        return f"{media_type(form)}{_table(request)}"
    said = request.headers.get("accept", "*/*")
    for kind in sorted((each.strip() for each in said.split(",")), key=_quality):
        name = kind.partition(";")[0].strip().lower()
        if name in MEDIA_TYPES:
            return f"{name}{_table(request)}"
        if name in ("", "*/*", "application/*"):
            return JSON
    raise Refusal("malformed", f"the world is not told as {said[:200]!r}; ask for one of {', '.join(MEDIA_TYPES)}")


def _table(request: Request) -> str:
    """CSV holds one table at a time."""
    return f"; table={table}" if (table := request.query_params.get("table")) else ""


def _quality(kind: str) -> float:
    _, _, quality = kind.partition("q=")
    try:
        return -float(quality.partition(";")[0] or 1)
    except ValueError:
        return 0.0


def _page(
    request: Request,
    rows: Iterable[tuple[str, Item]],
    version: int,
    shown: Callable[[Item], object] = lambda item: item,
) -> Response:
    """Rows come in the order of their names, those behind `after` are told."""
    limit, after = asked_limit(request), request.query_params.get("after", "")
    found: list[tuple[str, Item]] = []
    for name, item in rows:
        if not after or name > after:
            found.append((name, item))
            if len(found) > limit:
                break
    more = found[limit - 1][0] if len(found) > limit else None
    return _json(Page([shown(item) for _, item in found[:limit]], more), version)


def _joined(key: Key) -> str:
    """In the order of the parts: what separates them sorts before whatever a name may have."""
    return "\x1f".join(key)


def _needed(request: Request, name: str) -> str:
    found = request.query_params.get(name)
    if not found:
        raise Refusal("malformed", f"which {name}? add ?{name}=NAME")
    return found


def _etag(version: int) -> str:
    return f'"{version}"'


def _json(value: object, version: int | None = None) -> Response:
    headers = None if version is None else {"ETag": _etag(version)}
    return Response(msgspec.json.encode(value), headers=headers, media_type=JSON)
