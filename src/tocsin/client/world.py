"""`client.world` and `client.notifiers`: implicit notification, over the JSON API whatever the dialect."""

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import UNSET, UnsetType

from tocsin.client.answers import ClientError
from tocsin.client.connection import Connection
from tocsin.client.json_speech import JSON, decoded
from tocsin.documents.notifiers import DisseminationRow, NotifierDocument, PublishedDocument
from tocsin.documents.subscriptions import Page
from tocsin.documents.world import (
    CategoryDocument,
    ChangingDocument,
    EdgeDocument,
    NeighbourDocument,
    RulesDocument,
    WorldDocument,
    WorldTopicDocument,
)
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import DEFAULT
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world_forms import media_type as media_type_of

Kind = TypeVar("Kind")
PAGE = 1000
AT_ONCE = 20.0  # seconds that one request waits at the broker; a longer wait is several of them
Document = bytes | str | Path | Mapping[str, Any]


class Result(Dissemination, frozen=True):
    """Who was told of one message, by whom, at which hop; `complete` when nothing is on its way any more."""

    id: str = ""
    root: str = ""
    topic: str = ""


class _Api:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def _ask(
        self, kind: type[Kind], method: str, path: str, body: object = None, version: int | None = None
    ) -> Kind:
        said = b"" if body is None else msgspec.json.encode(body)
        answer = await self._send(method, path, said, "application/json", version)
        return decoded(answer, kind)

    async def _send(
        self, method: str, path: str, body: bytes = b"", media_type: str = "", version: int | None = None
    ) -> bytes:
        headers = JSON if media_type in ("", "application/json") else (("Content-Type", media_type),)
        if version is not None:
            headers += (("If-Match", f'"{version}"'),)
        return (await self._connection.request(method, f"{self._connection.broker}{path}", headers, body)).body

    async def _pages(
        self, kind: type[Page[Kind]], path: str, query: Mapping[str, str], limit: int | None
    ) -> list[Kind]:
        """Up to so many; all without a limit."""
        found: list[Kind] = []
        after: str | None = ""
        while after is not None and (limit is None or len(found) < limit):
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            asked = {**query, "limit": str(size)} | ({"after": after} if after else {})
            page = await self._ask(kind, "GET", f"{path}?{urlencode(asked)}")
            found += page.items
            after = page.next
        return found


