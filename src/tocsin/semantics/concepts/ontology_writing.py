"""Ontologies as Turtle for people to read; what is read from it again is the same."""

import re
from collections.abc import Iterable, Iterator

from pyoxigraph import NamedNode

from tocsin.model.ontology import MetaStatement, Ontology
from tocsin.semantics.concepts.ontology_vocabulary import (
    ANYTHING,
    DATATYPE_PROPERTY,
    LITERAL,
    OBJECT_PROPERTY,
    OWL,
    RDF,
    RDFS,
    USUAL_PREFIXES,
    XSD,
)

_PREFIX = re.compile(r"(?:[A-Za-z][A-Za-z0-9_-]*)?")
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS = {OBJECT_PROPERTY: "owl:ObjectProperty", DATATYPE_PROPERTY: "owl:DatatypeProperty"}
_OURS = {prefix: space for prefix, space in USUAL_PREFIXES.items() if space in (RDF, RDFS, OWL, XSD)}


def write_ontology(ontology: Ontology) -> bytes:
    """A property with one set of domains and one of ranges states these; otherwise classes restrict it."""
    return "\n".join(_Writer(ontology).lines()).encode()


class _Writer:
    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        own = {prefix: space for prefix, space in ontology.prefixes if _PREFIX.fullmatch(prefix)}
        self._prefixes = {**own, **_OURS}
        self._by_space = {space: prefix for prefix, space in reversed(list(self._prefixes.items()))}
        self._domains: dict[str, set[str]] = {}
        self._ranges: dict[str, set[str]] = {}
        self._restrictions: dict[str, dict[str, set[str]]] = {}  # class -> property -> classes of values
        by_property: dict[str, list[MetaStatement]] = {}
        for each in ontology.statements:
            by_property.setdefault(each.property, []).append(each)
        for name, statements in by_property.items():
            self._share_out(name, statements)

    def lines(self) -> Iterator[str]:
        for prefix, space in sorted(self._prefixes.items()):
            yield f"@prefix {prefix}: {NamedNode(space)} ."
        defined = dict(self._ontology.classes)
        for name in sorted({*defined, *self._restrictions, *(one for one, _ in self._ontology.disjoint)}):
            yield from self._class(name, defined.get(name))
        known = dict(self._ontology.properties)
        for name in sorted({*known, *self._domains, *self._ranges}):
            yield from self._property(name, known.get(name, ()))
        for name, classes in self._ontology.individuals:
            yield from self._said(name, [("a", self._names(classes or (f"{OWL}NamedIndividual",)))])
        yield ""

    def _share_out(self, name: str, statements: list[MetaStatement]) -> None:
        whole = [each for each in statements if ANYTHING not in (each.subject, each.object)]
        domains = {each.subject for each in whole}
        ranges = {each.object for each in whole}
        if len(whole) < len(statements) or len(domains) * len(ranges) != len(whole):
            for each in whole:
                self._restrictions.setdefault(each.subject, {}).setdefault(name, set()).add(each.object)
            domains = {each.subject for each in statements if each.object == ANYTHING != each.subject}
            ranges = {each.object for each in statements if each.subject == ANYTHING != each.object}
        self._domains[name], self._ranges[name] = domains, ranges

    def _class(self, name: str, parents: tuple[str, ...] | None) -> Iterator[str]:
        said = []
        if parents is not None:
            is_plain_datatype = parents == (LITERAL,)
            said.append(("a", "rdfs:Datatype" if is_plain_datatype else "owl:Class"))
            said += [("rdfs:subClassOf", self._names(parents))] if parents and not is_plain_datatype else []
        for property_, values in sorted(self._restrictions.get(name, {}).items()):
            restriction = f"owl:onProperty {self._name(property_)} ; owl:allValuesFrom {self._union(values)}"
            said.append(("rdfs:subClassOf", f"[ a owl:Restriction ; {restriction} ]"))
        apart = [other for one, other in self._ontology.disjoint if one == name]
        said += [("owl:disjointWith", self._names(apart))] if apart else []
        return self._said(name, said)

    def _property(self, name: str, parents: tuple[str, ...]) -> Iterator[str]:
        kinds = [_KINDS[each] for each in parents if each in _KINDS]
        above = [each for each in parents if each not in _KINDS]
        said = [("a", " , ".join(kinds) or "rdf:Property")]
        said += [("rdfs:subPropertyOf", self._names(above))] if above else []
        for word, classes in (("rdfs:domain", self._domains), ("rdfs:range", self._ranges)):
            said += [(word, self._union(classes[name]))] if classes.get(name) else []
        return self._said(name, said)

    def _said(self, name: str, said: list[tuple[str, str]]) -> Iterator[str]:
        yield ""
        for at, (word, value) in enumerate(said):
            start = f"{self._name(name)} " if at == 0 else "    "
            yield f"{start}{word} {value} {'.' if at == len(said) - 1 else ';'}"

    def _union(self, classes: set[str]) -> str:
        if len(classes) == 1:
            return self._name(*classes)
        return f"[ a owl:Class ; owl:unionOf ( {' '.join(map(self._name, sorted(classes)))} ) ]"

    def _names(self, names: Iterable[str]) -> str:
        return " , ".join(map(self._name, names))

    def _name(self, iri: str) -> str:
        at = max(iri.rfind(mark) for mark in "#/:") + 1
        if (prefix := self._by_space.get(iri[:at])) is not None and _LOCAL.fullmatch(iri[at:]):
            return f"{prefix}:{iri[at:]}"
        return str(NamedNode(iri))
