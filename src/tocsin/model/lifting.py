"""A declared mapping by which XML and JSON events become event graphs: a path to a class, paths to its properties."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.model.identity import Pairs

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"


class LiteralAt(Struct, frozen=True, tag="literal"):
    """The text at a path, which is relative to the thing that has the property; each occurrence is one literal."""

    path: str
    datatype: str = XSD_STRING


class Named(Struct, frozen=True, tag="named"):
    """Always the same thing, by its IRI."""

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
    """For events of these types (`{namespace}local` of a payload's element, or a CloudEvents type); without any, for
    all of that syntax that no other is for. A strict one refuses what it cannot lift, at the door."""

    name: str
    syntax: Literal["xml", "json"]
    home: ThingAt
    types: tuple[str, ...] = ()
    namespaces: Pairs = ()  # of the paths' prefixes
    strict: bool = False
