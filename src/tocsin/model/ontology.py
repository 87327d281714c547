"""A concept model as it is declared (OPS s3.2): classes, properties, and what may be said of what."""

from msgspec import Struct

from tocsin.model.identity import Pairs

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
