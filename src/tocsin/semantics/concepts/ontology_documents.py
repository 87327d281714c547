"""Reads ontologies from RDFS, OWL and DAML+OIL documents, and writes them as Turtle."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

import msgspec
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse

from tocsin.markup import xml
from tocsin.model.declarations import MetaStatement, Ontology
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_draft import Draft
from tocsin.semantics.concepts.vocabulary import (
    ANYTHING,
    DAML,
    DATATYPE_PROPERTY,
    LITERAL,
    OBJECT_PROPERTY,
    OWL,
    RDF,
    RDFS,
    USUAL_PREFIXES,
    XSD,
    canonical,
)
from tocsin.semantics.rdf import Facts, check_depth, guard

MOST_BYTES = 16 << 20
MOST_WRITTEN = 128 << 20  # bytes of all terms: a few words may stand for much, by prefixes
SYNTAXES = (RdfFormat.TURTLE, RdfFormat.RDF_XML, RdfFormat.JSON_LD, RdfFormat.N_TRIPLES)
ONTOLOGY = NamedNode(f"{OWL}Ontology")
_VOCABULARIES = (RDF, RDFS, OWL, XSD, *DAML)
# The older form of rdf:parseType="Collection"; the parser would take what is in it for a text.
_DAML_COLLECTION = re.compile(rb"""(parseType\s*=\s*)(["'])daml:collection\2""")


def read_ontology(data: bytes, syntax: str, name: str) -> Ontology:
    """`syntax` is a media type or a file's ending. The same document gives the same value.

    Labels, comments, numbers of values, and what else of OWL a concept model has no use for are passed over.
    Restrictions add to what is allowed, and take nothing away. What is imported (owl:imports) is not fetched, but
    declared on its own. Relative names without a base are below one of ours.
    """
    form = format_of(syntax)
    if len(data) > MOST_BYTES:
        raise Refusal("too-large", f"the ontology {name!r} has more than {MOST_BYTES:,} bytes; take it apart")
    base = f"urn:tocsin:ontology:{quote(name, safe='')}"
    try:
        _guard(data, form)
        facts, prefixes = _parsed(data, form, base)
    except (SyntaxError, ValueError) as problem:
        raise Refusal("malformed", f"the ontology {name!r} is not readable as {form.name}: {problem}") from None
    return Draft(facts).finished(name, _prefixes(prefixes, facts, base))


def format_of(syntax: str) -> RdfFormat:
    named = syntax.partition(";")[0].strip().lower()
    found = RdfFormat.from_media_type(named) or RdfFormat.from_extension(named.lstrip("."))
    if found not in SYNTAXES:
        known = ", ".join(each.media_type for each in SYNTAXES)
        raise Refusal("malformed", f"an ontology cannot be {syntax[:80]!r}; it is one of {known}")
    return found


def _guard(data: bytes, form: RdfFormat) -> None:
    guard(data, form)
    if form in (RdfFormat.TURTLE, RdfFormat.JSON_LD):
        check_depth(data)


def _parsed(data: bytes, form: RdfFormat, base: str) -> tuple[Facts, dict[str, str]]:
    if form == RdfFormat.RDF_XML:
        data = _DAML_COLLECTION.sub(rb"\1\2Collection\2", data)
    reader = parse(data, format=form, base_iri=base)
    facts = Facts(_canonical(reader))
    if form == RdfFormat.RDF_XML:
        return facts, {prefix or "": space for prefix, space in xml.parse(data).nsmap.items()}
    return facts, {**reader.prefixes, **_vocabulary(data)} if form == RdfFormat.JSON_LD else reader.prefixes


def _vocabulary(data: bytes) -> dict[str, str]:
    """JSON-LD's default namespace, which the parser does not tell; the last one counts (JSON-LD 1.1 s4.1)."""
    try:
        document = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return {}
    contexts = document.get("@context") if isinstance(document, dict) else None
    listed = contexts if isinstance(contexts, list) else [contexts]
    stated = [each.get("@vocab") for each in listed if isinstance(each, dict)]
    spaces = [each for each in stated if isinstance(each, str) and ":" in each]
    return {"": spaces[-1]} if spaces else {}


def _canonical(quads: Iterable[Quad]) -> Iterator[Quad]:
    known: dict[str, NamedNode] = {}
    size = 0

    def one(term: object) -> object:
        nonlocal size
        if isinstance(term, BlankNode):
            return term
        if isinstance(term, Literal):
            return term
        if not isinstance(term, NamedNode):
            raise ValueError("a triple within a triple; an ontology has none")
        size += len(term.value)
        if (found := known.get(term.value)) is None:
            found = known[term.value] = NamedNode(canonical(term.value))
        return found

    for each in quads:
        yield Quad(one(each.subject), one(each.predicate), one(each.object))  # type: ignore[arg-type]
        if size > MOST_WRITTEN:
            raise Refusal(
                "too-large", f"the names of the ontology have more than {MOST_WRITTEN:,} bytes; use shorter ones"
            )


def _prefixes(said: dict[str, str], facts: Facts, base: str) -> Pairs:
    """Bare names are below the default namespace, else below the ontology's own name, if it has one."""
    made = {prefix: space for prefix, space in said.items() if prefix not in USUAL_PREFIXES and prefix != "xml"}
    if made.get("", RDF) in _VOCABULARIES:
        made.pop("", None)
        if (own := _own_name(facts, base)) is not None:
            made[""] = own if own.endswith(("#", "/")) else f"{own}#"
    return tuple(sorted(made.items()))


def _own_name(facts: Facts, base: str) -> str | None:
    names = sorted(node.value for node in facts if isinstance(node, NamedNode))
    named = [each for each in names if facts.is_a(NamedNode(each), ONTOLOGY)]
    return next(iter(named), base if any(each.startswith(f"{base}#") for each in names) else None)


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
