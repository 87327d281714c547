"""The JSON documents of ontologies and liftings."""

from collections.abc import Sequence

from msgspec import Struct

from tocsin.model.declarations import Ontology, Parents
from tocsin.model.identity import SubscriptionId

ONTOLOGIES, LIFTINGS = "/api/ontologies", "/api/liftings"


class OntologySummary(Struct, frozen=True):
    """How much there is in it."""

    name: str
    classes: int
    properties: int
    statements: int
    individuals: int

    @classmethod
    def of(cls, found: Ontology) -> "OntologySummary":
        sizes = (len(each) for each in (found.classes, found.properties, found.statements, found.individuals))
        return cls(found.name, *sizes)


class OntologyDocument(Struct, frozen=True):
    """Classes and properties with those above them, individuals with their classes; all names are IRIs.

    A statement is a class, a property that it may have, and the class of the values.
    """

    name: str
    classes: dict[str, list[str]]
    properties: dict[str, list[str]]
    statements: list[tuple[str, str, str]]
    individuals: dict[str, list[str]]
    prefixes: dict[str, str]
    disjoint: list[tuple[str, str]]

    @classmethod
    def of(cls, found: Ontology) -> "OntologyDocument":
        statements = [(each.subject, each.property, each.object) for each in found.statements]
        classes, properties, individuals = map(_shown, (found.classes, found.properties, found.individuals))
        prefixes, disjoint = dict(found.prefixes), list(found.disjoint)
        return cls(found.name, classes, properties, statements, individuals, prefixes, disjoint)


class SuspendedDocument(Struct, frozen=True):
    id: str
    reason: str


class MeaningChange(Struct, frozen=True):
    """What a change of meaning does to subscriptions that stand; with `dry_run` it was not done, but would be."""

    name: str
    suspended: list[SuspendedDocument]
    dry_run: bool

    @classmethod
    def of(cls, name: str, broken: Sequence[tuple[SubscriptionId, str]], dry_run: bool) -> "MeaningChange":
        return cls(name, [SuspendedDocument(*each) for each in broken], dry_run)


class OntologyChange(MeaningChange, frozen=True):
    classes: int = 0
    properties: int = 0
    statements: int = 0
    individuals: int = 0


class LiftingSummary(Struct, frozen=True):
    name: str
    syntax: str
    types: list[str]
    strict: bool


def _shown(parents: Parents) -> dict[str, list[str]]:
    return {name: list(above) for name, above in sorted(parents)}
