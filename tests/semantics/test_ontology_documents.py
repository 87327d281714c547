"""Ontologies from documents in four syntaxes and three languages, and back to Turtle."""

from importlib.resources import files
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse, serialize
from tests.effort import examples

from tocsin.model.declarations import MetaStatement, Ontology
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.ontology_documents import SYNTAXES, read_ontology, write_ontology
from tocsin.semantics.concepts.vocabulary import (
    ANYTHING,
    DATATYPE_PROPERTY,
    LITERAL,
    OBJECT_PROPERTY,
    THING,
    XSD,
    canonical,
)
from tocsin.semantics.events.event_documents import read_events_nquads

DEMO = files("tocsin.semantics") / "demo"
U = "urn:x#"
HEAD = """
@prefix : <urn:x#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
DAML_HEAD = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:daml="http://www.daml.org/{0}/daml+oil#">"""


def turtle(text: str) -> Ontology:
    return read_ontology((HEAD + dedent(text)).encode(), "text/turtle", "x")


def auction(name: str = "auction.ttl", syntax: str = "text/turtle") -> Ontology:
    return read_ontology((DEMO / name).read_bytes(), syntax, "auction")


def classes(of: Ontology) -> dict[str, set[str]]:
    return {name.removeprefix(U): {each.removeprefix(U) for each in above} for name, above in of.classes}


def properties(of: Ontology) -> dict[str, set[str]]:
    return {name.removeprefix(U): {each.removeprefix(U) for each in above} for name, above in of.properties}


def statements(of: Ontology) -> set[tuple[str, ...]]:
    said = ((each.subject, each.property, each.object) for each in of.statements)
    return {tuple(word.removeprefix(U).replace(XSD, "xsd:") for word in each) for each in said}


def test_the_auction_of_the_paper() -> None:
    of = ConceptModel([auction()])
    base = "urn:tocsin:demo:auction#"
    assert {f"{base}Computer", f"{base}Product", THING} <= of.classes_above(f"{base}DesktopPC")
    assert f"{base}telephoneNumber" in of.properties_above(f"{base}cellPhoneNumber")
    for subject, name, value in (
        ("Selling", "seller", "Customer"),
        ("Selling", "target", "NotebookPC"),
        ("Product", "manufacture", "Company"),
        ("Customer", "name", "xsd:string"),
        ("Customer", "cellPhoneNumber", "xsd:string"),
        ("MoneyValue", "rdf:value", "xsd:integer"),
        ("DesktopPC", "contains", "HardDisk"),
    ):
        assert of.allows([of.named(subject, {})], of.named(name, {}), [of.named(value, {})])
    assert not of.allows([f"{base}Book"], f"{base}contains", [f"{base}HardDisk"])
    assert of.classes_of("urn:tocsin:demo:units#dollar") == (f"{base}Currency",)


def test_daml_oil_says_the_same() -> None:
    assert auction("auction-daml.rdf", "application/rdf+xml") == auction()


def test_the_events_of_the_demo_are_what_its_ontology_allows() -> None:
    events = dict(read_events_nquads((DEMO / "auction-events.nq").read_bytes(), ConceptModel([auction()])))
    figure = events["urn:tocsin:demo:auction:event:figure-1"]
    assert (len(events), len(figure.vertexes), len(figure.arcs)) == (6, 11, 11)


@pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda each: each.name)
def test_every_syntax_gives_the_same(syntax: RdfFormat) -> None:
    data = serialize(parse((DEMO / "auction.ttl").read_bytes(), format=RdfFormat.TURTLE), format=syntax)
    if syntax != RdfFormat.N_TRIPLES:
        data = serialize(
            parse((DEMO / "auction.ttl").read_bytes(), format=RdfFormat.TURTLE),
            format=syntax,
            prefixes={"": "urn:tocsin:demo:auction#", "units": "urn:tocsin:demo:units#"}
            if syntax != RdfFormat.JSON_LD
            else {"units": "urn:tocsin:demo:units#"},
        )
    found = read_ontology(data or b"", syntax.file_extension, "auction")
    expected = auction()
    for field in ("classes", "properties", "statements", "individuals", "disjoint"):
        assert getattr(found, field) == getattr(expected, field)
    assert ("", "urn:tocsin:demo:auction#") in found.prefixes  # of N-Triples by the ontology's own name


