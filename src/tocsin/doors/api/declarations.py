"""`/api/spaces`, `/api/types`, `/api/categories` and `/api/producers`: what filters refer to by name."""

import re
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tocsin.documents import declarations as d
from tocsin.documents.ports.port import Broker
from tocsin.documents.subscriptions import Page
from tocsin.doors.api.queries import asked_limit
from tocsin.model.declarations import Withdrawn
from tocsin.model.refusal import Refusal
from tocsin.semantics.suggestions import known_names

SPACES, TYPES, CATEGORIES, PRODUCERS = "/api/spaces", "/api/types", "/api/categories", "/api/producers"

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class DeclarationHandlers:
    _broker: Broker

    async def spaces(self, request: Request) -> Response:
        del request
        found = sorted(self._broker.known.spaces.items())
        return _json(Page([d.SpaceDocument.of(space) for _, space in found], None))

    async def space(self, request: Request) -> Response:
        return self._space(named(request, SPACES))

    async def declare_space(self, request: Request) -> Response:
        asked: d.SpaceRequest = await self._read(request, d.SpaceRequest)
        name = named(request, SPACES)
        await self._broker.declare(asked.space(name))
        return self._space(name)

    async def withdraw_space(self, request: Request) -> Response:
        await self._broker.declare(Withdrawn("space", named(request, SPACES)))
        return Response(status_code=204)

    async def types(self, request: Request) -> Response:
        del request
        return _json(d.TypesDocument(_shown(self._broker.known.types)))

    async def declare_types(self, request: Request) -> Response:
        asked: d.TypesDocument = await self._read(request, d.TypesDocument)
        await self._broker.declare(asked.hierarchy())
        return await self.types(request)

    async def producer_categories(self, request: Request) -> Response:
        del request
        parents = _shown(self._broker.known.categories)
        return _json(d.CategoriesDocument(parents, self._broker.categories_of_world))

    async def declare_categories(self, request: Request) -> Response:
        asked: d.CategoriesRequest = await self._read(request, d.CategoriesRequest)
        await self._broker.declare(asked.hierarchy())
        return await self.producer_categories(request)

    async def producers(self, request: Request) -> Response:
        limit, after = asked_limit(request), request.query_params.get("after", "")
        known = self._broker.known.producers
        page = sorted(address for address in known if address > after)[:limit]
        items = [d.ProducerDocument.of(known[address]) for address in page]
        return _json(Page(items, page[-1] if len(page) == limit else None))

    async def producer(self, request: Request) -> Response:
        return self._producer(named(request, PRODUCERS))

    async def declare_producer(self, request: Request) -> Response:
        asked: d.ProducerRequest = await self._read(request, d.ProducerRequest)
        address = named(request, PRODUCERS)
        await self._broker.declare(asked.producer(address))
        return self._producer(address)

    async def withdraw_producer(self, request: Request) -> Response:
        await self._broker.declare(Withdrawn("producer", named(request, PRODUCERS)))
        return Response(status_code=204)

    def _space(self, name: str) -> Response:
        known = self._broker.known.spaces
        if name not in known:
            raise Refusal("unknown-name", f"there is no information space {name[:80]!r}; {known_names(name, known)}")
        return _json(d.SpaceDocument.of(known[name]))

    def _producer(self, address: str) -> Response:
        known = self._broker.known.producers
        if address not in known:
            raise Refusal("unknown-name", f"there is no producer {address[:80]!r}; {known_names(address, known)}")
        return _json(d.ProducerDocument.of(known[address]))

    async def _read(self, request: Request, kind: Any) -> Any:
        raise NotImplementedError


def named(request: Request, below: str) -> str:
    """What the path ends in, exactly: the router drops a last line feed, and puts U+FFFD for what is no UTF-8."""
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    try:
        name = unquote_to_bytes(raw).decode().removeprefix(f"{below}/")
    except UnicodeDecodeError:
        raise Refusal("malformed", f"the path {raw[:80].decode('latin-1')!r} is not written in UTF-8") from None
    if _CONTROL.search(name):
        raise Refusal("malformed", f"the path names {name[:80]!r}, which holds control characters; leave them out")
    return name


def _shown(parents: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(above) for name, above in sorted(parents.items())}


def _json(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json")
