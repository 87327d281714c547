"""The RDF vocabulary of the world: our own terms, and those of RDFS, OWL and SKOS used with them."""

from urllib.parse import quote, unquote

from pyoxigraph import NamedNode

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
XSD = "http://www.w3.org/2001/XMLSchema#"
INO = "urn:tocsin:ino#"
WORLD = "urn:tocsin:world"
PREFIXES = {
    "rdfs": RDFS,
    "owl": OWL,
    "skos": SKOS,
    "xsd": XSD,
    "ino": INO,
    "category": f"{WORLD}:category:",
    "topic": f"{WORLD}:topic:",
    "service": f"{WORLD}:service:",
}
RESERVED = (RDF, RDFS, OWL, SKOS, XSD, INO)


def _terms(space: str, words: str) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(f"{space}{word}") for word in words.split())


(TYPE,) = _terms(RDF, "type")
LABEL, COMMENT, SUBCLASS, SUBPROPERTY, RDFS_CLASS = _terms(RDFS, "label comment subClassOf subPropertyOf Class")
CLASS, ONTOLOGY, OBJECT_PROPERTY = _terms(OWL, "Class Ontology ObjectProperty")
ON_PROPERTY, SOME_VALUES = _terms(OWL, "onProperty someValuesFrom")
CONCEPT, BROADER, PREFERRED = _terms(SKOS, "Concept broader prefLabel")
TOPIC, SERVICE, INTEREST = _terms(INO, "Topic Service Interest")  # classes; in an edge `ino:topic` is the property
FROM, ON_TOPIC, TO, PROPOSED_BY, WHEN = _terms(INO, "from topic to proposedBy when")
SUPPORT, CONFIDENCE, LIFT, VOTE, BY, AGREES = _terms(INO, "support confidence lift vote by agrees")
OWNER, POLICY, QUALITY, NAME, VALUE = _terms(INO, "owner policy quality name value")
TELLS, TOLD, QUORUM, INHERITS = _terms(INO, "tells service quorum inherits")
ADDRESSES = {field: NamedNode(f"{INO}{field}") for field in ("notifier", "node", "address", "dialect")}


def named(kind: str, name: str) -> NamedNode:
    return NamedNode(f"{WORLD}:{kind}:{quote(name, safe='')}")


def name_in(iri: str) -> str:
    """What an IRI is called when no label says it: one of ours is unquoted, of another the last part is taken."""
    last = iri.rstrip("#/:")
    for mark in "#/:":
        last = last.rpartition(mark)[2]
    return unquote(last)
