"""Declarations: what filters refer to by name. Ontologies, liftings, hierarchies of types and categories, producers."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.model.identity import Pairs
from tocsin.model.space import InformationSpace

Parents = tuple[tuple[str, tuple[str, ...]], ...]


class MetaStatement(Struct, frozen=True, array_like=True, order=True):
    """A property that a class may have, and the class that its values are of; all three are IRIs."""

    subject: str
    property: str
    object: str


class Ontology(Struct, frozen=True, tag=True):
    """One document. The concept model of a node is all its ontologies together.

    `individuals` are things that the ontology names, with their classes; of the prefixes, the empty one is for bare
    names. No thing is of both classes of a pair that is `disjoint`.
    """

    name: str
    classes: Parents = ()
    properties: Parents = ()
    statements: tuple[MetaStatement, ...] = ()
    individuals: Parents = ()
    prefixes: Pairs = ()
    disjoint: Pairs = ()


XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class LiteralAt(Struct, frozen=True, tag="literal"):
    """The text at a path, which is relative to the thing that has the property; each occurrence is one literal."""

    path: str
    datatype: str = XSD_STRING


class Named(Struct, frozen=True, tag="named"):
    """A constant vertex: the thing with this IRI."""

    iri: str
    classes: tuple[str, ...] = ()


class ThingAt(Struct, frozen=True, tag="thing"):
    """A vertex for each occurrence of a path. At `iri` stands its name, if it has one."""

    path: str
    classes: tuple[str, ...]
    arcs: tuple["LiftedArc", ...] = ()
    iri: str = ""


class LiftedArc(Struct, frozen=True):
    property: str
    to: Union[LiteralAt, Named, ThingAt]  # noqa: UP007 - msgspec reads it


class Lifting(Struct, frozen=True, tag=True, cache_hash=True):
    """A mapping of XML or JSON events to event graphs: a path to a class, and paths to its properties.

    It applies to events of these types (`{namespace}local` of a payload's element, or a CloudEvents type); without
    types, to all of that syntax for which there is no other. A strict one has events refused that it cannot lift.
    """

    name: str
    syntax: Literal["xml", "json"]
    home: ThingAt
    types: tuple[str, ...] = ()
    namespaces: Pairs = ()  # of the paths' prefixes
    strict: bool = False


class Hierarchy(Struct, frozen=True, tag=True):
    """All types, or all categories of producers, each with its parents; what has none need not be there."""

    of: Literal["types", "categories"]
    parents: Parents


class Producer(Struct, frozen=True, tag=True):
    """What is declared of the producer at an address.

    `properties` is an XML document of what it can do, promises and implements (the policies of the paper's filtering
    taxonomy), `description` its description in N-Triples.
    """

    address: str
    categories: tuple[str, ...] = ()
    properties: bytes = b""
    description: bytes = b""


class Withdrawn(Struct, frozen=True, tag=True):
    """A declaration that no longer holds."""

    what: Literal["space", "producer", "ontology", "lifting"]
    name: str


Declaration = Union[InformationSpace, Hierarchy, Producer, Ontology, Lifting, Withdrawn]  # noqa: UP007 - msgspec reads it
