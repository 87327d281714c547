"""Event graphs at the door: what says to be RDF must be an event that the ontologies allow."""

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import SMALL, Evidence, read_once
from tocsin.model.declarations import Lifting
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.semantics.events.event_documents import syntax_of
from tocsin.semantics.events.event_graph import check_event

_RDF_XML, _ROOT = "application/rdf+xml", "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}RDF"


def takes_long(told: Notification, known: Catalogue) -> bool:
    """Too long for the loop: a mebibyte of RDF is read in seconds."""
    return len(told.payload.data) > SMALL and (bool(known.liftings) or _may_be_rdf(told))


def check_event_graph(told: Notification, known: Catalogue, unknown_properties: bool = False) -> None:
    """Nothing is asked of RDF while no ontology is declared, nor of what no strict lifting is for."""
    evidence = Evidence(told, known)
    if known.ontologies and _may_be_rdf(told):
        media_type = _rdf_type(evidence)
        if media_type is not None:
            graph = read_once(told.payload.data, media_type, known.concepts)
            check_event(graph, known.concepts, unknown_properties)
            return
    lifting = _strict(evidence, known)
    if lifting is not None and evidence.no_graph:
        raise Refusal("bad-event-graph", f"{evidence.no_graph}; the lifting {lifting.name!r} is strict")


def _may_be_rdf(told: Notification) -> bool:
    """XML is parsed only when it may be."""
    return syntax_of(told.payload.media_type) is not None or b"RDF" in told.payload.data


def _rdf_type(evidence: Evidence) -> str | None:
    media_type = evidence.notification.payload.media_type
    if syntax_of(media_type) is not None:
        return media_type
    return _RDF_XML if evidence.document is not None and evidence.document.tag == _ROOT else None


def _strict(evidence: Evidence, known: Catalogue) -> Lifting | None:
    told = evidence.notification
    if not known.liftings or not (evidence.is_xml or "json" in told.payload.media_type):
        return None
    kind = None if told.type is None else str(told.type)
    found = known.lifting_for(kind, "xml" if evidence.is_xml else "json")
    return found if found is not None and found.strict else None
