"""What is declared to a node beside subscriptions, and what filters refer to by name."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.model.space import InformationSpace

Parents = tuple[tuple[str, tuple[str, ...]], ...]


class Hierarchy(Struct, frozen=True, tag=True):
    """All types, or all categories of producers, each with its parents; what has none need not be there."""

    of: Literal["types", "categories"]
    parents: Parents


class Producer(Struct, frozen=True, tag=True):
    """What is known of who sends from an address.

    `properties` is an XML document that says what it can do, promises and implements (the policies of the paper's
    filtering taxonomy), `description` its description in N-Triples.
    """

    address: str
    categories: tuple[str, ...] = ()
    properties: bytes = b""
    description: bytes = b""


class Withdrawn(Struct, frozen=True, tag=True):
    """A space or a producer that is declared no more."""

    what: Literal["space", "producer"]
    name: str


Declaration = Union[InformationSpace, Hierarchy, Producer, Withdrawn]  # noqa: UP007 - msgspec reads it
