"""What is declared to a node beside subscriptions, and what filters refer to by name."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.model.lifting import Lifting
from tocsin.model.ontology import Ontology, Parents
from tocsin.model.space import InformationSpace


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
    """Something that is declared no more."""

    what: Literal["space", "producer", "ontology", "lifting"]
    name: str


Declaration = Union[InformationSpace, Hierarchy, Producer, Ontology, Lifting, Withdrawn]  # noqa: UP007 - msgspec reads it
