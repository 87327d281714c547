"""`/api/world`: the taxonomies, the services and the graph of interests, whole or piece by piece.

Every answer carries the version of the world as its ETag. Who sends that back as If-Match changes nothing if somebody
else has changed the world meanwhile.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Annotated, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents import world as d
from tocsin.documents.subscriptions import Page
from tocsin.documents.world_changes import merged, placed, replaced, runs_still
from tocsin.doors.api.parameters import TEXT, After, Body, By, Header, Path, PlainLimit, Query, flag, whole_number
from tocsin.doors.api.router import JSON, Answer, Group, Resource, from_json
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Key, Service, Vote
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import MEDIA_TYPES, accepted, media_type, read_world, write_world

Document = TypeVar("Document")
Changes = Callable[[World], Sequence[c.Change]]
UNSAID = ("", "application/x-www-form-urlencoded")  # what curl says of whatever it is given
BOOLEAN = {"type": "boolean"}
Name = Annotated[str, Path("What it is called")]
IfMatch = Annotated[str, Header("The ETag that the change is for: 412 if it is another by now", "If-Match")]
OfEdge = Annotated[str | None, Query("Of the edge")]

world = Resource(d.WORLD)


class Look(Group, frozen=True):
    def world(self) -> World:
        return self.node.implicit.world(self.caller)


class Listing(Look, frozen=True):
    """A page of the world: of names in their order, those behind `after`."""

    after: After = ""
    limit: PlainLimit = 100

    def page(self, found: World, names: Iterable[str], shown: Callable[[str], Document]) -> Answer[Page[Document]]:
        page = list(islice((name for name in names if name > self.after), self.limit + 1))
        following = page[self.limit - 1] if len(page) > self.limit else None
        return _tagged(Page([shown(name) for name in page[: self.limit]], following), found)


class Edit(Look, frozen=True):
    if_match: IfMatch = "*"

    async def make(self, changes: Changes, by: str) -> int:
        """One after the other: what is compared with the version is what is changed."""

        def checked(before: World) -> Sequence[c.Change]:
            self._check(before.version)
            return changes(before)

        return await self.node.implicit.change_world(self.caller, checked, by)

    def _check(self, version: int) -> None:
        """RFC 9110 s13.1.1; a weak tag is as good: there is one version of everything."""
        tags = [each.strip().removeprefix("W/").strip('"') for each in self.if_match.split(",")]
        if self.if_match.strip() != "*" and str(version) not in tags:
            raise Refusal(
                "changed-since",
                f"the world was changed by somebody else: it is at version {version}, not {' or '.join(tags)[:80]};"
                " read it again, and make your change to that",
            )


class Removal(Group, frozen=True):
    by: By = ""
    if_match: IfMatch = "*"

    async def make(self, changes: Changes) -> Answer[None]:
        edit = Edit(self.node, self.caller, self.if_match)
        return Answer(None, _tag(await edit.make(changes, self.by)))


@world.get(says="The whole world, in the form that Accept or `form` names", returns=dict.fromkeys(MEDIA_TYPES, TEXT))
def get_world(
    look: Look,
    form: Annotated[str | None, Query("Another way to say it than Accept: json, ttl, rdf, csv")] = None,
    table: Annotated[str, Query("Of CSV: edges, services or taxonomies")] = "",
    accept: Annotated[str, Header("", "Accept")] = "*/*",
    held: Annotated[str, Header("", "If-None-Match")] = "",
) -> Response:
    found = look.world()
    tag = _tag(found.version)
    if held == tag["ETag"]:
        return Response(status_code=304, headers=tag)
    kind = accepted(accept) if form is None else media_type(form)
    body = write_world(found, f"{kind}; table={table}" if table else kind)
    return Response(body, media_type=kind, headers=tag | {"Vary": "Accept"})


@world.put(says="Add what a document describes to the world, or put it in its place: all of it, or nothing")
async def put_world(
    *,
    body: Annotated[bytes, Body(dict.fromkeys(MEDIA_TYPES, TEXT))],
    whole: Annotated[bool, Query("What the document does not name goes", flag, BOOLEAN, name="replace")] = False,
    create: Annotated[bool, Query("Names that it uses and nowhere declares are made", flag, BOOLEAN)] = False,
    by: By = "",
    edit: Edit,
    kind: Annotated[str, Header("", "Content-Type")] = "",
) -> Answer[d.WorldDocument]:
    """All of it or nothing. What the document does not name stays, or with `replace` goes."""
    form = JSON if kind.partition(";")[0].strip().lower() in UNSAID else kind
    changed = list[c.Change]()

    def changes(before: World) -> Sequence[c.Change]:
        told = read_world(body, form, create=create, onto=None if whole else before)
        changed.extend((replaced if whole else merged)(before, told))
        return changed

    version = await edit.make(changes, by)
    return Answer(d.WorldDocument.of(edit.world(), version, len(changed)), _tag(version))


@world.get("/topics", says="A page of topics")
def list_topics(listing: Listing) -> Answer[Page[d.WorldTopicDocument]]:
    found = listing.world()
    return listing.page(found, sorted(found.topics), d.WorldTopicDocument.each(found))


@world.get("/topics/{name:path}", says="One topic")
def get_topic(look: Look, name: Name) -> Answer[d.WorldTopicDocument]:
    found = look.world()
    found.topics.check(name)
    return _tagged(d.WorldTopicDocument.each(found)(name), found)


@world.put("/topics/{name:path}", says="Add or change a topic")
async def put_topic(edit: Edit, asked: d.TopicRequest, name: Name) -> Answer[d.WorldTopicDocument]:
    await edit.make(lambda _: [c.PutTopic(name, asked.parent)], asked.by)
    return get_topic(edit, name)


@world.delete("/topics/{name:path}", says="Remove a topic that nothing uses")
async def remove_topic(removal: Removal, name: Name) -> Answer[None]:
    return await removal.make(lambda _: [c.RemoveTopic(name)])


@world.get("/categories", says="A page of categories")
def list_categories(listing: Listing) -> Answer[Page[d.CategoryDocument]]:
    found = listing.world()
    return listing.page(found, sorted(found.categories), d.CategoryDocument.each(found))


@world.get("/categories/{name:path}", says="One category")
def get_category(look: Look, name: Name) -> Answer[d.CategoryDocument]:
    found = look.world()
    found.categories.check(name)
    return _tagged(d.CategoryDocument.each(found)(name), found)


@world.put("/categories/{name:path}", says="Add or change a category")
async def put_category(edit: Edit, asked: d.CategoryRequest, name: Name) -> Answer[d.CategoryDocument]:
    await edit.make(lambda before: [asked.change(before, name)], asked.by)
    return get_category(edit, name)


@world.delete("/categories/{name:path}", says="Remove a category that nothing uses")
async def remove_category(removal: Removal, name: Name) -> Answer[None]:
    return await removal.make(lambda _: [c.RemoveCategory(name)])


@world.get("/services", says="A page of services")
def list_services(
    *, category: Annotated[str | None, Query("Those of this category or one below it")] = None, listing: Listing
) -> Answer[Page[Service]]:
    found = listing.world()
    names = sorted(found.services) if category is None else [each.name for each in found.members(category)]
    return listing.page(found, names, found.service)


@world.get("/services/{name}", says="One service")
def get_service(look: Look, name: Name) -> Answer[Service]:
    found = look.world()
    return _tagged(found.service(name), found)


@world.put("/services/{name}", says="Add or change a service")
async def put_service(edit: Edit, asked: d.ServiceRequest, name: Name) -> Answer[Service]:
    service = asked.service(name)

    def changes(found: World) -> Sequence[c.Change]:
        before = found.services.get(name)
        if before is not None and before.node and service.notifier not in ("", before.notifier):
            raise runs_still(before)
        return [c.PutService(placed(service, before))]

    await edit.make(changes, asked.by)
    return get_service(edit, name)


@world.patch("/services/{name}", says="Change a part of a service, whose notifier may run")
async def change_service(edit: Edit, asked: d.ServicePatch, name: Name) -> Answer[Service]:
    await edit.make(lambda before: asked.changes(before, name), asked.by)
    return get_service(edit, name)


@world.delete("/services/{name}", says="Remove a service that nothing uses")
async def remove_service(removal: Removal, name: Name) -> Answer[None]:
    """One whose notifier runs here is ended with its notifier; that of a node which is no more can be removed."""

    def changes(before: World) -> Sequence[c.Change]:
        running = removal.node.implicit.notifiers(removal.caller)
        if any(each.service.name == name for each in running):
            raise runs_still(before.service(name))
        return [c.RemoveService(name)]

    return await removal.make(changes)


@world.get("/edges", says="A page of edges, and why each counts or not")
def list_edges(
    *,
    source: OfEdge = None,
    topic: OfEdge = None,
    target: OfEdge = None,
    counts: Annotated[bool | None, Query("Those alone that count, or that do not", flag, BOOLEAN)] = None,
    listing: Listing,
) -> Answer[Page[d.EdgeDocument]]:
    found, wanted = listing.world(), (source, topic, target)
    for taxonomy, name in zip((found.categories, found.topics, found.categories), wanted, strict=True):
        if name is not None:
            taxonomy.check(name)
    edges = [
        edge
        for key, edge in sorted(found.edges.items())
        if all(name in (None, part) for name, part in zip(wanted, key, strict=True))
        and counts in (None, found.counts(edge))
    ]
    # In the order of the parts: what separates them sorts before whatever a name may have
    rows = {"\x1f".join(edge.key): edge for edge in edges}
    return listing.page(found, rows, lambda joined: d.EdgeDocument.of(found, rows[joined]))


@world.put("/edges", says="Add, propose or change an edge")
async def put_edge(
    edit: Edit, request: Request, body: Annotated[bytes, Body({JSON: d.EdgeRequest})]
) -> Answer[d.EdgeDocument]:
    """A new one is a proposal of whoever is named in `by`; one that is there keeps its votes."""
    asked = _edge_asked(request, body)
    learned = {name: getattr(asked, name) for name in ("support", "confidence", "lift", "note")}

    def changes(before: World) -> Sequence[c.Change]:
        fresh = Edge(*asked.key, proposed_by=asked.by, when=edit.node.now())
        return [c.PutEdge(replace(before.edges.get(asked.key, fresh), **learned))]

    await edit.make(changes, asked.by)
    return _edge(edit, asked.key)


@world.delete("/edges", says="Remove an edge")
async def remove_edge(
    *,
    request: Request,
    body: Annotated[bytes, Body()],
    source: OfEdge = None,
    topic: OfEdge = None,
    target: OfEdge = None,
    removal: Removal,
) -> Answer[None]:
    del source, topic, target  # the query is read whole: a name that is not known is refused
    asked = _edge_asked(request, body)
    return await replace(removal, by=asked.by).make(lambda _: [c.RemoveEdge(*asked.key)])


@world.post("/edges/votes", says="Confirm or dispute an edge")
async def vote(edit: Edit, asked: d.VoteRequest) -> Answer[d.EdgeDocument]:
    cast = c.CastVote(*asked.key, Vote(asked.by, asked.agrees, edit.node.now(), asked.note))
    await edit.make(lambda _: [cast], asked.by)
    return _edge(edit, asked.key)


@world.get("/rules", says="The rules of the world")
def get_rules(look: Look) -> Answer[d.RulesDocument]:
    found = look.world()
    return _tagged(d.RulesDocument.of(found.rules), found)


@world.put("/rules", says="Other rules")
async def put_rules(edit: Edit, asked: d.RulesRequest) -> Answer[d.RulesDocument]:
    rules = c.PutRules(asked.inherit_topics, asked.inherit_categories, asked.quorum)
    await edit.make(lambda _: [rules], asked.by)
    return get_rules(edit)


@world.get("/neighbours", says="Whom a service tells of a topic, and along which edges")
def list_neighbours(
    *,
    service: Annotated[str, Query("The service", required=True)] = "",
    topic: Annotated[str, Query("The topic", required=True)] = "",
    listing: Listing,
) -> Answer[Page[d.NeighbourDocument]]:
    """GetNeighbors (paper 000, Table 1), with the edges that lead to each."""
    found = listing.world()
    for name, value in (("service", service), ("topic", topic)):
        if not value:
            raise Refusal("malformed", f"which {name}? add ?{name}=NAME")
    found.topics.check(topic)
    names, ways = found.neighbours(service, topic), found.ways(service, topic)

    def shown(name: str) -> d.NeighbourDocument:
        edges = [str(edge) for edge, members in ways if name in members]
        return d.NeighbourDocument(name, list(found.services[name].categories), edges)

    return listing.page(found, names, shown)


@world.get("/history", says="Who changed what, and when")
async def list_history(
    look: Look,
    after: Annotated[int, Query("What was `next` in the page before", whole_number)] = 0,
    limit: PlainLimit = 100,
) -> Page[d.ChangingDocument]:
    found = await look.node.implicit.world_history(look.caller, after, limit)
    return Page(list(map(d.ChangingDocument.of, found)), str(found[-1].version) if len(found) == limit else None)


def _tag(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}


def _tagged(document: Document, found: World) -> Answer[Document]:
    return Answer(document, _tag(found.version))


def _edge_asked(request: Request, body: bytes) -> d.EdgeRequest:
    """From the body, or where that is empty from the query."""
    return from_json(body or msgspec.json.encode(dict(request.query_params)), d.EdgeRequest)


def _edge(look: Look, key: Key) -> Answer[d.EdgeDocument]:
    found = look.world()
    return _tagged(d.EdgeDocument.of(found, found.edge(key)), found)
