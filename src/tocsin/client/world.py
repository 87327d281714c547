"""`client.world`: the world of implicit notification, over the JSON API whatever the dialect."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import UNSET, UnsetType

from tocsin.client.answers import decoded
from tocsin.client.api import JSON, Given, Resource, Way, below, bytes_of, with_query
from tocsin.client.calls import call
from tocsin.client.errors import ClientError
from tocsin.documents.world import (
    WORLD,
    CategoryDocument,
    CategoryRequest,
    ChangingDocument,
    EdgeDocument,
    EdgeRequest,
    NeighbourDocument,
    RulesDocument,
    RulesRequest,
    ServicePatch,
    ServiceRequest,
    TopicRequest,
    VoteRequest,
    WorldDocument,
    WorldTopicDocument,
)
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world_forms import media_type as media_type_of

_TOPICS, _CATEGORIES, _SERVICES = (f"{WORLD}/{each}" for each in ("topics", "categories", "services"))
_EDGES, _RULES = f"{WORLD}/edges", f"{WORLD}/rules"


class World(Resource[Way]):
    """The taxonomies, the services and the graph of interests.

    `by` says who asks, where nobody has to show it. With `version`, nothing is changed if the world has another one.
    """

    @call
    async def version(self) -> int:
        """It counts the changes."""
        answer = await self._connection.request("GET", self._connection.broker + _RULES)
        return int(dict(answer.headers).get("etag", "").strip('"') or 0)

    @call
    async def load(
        self,
        document: Given,
        form: str = "",
        *,
        replace: bool = False,
        create: bool = False,
        by: str = "",
        version: int | None = None,
    ) -> WorldDocument:
        """From a file, bytes, text or a dict. `form` is a media type or an ending such as `.ttl`; by default that of
        the file, else JSON. All of it or nothing; with `replace` what it does not name goes, with `create` names that
        it uses and nowhere declares are made."""
        path = with_query(WORLD, replace=replace, create=create, by=by)
        return decoded(
            await self._send("PUT", path, bytes_of(document), _form_of(document, form), _at(version)), WorldDocument
        )

    @call
    async def save(self, form: str = "json", *, table: str = "") -> bytes:
        """The whole as JSON, Turtle (`ttl`) or RDF/XML (`rdf`); of CSV one `table`: edges, services or taxonomies."""
        return await self._send("GET", with_query(WORLD, form=form, table=table))

    @call
    async def topics(self) -> Sequence[WorldTopicDocument]:
        return await self._pages(WorldTopicDocument, _TOPICS)

    @call
    async def topic(self, name: str, parent: str | None = None, *, by: str = "") -> WorldTopicDocument:
        """Adds it, or moves it with all that is under it."""
        return await self._ask(WorldTopicDocument, "PUT", below(_TOPICS, name), TopicRequest(parent, by))

    @call
    async def remove_topic(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", with_query(below(_TOPICS, name), by=by))

    @call
    async def categories(self) -> Sequence[CategoryDocument]:
        return await self._pages(CategoryDocument, _CATEGORIES)

    @call
    async def category(
        self,
        name: str,
        parent: str | UnsetType | None = UNSET,
        *,
        owner: str | UnsetType | None = UNSET,
        by: str = "",
    ) -> CategoryDocument:
        """Adds or changes it; what is not said stays, None takes it away."""
        request = CategoryRequest(parent, owner, by)
        return await self._ask(CategoryDocument, "PUT", below(_CATEGORIES, name), request)

    @call
    async def remove_category(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", with_query(below(_CATEGORIES, name), by=by))

    @call
    async def services(self, category: str = "") -> Sequence[Service]:
        """All, or those of a category or one below it."""
        return await self._pages(Service, _SERVICES, category=category)

    @call
    async def service(self, name: str) -> Service:
        return await self._ask(Service, "GET", below(_SERVICES, name))

    @call
    async def put_service(
        self,
        name: str,
        categories: Sequence[str],
        *,
        notifier: str = "",
        qualities: Mapping[str, float] | None = None,
        policies: Sequence[str] = (),
        tells: Mapping[str, str] | None = None,
        by: str = "",
    ) -> Service:
        """One whose notifier is somebody else's; `notifiers.create` makes one with a notifier of the node's own."""
        request = ServiceRequest(
            [*categories], dict(qualities or {}), [*policies], dict(tells or {}), notifier=notifier, by=by
        )
        return await self._ask(Service, "PUT", below(_SERVICES, name), request)

    @call
    async def change_service(
        self,
        name: str,
        *,
        categories: Sequence[str] | None = None,
        qualities: Mapping[str, float | None] | None = None,
        policies: Sequence[str] | None = None,
        tells: Mapping[str, str | None] | None = None,
        by: str = "",
    ) -> Service:
        """What is not said stays; in `qualities` and `tells` None takes one away. Its notifier runs on."""
        of, promised = (UNSET if each is None else [*each] for each in (categories, policies))
        request = ServicePatch(of, dict(qualities or {}), promised, dict(tells or {}), by)
        return await self._ask(Service, "PATCH", below(_SERVICES, name), request)

    @call
    async def remove_service(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", with_query(below(_SERVICES, name), by=by))

    @call
    async def edges(
        self, *, source: str = "", topic: str = "", target: str = "", counts: bool | None = None
    ) -> Sequence[EdgeDocument]:
        word = "" if counts is None else str(counts).lower()
        return await self._pages(EdgeDocument, _EDGES, source=source, topic=topic, target=target, counts=word)

    @call
    async def edge(
        self,
        source: str,
        topic: str,
        target: str,
        *,
        by: str = "",
        note: str = "",
        support: float | None = None,
        confidence: float | None = None,
        lift: float | None = None,
        version: int | None = None,
    ) -> EdgeDocument:
        """With `by` it is a proposal of that person, and without one a part of the world; one there keeps its votes."""
        request = EdgeRequest(source, topic, target, note, support, confidence, lift, by)
        return await self._ask(EdgeDocument, "PUT", _EDGES, request, headers=_at(version))

    @call
    async def remove_edge(self, source: str, topic: str, target: str, *, by: str = "") -> None:
        await self._send("DELETE", with_query(_EDGES, source=source, topic=topic, target=target, by=by))

    @call
    async def vote(
        self, source: str, topic: str, target: str, *, agrees: bool = True, by: str = "", note: str = ""
    ) -> EdgeDocument:
        """Confirms an edge, or disputes it; each has one vote, the last one counts."""
        request = VoteRequest(source, topic, target, agrees, note, by)
        return await self._ask(EdgeDocument, "POST", f"{_EDGES}/votes", request)

    @call
    async def rules(self) -> RulesDocument:
        return await self._ask(RulesDocument, "GET", _RULES)

    @call
    async def put_rules(
        self, *, quorum: int = 3, inherit_topics: bool = False, inherit_categories: bool = False, by: str = ""
    ) -> RulesDocument:
        request = RulesRequest(inherit_topics, inherit_categories, quorum, by)
        return await self._ask(RulesDocument, "PUT", _RULES, request)

    @call
    async def neighbours(self, service: str, topic: str) -> Sequence[NeighbourDocument]:
        """Whom a service tells of a topic, and along which edges."""
        return await self._pages(NeighbourDocument, f"{WORLD}/neighbours", service=service, topic=topic)

    @call
    async def history(self, *, after: int = 0, limit: int | None = None) -> Sequence[ChangingDocument]:
        """Who changed what, and when, from the version behind `after` on."""
        return await self._pages(ChangingDocument, f"{WORLD}/history", limit, after=after)


def _form_of(document: Given, form: str) -> str:
    """Its media type; the broker knows the endings of names."""
    named = document.name if isinstance(document, Path) else JSON
    try:
        return JSON if isinstance(document, Mapping) else media_type_of(form or named)
    except Refusal as refusal:
        raise ClientError(refusal.text) from None


def _at(version: int | None) -> Pairs:
    return () if version is None else (("If-Match", f'"{version}"'),)
