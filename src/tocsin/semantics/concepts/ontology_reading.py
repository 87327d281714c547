"""Ontologies from documents of RDFS, OWL and DAML+OIL."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

import msgspec
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse

from tocsin.markup import xml
from tocsin.model.identity import Pairs
from tocsin.model.ontology import Ontology
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_draft import Draft
from tocsin.semantics.concepts.ontology_vocabulary import DAML, OWL, RDF, RDFS, USUAL_PREFIXES, XSD, canonical
from tocsin.semantics.descriptions import check_depth
from tocsin.semantics.interest.rdf_facts import Facts, guard

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
