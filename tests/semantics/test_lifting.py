"""The examples of docs/lifting.md, and what a lifting may say."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from lxml import etree
from tests.semantics.events import AUCTION, NOTHING_DECLARED, XSD, A

from tocsin.model.declarations import LiftedArc, Lifting, LiteralAt, Named, ThingAt
from tocsin.model.refusal import Refusal
from tocsin.semantics.events import lifting as lifting_module
from tocsin.semantics.events.event_documents import read_event
from tocsin.semantics.events.event_graph import EventGraph
from tocsin.semantics.events.lifting import check_lifting, lift
from tocsin.semantics.events.lifting_json import lifting_of_json

PAGE = (Path(__file__).parents[2] / "docs" / "lifting.md").read_text()
EXAMPLES = [re.findall(r"```(?:\w+)\n(.*?)```", part, re.DOTALL) for part in PAGE.split("\n## ")[2:]]
CAP, ONVIF, CLOUD_EVENT = EXAMPLES


def of_xml(text: str, lifting: Lifting) -> EventGraph:
    return lift(etree.fromstring(text), lifting, NOTHING_DECLARED)


def of_json(value: object, lifting: Lifting, attributes: Mapping[str, str] = {}) -> EventGraph:
    return lift(value, lifting, NOTHING_DECLARED, attributes)


def a_lifting(text: str) -> Lifting:
    return lifting_of_json(text.encode(), "example", {})


def literals(graph: EventGraph) -> list[str]:
    return [each.lexical for each in graph.vertexes if each.lexical is not None]


@pytest.mark.parametrize("example", [CAP, ONVIF])
def test_an_example_in_xml(example: list[str]) -> None:
    lifting, event, graph = example
    assert_same(of_xml(event, a_lifting(lifting)), graph)


def test_the_example_in_json() -> None:
    lifting, event, graph = CLOUD_EVENT
    read = json.loads(event)
    assert_same(of_json(read.pop("data"), a_lifting(lifting), read), graph)


def assert_same(found: EventGraph, turtle: str) -> None:
    told = read_event(turtle.encode(), "text/turtle", NOTHING_DECLARED)
    assert set(found.vertexes) == set(told.vertexes)
    assert said(found) == said(told)


def said(graph: EventGraph) -> set[tuple[str, str, str]]:
    return {(graph.vertexes[arc.source].term, arc.property, graph.vertexes[arc.target].term) for arc in graph.arcs}


def one(path: str, syntax: str = "xml", datatype: str = XSD + "string") -> Lifting:
    arc = LiftedArc("urn:x:p", LiteralAt(path, datatype))
    home = ThingAt("." if syntax == "xml" else "$", ("urn:x:C",), (arc,))
    return Lifting("one", "xml" if syntax == "xml" else "json", home, namespaces=(("n", "urn:n"),))


@pytest.mark.parametrize(
    ("path", "syntax", "says"),
    [
        ("", "xml", "it is empty"),
        ("b/", "xml", "the path 'b/', position 2"),
        ("m:b", "xml", "the prefix m is not declared"),
        ("a.b", "json", "begins with $"),
    ],
)
def test_paths_that_are_none(path: str, syntax: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_lifting(one(path, syntax), NOTHING_DECLARED)
    assert refused.value.reason == "bad-lifting"
    assert "the lifting 'one'" in refused.value.text
    assert says in refused.value.text


@pytest.mark.parametrize(
    ("datatype", "text"),
    [
        ("decimal", " 4.50\n"),
        ("integer", "-3"),
        ("boolean", "true"),
        ("dateTime", "2026-01-02T03:04:05+01:00"),
        ("duration", "P1DT2H"),
        ("time", "10:00:00"),
        ("gYear", "2026"),
        ("hexBinary", "0aFF"),
        ("anyURI", "x y"),
    ],
)
def test_texts_of_datatypes(datatype: str, text: str) -> None:
    assert literals(of_xml(f"<a><b>{text}</b></a>", one("b", "xml", XSD + datatype))) == [text.strip()]


@pytest.mark.parametrize(
    ("datatype", "text"),
    [
        ("decimal", "4,5"),
        ("decimal", ""),
        ("unsignedByte", "256"),
        ("boolean", "yes"),
        ("dateTime", "2026-02-30T00:00:00"),
        ("date", "soon"),
        ("duration", "P"),
        ("duration", "P1DT"),
        ("hexBinary", "a"),
        ("base64Binary", "abc"),
        ("language", "x_y"),
    ],
)
def test_texts_that_a_datatype_does_not_have(datatype: str, text: str) -> None:
    with pytest.raises(Refusal) as refused:
        of_xml(f"<a><b>{text}</b></a>", one("b", "xml", XSD + datatype))
    assert f"the lifting 'one': at 'b' stands {text!r}, which is no xsd:{datatype}" in refused.value.text


@pytest.mark.parametrize(
    ("value", "datatype", "text"),
    [
        (4.0, "integer", "4"),
        (4.0, "decimal", "4.0"),
        (1e-7, "decimal", "0.0000001"),
        (1e30, "double", "1e+30"),
        (10**20, "integer", str(10**20)),
        (False, "boolean", "false"),
        (2.5, "string", "2.5"),
        ('a"\\\n\u0007é', "string", 'a"\\\n\u0007é'),
    ],
)
def test_numbers_and_truths_of_json(value: object, datatype: str, text: str) -> None:
    assert literals(of_json({"v": value}, one("$.v", "json", XSD + datatype))) == [text]


@pytest.mark.parametrize(
    ("value", "says"), [({"v": {}}, "an object or array"), ({"v": [1]}, r"[*]"), ({"v": "\ud800"}, "surrogate")]
)
def test_what_is_no_literal_of_json(value: object, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        of_json(value, one("$.v", "json"))
    assert says in refused.value.text


def test_things_of_one_name_are_one_vertex() -> None:
    thing = ThingAt("b", ("urn:x:D",), (LiftedArc("urn:x:q", LiteralAt(".")),), iri="@i")
    lifting = Lifting("names", "xml", ThingAt(".", ("urn:x:C",), (LiftedArc("urn:x:p", thing),)))
    graph = of_xml("<a><b i='urn:x:1'>x</b><b i='urn:x:1'>y</b><b>z</b></a>", lifting)
    assert [each.term for each in graph.vertexes] == ["_:H", "<urn:x:1>", "_:b3", '"x"', '"y"', '"z"']
    with pytest.raises(Refusal, match="at '@i' stands 'no iri', which is no IRI"):
        of_xml("<a><b i='no iri'/></a>", lifting)


def test_an_attribute_may_be_a_thing_and_home_may_have_a_name() -> None:
    links = LiftedArc(
        "urn:x:link", ThingAt("b/@i", ("urn:x:D",), (LiftedArc("urn:x:home", Named("urn:x:h")),), iri=".")
    )
    named = lift(
        etree.fromstring("<a><b i='urn:x:1'/></a>"),
        Lifting("l", "xml", ThingAt(".", ("urn:x:C",), (links,), iri="$id")),
        NOTHING_DECLARED,
        {"id": "urn:x:h"},
    )
    assert [each.term for each in named.vertexes] == ["<urn:x:h>", "<urn:x:1>"]


def test_home_is_found_once() -> None:
    lifting = Lifting("homes", "xml", ThingAt("b", ("urn:x:C",)))
    assert of_xml("<a><b/></a>", lifting).vertexes[0].term == "_:H"
    for text, number in (("<a/>", 0), ("<a><b/><b/></a>", 2)):
        with pytest.raises(Refusal, match=f"where {number} stand"):
            of_xml(text, lifting)


def test_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifting_module, "_MOST_TEXT", 100)
    with pytest.raises(Refusal, match="more than 100 characters"):
        of_xml(f"<a><b>{'x' * 101}</b></a>", one("b"))
    monkeypatch.setattr(lifting_module, "MOST_VERTEXES", 3)
    things = Lifting("many", "xml", ThingAt(".", ("urn:x:C",), (LiftedArc("urn:x:p", ThingAt("b", ("urn:x:D",))),)))
    with pytest.raises(Refusal, match="more than 3 vertexes"):
        of_xml("<a><b/><b/><b/></a>", things)


def auction(*arcs: LiftedArc, classes: tuple[str, ...] = (A + "Selling",)) -> Lifting:
    return Lifting("auction", "xml", ThingAt(".", classes, arcs))


@pytest.mark.parametrize(
    ("lifting", "says"),
    [
        (auction(classes=(A + "Seling",)), "the class Seling of the vertex at '.' is in no ontology"),
        (auction(classes=()), "the thing at '.' has no class"),
        (auction(LiftedArc(A + "sells", LiteralAt("x"))), "the property sells of the vertex at '.'"),
        (auction(LiftedArc(A + "seller", LiteralAt("x"))), "cannot have seller with the literal at 'x' (xsd:string)"),
        (auction(LiftedArc(A + "seller", Named(A + "IBM"))), "(Company); allowed: (Selling, seller, Customer)"),
        (auction(LiftedArc("no iri", LiteralAt("x"))), "'no iri' is no IRI"),
        (
            auction(LiftedArc(A + "name", LiteralAt("x", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"))),
            "language",
        ),
    ],
)
def test_what_a_lifting_cannot_say(lifting: Lifting, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        check_lifting(lifting, AUCTION)
    assert refused.value.reason == "bad-lifting"
    assert says in refused.value.text


def test_a_lifting_that_the_model_allows() -> None:
    made_by = LiftedArc(A + "manufacture", Named(A + "IBM"))
    price = LiftedArc(A + "price", LiteralAt("price", XSD + "integer"))
    lifting = auction(LiftedArc(A + "target", ThingAt("pc", (A + "Desktop",), (price, made_by))))
    check_lifting(lifting, AUCTION)
    graph = lift(etree.fromstring("<a><pc><price>450</price></pc></a>"), lifting, AUCTION)
    assert [each.term for each in graph.vertexes] == ["_:H", "_:b1", f'"450"^^<{XSD}integer>', f"<{A}IBM>"]
    assert graph.vertexes[3].classes == (A + "Company",)


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("{", "not readable as JSON"),
        ("{}", "missing required field `syntax`"),
        ('{"syntax": "yaml"}', "$.syntax"),
        ('{"syntax": "xml", "klass": "x"}', "klass"),
        ('{"syntax": "xml", "properties": {"x:p": {"path": 1}}}', "$.properties"),
        ('{"syntax": "xml", "class": "x:C"}', "class: 'x:C' has a prefix that is not declared"),
        ('{"syntax": "xml", "class": "C"}', "class: 'C' has no prefix"),
        ('{"syntax": "xml", "properties": {"a:p": {}}}', "properties.a:p: it has neither a path nor a name"),
        (
            '{"syntax": "xml", "properties": {"a:p": ["x", {"named": "a:x", "path": "y"}]}}',
            "properties.a:p[1]: what is",
        ),
        ('{"syntax": "xml", "properties": {"a:p": {"path": "x", "class": "a:C", "datatype": "xsd:int"}}}', "keep one"),
        (
            '{"syntax": "xml", "properties": {"a:p": {"path": "x", "class": "a:C", "properties": {"b:q": "."}}}}',
            "properties.a:p.properties.b:q: 'b:q'",
        ),
    ],
)
def test_documents_that_are_no_lifting(document: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        lifting_of_json(document.encode(), "example", {"a": A})
    assert says in refused.value.text


def test_names_in_a_document() -> None:
    document = {
        "syntax": "json",
        "class": ["a:B", "<urn:x:C>", "http://example.org/D", "urn:x:E"],
        "types": ["t"],
        "prefixes": {"": "urn:own#"},
        "properties": {"p": "@.x", "a:q": [{"path": "@.y", "datatype": "xsd:int"}, {"named": "a:z", "class": "C"}]},
    }
    assert lifting_of_json(json.dumps(document).encode(), "names", {"a": A, "": "urn:other#"}) == Lifting(
        "names",
        "json",
        ThingAt(
            "$",
            (A + "B", "urn:x:C", "http://example.org/D", "urn:x:E"),
            (
                LiftedArc("urn:own#p", LiteralAt("@.x")),
                LiftedArc(A + "q", LiteralAt("@.y", XSD + "int")),
                LiftedArc(A + "q", Named(A + "z", ("urn:own#C",))),
            ),
        ),
        ("t",),
    )