class World(_Api):
    """The taxonomies, the services and the graph of interests.

    `by` says who asks, where nobody has to show it. With `version`, nothing is changed if the world has another one.
    """

    async def version(self) -> int:
        """It counts the changes."""
        answer = await self._connection.request("GET", f"{self._connection.broker}/api/world/rules")
        return int(dict(answer.headers).get("etag", "").strip('"') or 0)

    async def load(
        self,
        document: Document,
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
        body, form = _document(document, form)
        query = _query(replace="true" if replace else "", create="true" if create else "", by=by)
        return decoded(await self._send("PUT", f"/api/world{query}", body, form, version), WorldDocument)

    async def save(self, form: str = "json", *, table: str = "") -> bytes:
        """The whole as JSON, Turtle (`ttl`) or RDF/XML (`rdf`); of CSV one `table`: edges, services or taxonomies."""
        return await self._send("GET", f"/api/world{_query(form=form, table=table)}")

    async def topics(self) -> Sequence[WorldTopicDocument]:
        return await self._pages(Page[WorldTopicDocument], "/api/world/topics", {}, None)

    async def topic(self, name: str, parent: str | None = None, *, by: str = "") -> WorldTopicDocument:
        """Adds it, or moves it with all that is under it."""
        body = {"parent": parent, "by": by}
        return await self._ask(WorldTopicDocument, "PUT", _path("topics", name), body)

    async def remove_topic(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", _path("topics", name) + _query(by=by))

    async def categories(self) -> Sequence[CategoryDocument]:
        return await self._pages(Page[CategoryDocument], "/api/world/categories", {}, None)

    async def category(
        self,
        name: str,
        parent: str | UnsetType | None = UNSET,
        *,
        owner: str | UnsetType | None = UNSET,
        by: str = "",
    ) -> CategoryDocument:
        """Adds or changes it; what is not said stays, None takes it away."""
        body = {"parent": parent, "owner": owner, "by": by}
        said = {key: value for key, value in body.items() if value is not UNSET}
        return await self._ask(CategoryDocument, "PUT", _path("categories", name), said)

    async def remove_category(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", _path("categories", name) + _query(by=by))

    async def services(self, category: str = "") -> Sequence[Service]:
        """All, or those of a category or one below it."""
        query = {"category": category} if category else {}
        return await self._pages(Page[Service], "/api/world/services", query, None)

    async def service(self, name: str) -> Service:
        return await self._ask(Service, "GET", _path("services", name))

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
        body = {
            "categories": list(categories),
            "notifier": notifier,
            "qualities": dict(qualities or {}),
            "policies": list(policies),
            "tells": dict(tells or {}),
            "by": by,
        }
        return await self._ask(Service, "PUT", _path("services", name), body)

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
        body = {"categories": categories, "qualities": qualities, "policies": policies, "tells": tells, "by": by}
        said = {key: value for key, value in body.items() if value is not None}
        return await self._ask(Service, "PATCH", _path("services", name), said)

    async def remove_service(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", _path("services", name) + _query(by=by))

    async def edges(
        self, *, source: str = "", topic: str = "", target: str = "", counts: bool | None = None
    ) -> Sequence[EdgeDocument]:
        query = {"source": source, "topic": topic, "target": target}
        query["counts"] = "" if counts is None else str(counts).lower()
        return await self._pages(Page[EdgeDocument], "/api/world/edges", {k: v for k, v in query.items() if v}, None)

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
        body = {
            "source": source,
            "topic": topic,
            "target": target,
            "note": note,
            "support": support,
            "confidence": confidence,
            "lift": lift,
            "by": by,
        }
        return await self._ask(EdgeDocument, "PUT", "/api/world/edges", body, version)

    async def remove_edge(self, source: str, topic: str, target: str, *, by: str = "") -> None:
        await self._send("DELETE", f"/api/world/edges{_query(source=source, topic=topic, target=target, by=by)}")

    async def vote(
        self, source: str, topic: str, target: str, *, agrees: bool = True, by: str = "", note: str = ""
    ) -> EdgeDocument:
        """Confirms an edge, or disputes it; each has one vote, the last one counts."""
        body = {"source": source, "topic": topic, "target": target, "agrees": agrees, "note": note, "by": by}
        return await self._ask(EdgeDocument, "POST", "/api/world/edges/votes", body)

    async def rules(self) -> RulesDocument:
        return await self._ask(RulesDocument, "GET", "/api/world/rules")

    async def put_rules(
        self, *, quorum: int = 3, inherit_topics: bool = False, inherit_categories: bool = False, by: str = ""
    ) -> RulesDocument:
        body = {"quorum": quorum, "inherit_topics": inherit_topics, "inherit_categories": inherit_categories, "by": by}
        return await self._ask(RulesDocument, "PUT", "/api/world/rules", body)

    async def neighbours(self, service: str, topic: str) -> Sequence[NeighbourDocument]:
        """Whom a service tells of a topic, and along which edges."""
        query = {"service": service, "topic": topic}
        return await self._pages(Page[NeighbourDocument], "/api/world/neighbours", query, None)

    async def history(self, *, after: int = 0, limit: int | None = None) -> Sequence[ChangingDocument]:
        """Who changed what, and when, from the version behind `after` on."""
        query = {"after": str(after)} if after else {}
        return await self._pages(Page[ChangingDocument], "/api/world/history", query, limit)


class Notifiers(_Api):
    """The notifiers of the node that is asked, and what became of what was published through them."""

    async def list(self) -> Sequence[NotifierDocument]:
        return await self._pages(Page[NotifierDocument], "/api/notifiers", {}, None)

    async def get(self, name: str) -> NotifierDocument:
        return await self._ask(NotifierDocument, "GET", _notifier(name))

    async def create(
        self,
        name: str,
        categories: Sequence[str],
        *,
        address: str = "",
        dialect: str = "",
        qualities: Mapping[str, float] | None = None,
        policies: Sequence[str] = (),
        tells: Mapping[str, str] | None = None,
        by: str = "",
        owner: str = "",
    ) -> NotifierDocument:
        """Registers a service under its categories, with a notifier at this node. It is told at `address` in `dialect`;
        without one what is for it waits in a pull point, whose id is `subscription`, and `owner` may fetch it."""
        body = {
            "name": name,
            "categories": list(categories),
            "address": address,
            "dialect": dialect,
            "qualities": dict(qualities or {}),
            "policies": list(policies),
            "tells": dict(tells or {}),
            "by": by,
        }
        if owner:
            body["owner"] = owner
        return await self._ask(NotifierDocument, "POST", "/api/notifiers", body)

    async def remove(self, name: str, *, by: str = "") -> None:
        await self._send("DELETE", _notifier(name) + _query(by=by))

    async def publish(
        self,
        name: str,
        topic: str,
        data: object = "",
        *,
        media_type: str = "",
        protocol: str = DEFAULT,
        limit: int | None = None,
        only: Sequence[str] | None = None,
    ) -> str:
        """Publish(T, D) through a notifier; returns the id when it is on disk, and `result` tells what became of it.

        Text and bytes are sent as they are, anything else as JSON. With `only`, and the protocol `direct`, those are
        told and nobody else.
        """
        said = {"topic": topic, "protocol": protocol, **_payload(data, media_type)}
        if limit is not None:
            said["limit"] = limit
        if only is not None:
            said["only"] = list(only)
        return (await self._ask(PublishedDocument, "POST", f"{_notifier(name)}/publish", said)).id

    async def result(self, message: str, *, wait: float = 0.0) -> Result:
        """As far as it is known; waits so many seconds for its end."""
        left = wait
        while True:
            now = min(left, AT_ONCE)
            path = f"/api/disseminations/{quote(message, safe='')}{_query(wait=f'{now:.3f}')}"
            found = await self._ask(Result, "GET", path)
            left -= now
            if found.complete or left <= 0:
                return found

    async def results(self, limit: int = 100) -> Sequence[DisseminationRow]:
        """The latest messages that were published through notifiers of this node."""
        return (await self._ask(Page[DisseminationRow], "GET", f"/api/disseminations{_query(limit=str(limit))}")).items


def _document(document: Document, form: str) -> tuple[bytes, str]:
    """The bytes, and their media type; the broker knows the endings of names."""
    try:
        if isinstance(document, Path):
            return document.read_bytes(), form or media_type_of(document.name)
        found = form or "application/json"
        if isinstance(document, Mapping):
            return msgspec.json.encode(document), "application/json"
        return (document.encode() if isinstance(document, str) else document), media_type_of(found)
    except OSError as problem:
        raise ClientError(f"{problem.filename}: {problem.strerror}") from None
    except Refusal as refusal:
        raise ClientError(refusal.text) from None


def _payload(data: object, media_type: str) -> dict[str, Any]:
    if isinstance(data, str):
        data, media_type = data.encode(), media_type or "text/plain"
    if isinstance(data, bytes):
        encoded = base64.b64encode(data).decode()
        return {"data_base64": encoded, "media_type": media_type or "application/octet-stream"}
    return {"data": data, "media_type": media_type or "application/json"}


def _path(what: str, name: str) -> str:
    return f"/api/world/{what}/{quote(name, safe='')}"


def _notifier(name: str) -> str:
    return f"/api/notifiers/{quote(name, safe='')}"


def _query(**given: str) -> str:
    said = {name: value for name, value in given.items() if value}
    return f"?{urlencode(said)}" if said else ""