def test_the_order_of_triples_does_not_matter() -> None:
    lines = (
        serialize(parse((DEMO / "auction.ttl").read_bytes(), format=RdfFormat.TURTLE), format=RdfFormat.N_TRIPLES)
        or b""
    ).splitlines()
    one, other = (read_ontology(b"\n".join(each), "nt", "x") for each in (lines, lines[::-1]))
    assert one == other


def test_what_is_only_mentioned_is_not_defined() -> None:
    found = turtle(":A rdfs:subClassOf :B . :p rdfs:subPropertyOf :q ; rdfs:range :C .")
    assert classes(found) == {"A": {"B"}}
    assert properties(found) == {"p": {"q"}}
    assert statements(found) == {(ANYTHING, "p", "C")}


def test_domains_and_ranges_are_combined() -> None:
    found = turtle(":p a rdf:Property ; rdfs:domain :A , :B ; rdfs:range xsd:int , xsd:string .")
    assert statements(found) == {(one, "p", two) for one in "AB" for two in ("xsd:int", "xsd:string")}
    assert statements(turtle(":p a rdf:Property ; rdfs:domain rdfs:Resource .")) == set()


@pytest.mark.parametrize(
    ("kind", "above"),
    [
        ("owl:ObjectProperty", {OBJECT_PROPERTY}),
        ("owl:TransitiveProperty", {OBJECT_PROPERTY}),
        ("owl:DatatypeProperty", {DATATYPE_PROPERTY}),
        ("owl:FunctionalProperty", set()),
        ("rdf:Property", set()),
    ],
)
def test_kinds_of_properties(kind: str, above: set[str]) -> None:
    assert properties(turtle(f":p a {kind} .")) == {"p": above}


def test_what_a_property_does_not_state_its_inverse_may() -> None:
    found = turtle(":p rdfs:domain :A ; rdfs:range :B . :q owl:inverseOf :p . :r owl:inverseOf :p ; rdfs:range :C .")
    assert statements(found) == {("A", "p", "B"), ("B", "q", "A"), ("B", "r", "C")}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("owl:allValuesFrom :B", {"B"}),
        ("owl:someValuesFrom :B", {"B"}),
        ("owl:someValuesFrom [ owl:unionOf ( :B :C ) ]", {"B", "C"}),
        ("owl:allValuesFrom [ owl:complementOf :B ]", {THING}),
        ("owl:allValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:int ]", {"xsd:int"}),
        ("owl:allValuesFrom [ a owl:DataRange ; owl:oneOf ( 1 2 ) ]", {"xsd:integer"}),
        ("owl:onClass :B ; owl:maxQualifiedCardinality 1", {"B"}),
        ("owl:hasValue 5", {"xsd:integer"}),
        ("owl:hasValue :b", {"B"}),
        ("owl:hasValue :unknown", {THING}),
        ("owl:maxCardinality 1", set()),
    ],
)
def test_restrictions_are_meta_statements(value: str, expected: set[str]) -> None:
    found = turtle(f":A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty :p ; {value} ] . :b a :B .")
    assert statements(found) == {("A", "p", each) for each in expected}


def test_restrictions_within_what_a_class_equals() -> None:
    found = turtle(
        """
        :A owl:equivalentClass [ owl:intersectionOf ( :B _:r ) ] .
        _:r a owl:Restriction ; owl:onProperty :p ; owl:someValuesFrom :C .
        """
    )
    assert classes(found) == {"A": {"B"}}
    assert statements(found) == {("A", "p", "C")}


def test_expressions_of_classes() -> None:
    found = turtle(
        """
        :A owl:unionOf ( :B :C ) .
        :D owl:equivalentClass [ owl:unionOf ( :E ) ] .
        :F rdfs:subClassOf [ owl:unionOf ( :A :D ) ] .
        :G owl:oneOf ( :g :h ) .
        :I rdfs:subClassOf [ owl:complementOf :A ] .
        :J owl:disjointUnionOf ( :K :L ) .
        :M rdfs:subClassOf :M , rdfs:Resource .
        :N a rdfs:Datatype . :O a rdfs:Datatype ; owl:equivalentClass [ a rdfs:Datatype ; owl:onDatatype xsd:int ] .
        [] a owl:AllDisjointClasses ; owl:members ( :P :Q :R ) .
        """
    )
    nothing = set[str]()
    assert classes(found) == {
        **dict.fromkeys("AFGIJM", nothing),
        "B": {"A"},
        "C": {"A"},
        "D": nothing,
        "E": {"D"},
        "K": {"J"},
        "L": {"J"},
        "N": {LITERAL},
        "O": {f"{XSD}int"},
    }
    assert found.individuals == ((f"{U}g", (f"{U}G",)), (f"{U}h", (f"{U}G",)))
    assert {tuple(each.removeprefix(U) for each in pair) for pair in found.disjoint} == {
        ("A", "I"), ("K", "L"), ("P", "Q"), ("P", "R"), ("Q", "R"),
    }  # fmt: skip


