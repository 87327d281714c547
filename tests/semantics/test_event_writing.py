"""What is written is what is read again."""

import pytest
from hypothesis import given, settings
from lxml import etree
from pyoxigraph import RdfFormat, parse
from tests.effort import examples
from tests.semantics.events import NOTHING_DECLARED, TYPE, A, canonical, event_graphs

from tocsin.model.refusal import Refusal
from tocsin.semantics.events.event_documents import MEDIA_TYPES, Syntax, read_event, read_events_nquads, write_event
from tocsin.semantics.events.event_graph import EventGraph, graph_of

PREFIXES = {"": A, "xsd": "http://www.w3.org/2001/XMLSchema#", "no prefix": "urn:x:"}
TEXTUAL: tuple[Syntax, ...] = ("turtle", "n-triples", "n-quads", "json-ld")


def graph(*more: tuple[str, str, str]) -> EventGraph:
    return graph_of((("_:H", f"<{TYPE}>", f"<{A}Selling>"), *more), NOTHING_DECLARED.classes_of)


@pytest.mark.parametrize("syntax", TEXTUAL)
@settings(max_examples=examples(60), deadline=None)
@given(written=event_graphs())
def test_what_is_written_is_read_again(syntax: Syntax, written: EventGraph) -> None:
    again = read_event(write_event(written, syntax, PREFIXES), MEDIA_TYPES[syntax], NOTHING_DECLARED)
    assert set(again.vertexes) == set(written.vertexes)
    assert canonical(again) == canonical(written)


@settings(max_examples=examples(60), deadline=None)
@given(written=event_graphs(xml=True))
def test_rdf_xml_is_read_again_by_two_parsers(written: EventGraph) -> None:
    data = write_event(written, "rdf-xml", PREFIXES)
    assert canonical(read_event(data, MEDIA_TYPES["rdf-xml"], NOTHING_DECLARED)) == canonical(written)
    by_lxml = etree.tostring(etree.fromstring(data), encoding="UTF-8")
    assert canonical(read_event(by_lxml, MEDIA_TYPES["rdf-xml"], NOTHING_DECLARED)) == canonical(written)


def test_turtle_is_for_people() -> None:
    price = '"450"^^<http://www.w3.org/2001/XMLSchema#integer>'
    data = write_event(graph(("_:H", f"<{A}price>", price)), "turtle", {"": A})
    assert data.decode().split() == ["@prefix", ":", f"<{A}>", ".", "_:H", "a", ":Selling", ";", ":price", "450", "."]


def test_the_name_of_the_graph_makes_it_one_of_many() -> None:
    both = write_event(graph(), "n-quads", name="urn:e:1") + write_event(graph(), "n-quads", name="urn:e:2")
    assert [name for name, _ in read_events_nquads(both, NOTHING_DECLARED)] == ["urn:e:1", "urn:e:2"]
    named = write_event(graph(), "json-ld", name="urn:e:1")
    assert {str(each.graph_name) for each in parse(named, format=RdfFormat.JSON_LD)} == {"<urn:e:1>"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("_:H", f"<{A}name>", '"\\u0007"'), "a character that XML cannot hold"),
        (("_:H", "<http://example.org/1>", '"x"'), "<http://example.org/1> does not end in a name of XML"),
    ],
)
def test_what_xml_cannot_say_is_refused(more: tuple[str, str, str], why: str) -> None:
    with pytest.raises(Refusal, match="RDF/XML") as refused:
        write_event(graph(more), "rdf-xml")
    assert why in refused.value.text


def test_a_label_that_is_no_name_of_xml_is_another_there() -> None:
    event = graph(("_:H", f"<{A}seller>", "_:0a"), ("_:0a", f"<{TYPE}>", f"<{A}Customer>"))
    assert b'"n1"' in write_event(event, "rdf-xml")
