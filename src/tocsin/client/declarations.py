"""What filters refer to by name: information spaces, types, producers and their categories, ontologies, liftings."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.client.api import Collection, Given, Resource, Way, below, bytes_of, with_query
from tocsin.client.calls import call
from tocsin.documents.declarations import (
    CategoriesDocument,
    CategoriesRequest,
    ProducerDocument,
    ProducerRequest,
    SpaceDocument,
    SpaceRequest,
    TypesDocument,
)
from tocsin.documents.semantics import LiftingSummary, MeaningChange, OntologyChange, OntologyDocument, OntologySummary
from tocsin.model import paths

TURTLE = "text/turtle"


class Spaces(Collection[Way, SpaceDocument]):
    """The information spaces that content topics lie in."""

    _path, _kind = paths.SPACES, SpaceDocument

    @call
    async def put(self, name: str, space: SpaceRequest | Given) -> SpaceDocument:
        return await self._ask(SpaceDocument, "PUT", below(self._path, name), bytes_of(space))


class Types(Resource[Way]):
    """Which types of notifications are kinds of others."""

    @call
    async def get(self) -> TypesDocument:
        return await self._ask(TypesDocument, "GET", paths.TYPES)

    @call
    async def put(self, hierarchy: TypesDocument | Given) -> TypesDocument:
        """The whole of it; the one before is replaced."""
        return await self._ask(TypesDocument, "PUT", paths.TYPES, bytes_of(hierarchy))


class Categories(Resource[Way]):
    """The categories of producers."""

    @call
    async def get(self) -> CategoriesDocument:
        return await self._ask(CategoriesDocument, "GET", paths.CATEGORIES)

    @call
    async def put(self, hierarchy: CategoriesRequest | Given) -> CategoriesDocument:
        return await self._ask(CategoriesDocument, "PUT", paths.CATEGORIES, bytes_of(hierarchy))


class Producers(Collection[Way, ProducerDocument]):
    """Who sends notifications, and the services of the world."""

    _path, _kind = paths.PRODUCERS, ProducerDocument

    @call
    async def put(
        self, address: str, categories: Sequence[str] = (), *, properties: str = "", description: str = ""
    ) -> ProducerDocument:
        """`properties` is an XML document, `description` is RDF; what was said of it before is replaced."""
        request = ProducerRequest([*categories], properties, description)
        return await self._ask(ProducerDocument, "PUT", below(self._path, address), request)


class Ontologies(Resource[Way]):
    """The concept model that graph patterns are about. A dry run only says which subscriptions would be suspended."""

    @call
    async def list(self) -> Sequence[OntologySummary]:
        return await self._pages(OntologySummary, paths.ONTOLOGIES)

    @call
    async def get(self, name: str) -> OntologyDocument:
        return await self._ask(OntologyDocument, "GET", below(paths.ONTOLOGIES, name))

    @call
    async def turtle(self, name: str) -> bytes:
        return await self._send("GET", below(paths.ONTOLOGIES, name), headers=(("Accept", TURTLE),))

    @call
    async def put(
        self, name: str, ontology: Given, media_type: str = TURTLE, *, dry_run: bool = False
    ) -> OntologyChange:
        path = with_query(below(paths.ONTOLOGIES, name), dry_run=dry_run)
        return await self._ask(OntologyChange, "PUT", path, bytes_of(ontology), media_type)

    @call
    async def remove(self, name: str, *, dry_run: bool = False) -> MeaningChange:
        return await self._ask(MeaningChange, "DELETE", with_query(below(paths.ONTOLOGIES, name), dry_run=dry_run))


class Liftings(Resource[Way]):
    """How XML and JSON become event graphs."""

    @call
    async def list(self) -> Sequence[LiftingSummary]:
        return await self._pages(LiftingSummary, paths.LIFTINGS)

    @call
    async def get(self, name: str) -> Mapping[str, Any]:
        """As one would declare it."""
        return await self._ask(dict[str, Any], "GET", below(paths.LIFTINGS, name))

    @call
    async def put(self, name: str, lifting: Given, *, dry_run: bool = False) -> MeaningChange:
        path = with_query(below(paths.LIFTINGS, name), dry_run=dry_run)
        return await self._ask(MeaningChange, "PUT", path, bytes_of(lifting))

    @call
    async def remove(self, name: str, *, dry_run: bool = False) -> MeaningChange:
        return await self._ask(MeaningChange, "DELETE", with_query(below(paths.LIFTINGS, name), dry_run=dry_run))