def test_what_equals_another_is_a_cycle() -> None:
    with pytest.raises(Refusal, match="above itself"):
        ConceptModel([turtle(":A a owl:Class ; owl:equivalentClass :B . :B a owl:Class .")])


def test_expressions_that_lead_into_themselves_end() -> None:
    found = turtle(
        "_:a owl:intersectionOf _:a ; rdf:first _:a ; rdf:rest _:a . :A rdfs:subClassOf _:a . :p rdfs:domain _:a ."
    )
    assert classes(found) == {"A": set()}


def test_individuals_have_the_classes_that_are_stated() -> None:
    found = turtle(":a a :A , owl:NamedIndividual . :b a owl:Thing . :c a owl:NamedIndividual . :A a owl:Class .")
    assert dict(found.individuals) == {f"{U}a": (f"{U}A",), f"{U}b": (THING,), f"{U}c": (THING,)}


@pytest.mark.parametrize("year", ["2001/03", "2000/12"])
def test_both_versions_of_daml_oil(year: str) -> None:
    data = f"""{DAML_HEAD.format(year)}
      <daml:Class rdf:ID="A"><daml:subClassOf rdf:resource="http://www.daml.org/{year}/daml+oil#Thing"/></daml:Class>
      <daml:UnambiguousProperty rdf:ID="p"><daml:range rdf:resource="#A"/></daml:UnambiguousProperty>
      <daml:Class rdf:ID="B"><daml:subClassOf><daml:Restriction><daml:onProperty rdf:resource="#p"/>
        <daml:hasClass rdf:resource="#A"/></daml:Restriction></daml:subClassOf></daml:Class></rdf:RDF>"""
    of = ConceptModel([read_ontology(data.encode(), "rdf", "my own")])
    assert of.named("A", {}) == "urn:tocsin:ontology:my%20own#A"
    assert {of.short(each.subject) for each in of.statements_of(of.named("p", {}))} == {"B", "owl:Thing"}


def test_bare_names_are_below_the_default_namespace_else_the_name_of_the_ontology() -> None:
    assert dict(turtle(":A a owl:Class .").prefixes) == {"": U}
    named = "<urn:me> a <http://www.w3.org/2002/07/owl#Ontology> ."
    assert read_ontology(named.encode(), "ttl", "x").prefixes == (("", "urn:me#"),)
    assert read_ontology(b"<urn:a> <urn:b> <urn:c> .", "nt", "x").prefixes == ()
    linked = b'{"@context": [{"@vocab": "urn:v#", "p": "urn:p:"}], "@id": "p:a", "@type": "A"}'
    assert read_ontology(linked, "jsonld", "x").prefixes == (("", "urn:v#"), ("p", "urn:p:"))


