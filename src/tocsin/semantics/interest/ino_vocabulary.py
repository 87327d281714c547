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

TYPE = NamedNode(f"{RDF}type")
LABEL = NamedNode(f"{RDFS}label")
COMMENT = NamedNode(f"{RDFS}comment")
SUBCLASS = NamedNode(f"{RDFS}subClassOf")
SUBPROPERTY = NamedNode(f"{RDFS}subPropertyOf")
RDFS_CLASS = NamedNode(f"{RDFS}Class")
CLASS = NamedNode(f"{OWL}Class")
ONTOLOGY = NamedNode(f"{OWL}Ontology")
OBJECT_PROPERTY = NamedNode(f"{OWL}ObjectProperty")
ON_PROPERTY = NamedNode(f"{OWL}onProperty")
SOME_VALUES = NamedNode(f"{OWL}someValuesFrom")
CONCEPT = NamedNode(f"{SKOS}Concept")
BROADER = NamedNode(f"{SKOS}broader")
PREFERRED = NamedNode(f"{SKOS}prefLabel")

TOPIC = NamedNode(f"{INO}Topic")  # the class of topics; in an edge `ino:topic` is the property
SERVICE = NamedNode(f"{INO}Service")
INTEREST = NamedNode(f"{INO}Interest")
FROM, ON_TOPIC, TO = (NamedNode(f"{INO}{word}") for word in ("from", "topic", "to"))
PROPOSED_BY, WHEN = NamedNode(f"{INO}proposedBy"), NamedNode(f"{INO}when")
SUPPORT, CONFIDENCE, LIFT = (NamedNode(f"{INO}{word}") for word in ("support", "confidence", "lift"))
VOTE, BY, AGREES = (NamedNode(f"{INO}{word}") for word in ("vote", "by", "agrees"))
OWNER, POLICY = NamedNode(f"{INO}owner"), NamedNode(f"{INO}policy")
QUALITY, NAME, VALUE = (NamedNode(f"{INO}{word}") for word in ("quality", "name", "value"))
TELLS, TOLD = NamedNode(f"{INO}tells"), NamedNode(f"{INO}service")
ADDRESSES = {field: NamedNode(f"{INO}{field}") for field in ("notifier", "node", "address", "dialect")}
QUORUM, INHERITS = NamedNode(f"{INO}quorum"), NamedNode(f"{INO}inherits")


def named(kind: str, name: str) -> NamedNode:
    return NamedNode(f"{WORLD}:{kind}:{quote(name, safe='')}")


def name_in(iri: str) -> str:
    """What an IRI is called when no label says it: one of ours is unquoted, of another the last part is taken."""
    last = iri.rstrip("#/:")
    for mark in "#/:":
        last = last.rpartition(mark)[2]
    return unquote(last)
