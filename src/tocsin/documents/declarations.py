"""The JSON documents of what is declared."""

from math import inf
from typing import Annotated

from msgspec import Meta, Struct

from tocsin.mediation import times
from tocsin.model.declarations import Hierarchy, Parents, Producer
from tocsin.model.identity import SECOND, Instant
from tocsin.model.refusal import Refusal
from tocsin.model.space import FIRST_TIME, LAST_TIME, Dimension, InformationSpace, Kind
from tocsin.semantics.interest.producers import is_of_world

SPACES, TYPES, CATEGORIES, PRODUCERS = "/api/spaces", "/api/types", "/api/categories", "/api/producers"

Text = Annotated[str, Meta(max_length=256 << 10)]
Bound = float | str | None


class DimensionDocument(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """`low` and `high` bound a number or, as times such as 2030-01-31T12:00:00Z, a time; both are included.

    `values` are those of an enumeration, in its order.
    """

    name: str
    kind: Kind
    low: Bound = None
    high: Bound = None
    values: list[str] = []

    @classmethod
    def of(cls, dimension: Dimension) -> "DimensionDocument":
        low, high = (_shown(dimension, each) for each in (dimension.low, dimension.high))
        return cls(dimension.name, dimension.kind, low, high, list(dimension.values))

    def dimension(self) -> Dimension:
        low, high = self._bound("low", self.low, -inf), self._bound("high", self.high, inf)
        return Dimension(self.name, self.kind, low, high, tuple(self.values))

    def _bound(self, which: str, bound: Bound, without: float) -> float:
        if bound is None:
            return without
        if isinstance(bound, str) != (self.kind == "time"):
            how = "a time such as 2030-01-31T12:00:00Z" if self.kind == "time" else "a number"
            raise Refusal("malformed", f"dimension {self.name[:80]!r}: {which} is {bound!r:.80}; write {how}")
        try:
            return times.instant(bound) / SECOND if isinstance(bound, str) else bound
        except Refusal as refusal:
            raise Refusal("malformed", f"dimension {self.name[:80]!r}: {which}: {refusal.text}") from None


def _shown(dimension: Dimension, bound: float) -> Bound:
    if dimension.kind != "time" or not FIRST_TIME <= bound <= LAST_TIME:
        return bound if -inf < bound < inf else None
    return times.timestamp(Instant(round(bound * 1_000_000) * (SECOND // 1_000_000)))


class SpaceDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """A content topic such as weather:*,NJ/>25/<50 has one side for each dimension, in their order."""

    name: str
    dimensions: list[DimensionDocument]

    @classmethod
    def of(cls, space: InformationSpace) -> "SpaceDocument":
        return cls(space.name, [DimensionDocument.of(each) for each in space.dimensions])


class SpaceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """The name is that of the path, and need not be said again."""

    dimensions: list[DimensionDocument]
    name: str = ""

    def space(self, name: str) -> InformationSpace:
        if self.name not in ("", name):
            raise Refusal("malformed", f"the path names the space {name[:80]!r}, the document {self.name[:80]!r}")
        return InformationSpace(name, tuple(each.dimension() for each in self.dimensions))


class TypesDocument(Struct, frozen=True, forbid_unknown_fields=True):
    """Each type with its parents: `{namespace}local` of an element, or a type of CloudEvents."""

    parents: dict[str, list[str]]

    def hierarchy(self) -> Hierarchy:
        return Hierarchy("types", _parents(self.parents))


class CategoriesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Each category of producers with its parents."""

    parents: dict[str, list[str]]

    def hierarchy(self) -> Hierarchy:
        return Hierarchy("categories", _parents(self.parents))


class CategoriesDocument(Struct, frozen=True):
    """With `of_world` they are those of the world of services, and are changed there."""

    parents: dict[str, list[str]]
    of_world: bool


class ProducerRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`properties` is an XML document, `description` is RDF: Turtle, N-Triples or RDF/XML."""

    categories: list[str] = []
    properties: Text = ""
    description: Text = ""
    address: str = ""

    def producer(self, address: str) -> Producer:
        if self.address not in ("", address):
            raise Refusal("malformed", f"the path names the producer {address[:80]!r}, the document another")
        return Producer(address, tuple(self.categories), self.properties.encode(), self.description.encode())


class ProducerDocument(Struct, frozen=True):
    """The description is in N-Triples. With `of_world` it is a service of the world, and is changed there."""

    address: str
    categories: list[str]
    properties: str
    description: str
    of_world: bool

    @classmethod
    def of(cls, producer: Producer) -> "ProducerDocument":
        properties, description = producer.properties.decode(), producer.description.decode()
        return cls(producer.address, list(producer.categories), properties, description, is_of_world(producer))


def _parents(said: dict[str, list[str]]) -> Parents:
    return tuple((name, tuple(parents)) for name, parents in said.items())