@pytest.mark.parametrize(
    ("data", "syntax", "reason"),
    [
        (b"<urn:a> <urn:b>", "text/turtle", "malformed"),
        (b"", "text/csv", "malformed"),
        (b"{", "application/ld+json", "malformed"),
        (b'{"@context": "http://127.0.0.1/c", "a": 1}', "application/ld+json", "malformed"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a/>', "application/rdf+xml", "malformed"),
        (b"[" * 100_000, "application/ld+json", "malformed"),
        (b"<urn:a> <urn:b> " + b"(" * 100_000, "text/turtle", "malformed"),
        (b"<urn:a> <urn:b> " + b"<< " * 100_000, "text/turtle", "malformed"),
        (b"#" * (17 << 20), "text/turtle", "too-large"),
        (b"@prefix a: <urn:%b> .\n%b" % (b"a" * 1_000_000, b"a:b a:c a:d .\n" * 200), "text/turtle", "too-large"),
        (
            (
                ":p rdfs:domain %s ; rdfs:range %s ." % ((",".join(f":c{number}" for number in range(500)),) * 2)
            ).encode(),
            "text/turtle",
            "too-large",
        ),
    ],
)
def test_what_cannot_be_read_is_refused(data: bytes, syntax: str, reason: str) -> None:
    head = HEAD.encode() if data.startswith(b":") else b""
    with pytest.raises(Refusal) as found:
        read_ontology(head + data, syntax, "x")
    assert found.value.reason == reason


@settings(max_examples=examples(200))
@given(st.binary(max_size=80), st.sampled_from([each.media_type for each in SYNTAXES]))
def test_any_bytes_are_read_or_refused(data: bytes, syntax: str) -> None:
    try:
        read_ontology(data, syntax, "x")
    except Refusal as refusal:
        assert refusal.reason == "malformed"


NODES = st.sampled_from(
    [
        ":a",
        ":b",
        ":c",
        ":p",
        "_:x",
        "_:y",
        "_:z",
        "owl:Thing",
        "owl:Class",
        "owl:Restriction",
        "owl:ObjectProperty",
        "owl:DatatypeProperty",
        "rdfs:Literal",
        "rdfs:Datatype",
        "rdfs:Resource",
        "rdf:Property",
        "rdf:value",
        "rdf:nil",
        "xsd:int",
        "1",
        "true",
    ]
)
WORDS = st.sampled_from(
    [
        "a",
        "rdfs:subClassOf",
        "rdfs:subPropertyOf",
        "rdfs:domain",
        "rdfs:range",
        "rdf:first",
        "rdf:rest",
        "owl:intersectionOf",
        "owl:unionOf",
        "owl:oneOf",
        "owl:complementOf",
        "owl:onProperty",
        "owl:allValuesFrom",
        "owl:hasValue",
        "owl:equivalentClass",
        "owl:onDatatype",
        "owl:equivalentProperty",
        "owl:inverseOf",
        "owl:disjointWith",
        "owl:disjointUnionOf",
    ]
)
SUBJECT = NODES.filter(lambda each: ":" in each)


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(SUBJECT, WORDS, NODES), max_size=15))
def test_any_triples_are_read_and_make_a_model_or_are_refused(triples: list[tuple[str, str, str]]) -> None:
    found = turtle("\n".join(f"{' '.join(each)} ." for each in triples))
    assert read_ontology(write_ontology(found), "ttl", "x") is not None
    try:
        ConceptModel([found])
    except Refusal as refusal:
        assert refusal.reason == "bad-ontology"


TERMS = [f"{U}{name}" for name in "abcd"] + ["urn:other:e", "urn:y/f%20g"]
NAMES = st.sampled_from([*TERMS, f"{XSD}int", THING])
USED = [f"{U}p", f"{U}q"]
SUBJECTS = st.sampled_from([*TERMS, THING, ANYTHING])  # a literal has no properties
SAID = st.builds(MetaStatement, SUBJECTS, st.sampled_from(USED), NAMES | st.just(ANYTHING))


@settings(max_examples=examples(200))
@given(st.lists(st.sets(NAMES, max_size=2), min_size=6, max_size=6), st.sets(SAID, max_size=5))
def test_what_is_written_is_read_again(above: list[set[str]], said: set[MetaStatement]) -> None:
    listed = tuple((name, tuple(sorted(each - {name}))) for name, each in zip(TERMS, above, strict=True))
    used = ((USED[0], ()), (USED[1], (OBJECT_PROPERTY, USED[0])))
    asked = Ontology("x", listed, used, tuple(sorted(said)), prefixes=(("", U),))
    once = read_ontology(write_ontology(asked), "ttl", "x")
    assert read_ontology(write_ontology(once), "ttl", "x") == once
    assert (dict(once.classes), once.properties) == (dict(listed), used)
    assert outcome(once) == outcome(asked)


def outcome(asked: Ontology) -> object:
    try:
        of = ConceptModel([asked])
    except Refusal as refusal:
        return refusal.reason
    return [of.statements_of(name) for name in USED]


def test_the_demo_is_written_and_read_again() -> None:
    written = write_ontology(auction())
    assert read_ontology(written, "ttl", "auction") == auction()
    assert b":NotebookPC a owl:Class ;\n    rdfs:subClassOf :Computer , :Portable ." in written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("http://www.daml.org/2001/03/daml+oil#Thing", THING),
        ("http://www.daml.org/2000/12/daml+oil#toClass", "http://www.w3.org/2002/07/owl#allValuesFrom"),
        ("http://www.w3.org/2000/10/XMLSchema#decimal", f"{XSD}decimal"),
        ("http://www.w3.org/1999/XMLSchema#anySimpleType", LITERAL),
        ("urn:a", "urn:a"),
    ],
)
def test_older_terms_are_their_equals_of_today(old: str, new: str) -> None:
    assert canonical(old) == new
