"""Patterns that nothing could ever match are refused, with the term."""

import re
from importlib.resources import files
from pathlib import Path

import pytest

from tocsin.markup.graphs.queries import parse_pattern
from tocsin.markup.graphs.sparql import parse_sparql
from tocsin.model.declarations import MetaStatement, Ontology
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.ontology_documents import read_ontology
from tocsin.semantics.concepts.pattern_checks import check_query

A, XSD = "urn:a#", "http://www.w3.org/2001/XMLSchema#"
PARENTS = {
    "Event": "",
    "Selling": "Event",
    "Product": "",
    "Computer": "Product",
    "Antique": "",
    "OldComputer": "Computer Antique",
    "Money": "",
    "Person": "",
}
PROPERTIES = {"target": "", "mainTarget": "target", "price": "", "value": "", "age": "", "loose": ""}
STATEMENTS = (
    ("Event", "target", "Product"),
    ("Selling", "mainTarget", "Computer"),
    ("Event", "price", "Money"),
    ("Money", "value", "xsd:decimal"),
    ("Antique", "age", "xsd:integer"),
)


def iri(name: str) -> str:
    return XSD + name[4:] if name.startswith("xsd:") else A + name


MODEL = ConceptModel(
    (
        Ontology(
            "auction",
            (
                *((A + name, tuple(A + parent for parent in above.split())) for name, above in PARENTS.items()),
                (f"{A}Grade", ("http://www.w3.org/2000/01/rdf-schema#Literal",)),
            ),
            tuple((A + name, (A + above,) if above else ()) for name, above in PROPERTIES.items()),
            tuple(MetaStatement(*map(iri, each)) for each in STATEMENTS),
            (),
            (("", A),),
        ),
    )
)


def check(statements: str) -> None:
    check_query(parse_pattern(statements, {"": A}), MODEL)


@pytest.mark.parametrize(
    "statements",
    [
        "(_:H, ?1, (Event, target, Product))",
        "(_:H, ?1, (Selling, target, Computer))",  # below what is stated
        "(_:H, ?1, (owl:Thing, target, daml:Thing))",  # above it
        "(_:H, ?1, (*, target, *))",
        "(_:H, ?1, (Event, mainTarget, Product))",
        "(_:H, ?1, (Selling, target, Antique))",  # an OldComputer is both
        "(_:H, ?1, (Selling, target, Computer)) (?1, ?2, (Computer, age, xsd:decimal), ?2 > 3)",
        "(_:H, ?1, (*, target, *)) (?1, ?2, (*, age, *), ?2 > 3)",
        "(_:H, ?1, (Event, price, Money)) (?1, 5, (Money, value, rdfs:Literal))",
        "(_:H, ?1, (Event, price, Money)) (?1, ?2, (Money, value, xsd:int)) (?1, ?2, (Money, value, xsd:decimal))",
        "(_:H, ?1, (Event, loose, Person)) (_:H, ?2, (Event, loose, xsd:string))",  # nothing is stated of it
        "(_:H, ?1, (Person, target, *)) (_:H, ?1, (Event, target, *))",  # who means both says both
        "(_:H, <urn:it>, (Event, target, *))",
        "(_:H, ?1, (Event, loose, Grade))",
    ],
)
def test_what_may_be_there_can_be_asked_for(statements: str) -> None:
    check(statements)


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (
            "(_:H, ?1, (Sailing, target, Product))",
            "the class Sailing of _:H is in no ontology; did you mean 'Selling'?",
        ),
        ("(_:H, ?1, (Event, targets, Product))", "the property targets of _:H is in no ontology"),
        (
            "(_:H, ?1, (Event, target, Person))",
            "(_:H, ?1, (Event, target, Person)); the ontologies allow (Selling, main",
        ),
        ("(_:H, ?1, (Person, target, Product))", "nothing could ever match"),
        ("(_:H, ?1, (*, target, xsd:decimal))", "nothing could ever match"),
        ("(_:H, ?1, (*, target, *), ?1 > 3)", "nothing could ever match"),
        ("(_:H, 5, (*, target, *))", "nothing could ever match"),
        ("(_:H, <urn:it>, (*, value, *))", "nothing could ever match"),
        ("(_:H, ?1, (*, value, *)) (?1, ?2, (*, target, *))", "nothing could ever match"),
        ("(_:H, ?1, (Money, value, xsd:string))", "nothing could ever match"),
        ("(_:H, 'x', (Money, value, *))", "nothing could ever match"),
        (
            "(_:H, ?1, (*, loose, xsd:int)) (_:H, ?1, (*, loose, xsd:string))",
            "no literal can be of xsd:int and xsd:string",
        ),
        ("(_:H, 'x', (*, loose, xsd:int))", "no literal can be of xsd:int as written"),
        ("(_:H, ?1, (Event, loose, Grade)) (?1, ?2, (*, loose, *))", "has properties, and Grade is a datatype"),
        ("(_:H, ?1, (Event, loose, Grade)) (_:H, ?1, (Event, price, Grade))", "nothing could ever match"),
        ("(_:H, ?1, (Event, loose, Grade)) (?2, ?1, (Event, loose, Grade)) (_:H, ?2, (*, loose, *))", "at two arcs"),
    ],
)
def test_what_could_never_be_there_is_refused(statements: str, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        check(statements)
    assert refused.value.reason == "bad-filter" and words in refused.value.text, refused.value.text


def test_each_alternative_and_what_is_optional_must_be_possible() -> None:
    check_query(
        parse_sparql("ASK { { _:H :target ?x } UNION { _:H :price ?x } OPTIONAL { _:H :loose ?y } }", {"": A}), MODEL
    )
    for text in ("{ _:H :target ?x } UNION { _:H a :Money ; :price ?x }", "_:H a :Event OPTIONAL { _:H :value ?y }"):
        with pytest.raises(Refusal, match="nothing could ever match"):
            check_query(parse_sparql(f"ASK {{ {text} }}", {"": A}), MODEL)


def test_without_ontologies_nothing_can_be_asked_for() -> None:
    with pytest.raises(Refusal, match="is in no ontology"):
        check_query(parse_pattern("(_:H, ?1, (Event, target, Product))", {"": A}), ConceptModel())


PAGE = Path(__file__).parents[2] / "docs" / "graph-patterns.md"
DEMO = files("tocsin.semantics") / "demo" / "auction.ttl"


def test_examples_of_the_page_can_be_asked_of_the_demo() -> None:
    model = ConceptModel((read_ontology(DEMO.read_bytes(), "text/turtle", "auction"),))
    examples = re.findall(r"```(pattern|sparql)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for language, text in examples:
        parse = parse_pattern if language == "pattern" else parse_sparql
        check_query(parse(text, model.prefixes), model)
    assert len(examples) == 4
