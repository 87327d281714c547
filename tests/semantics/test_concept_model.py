"""The concept model: what is above what, what is allowed, and what ontologies cannot say together (OPS s3.2)."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.pace import within

from tocsin.model.declarations import MetaStatement, Ontology, Parents
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_checks import DEEPEST
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.vocabulary import (
    ANYTHING,
    DATATYPE_PROPERTY,
    LITERAL,
    OBJECT_PROPERTY,
    RDF,
    THING,
    XSD,
)

U = "urn:x#"
PREFIXES = (("", U),)
DAML_THING = "http://www.daml.org/2001/03/daml+oil#Thing"


def parents(text: str) -> Parents:
    """`B<A` is B under A; several above are joined by `+`."""
    pairs = [each.partition("<") for each in text.split()]
    return tuple((iri(name), tuple(iri(one) for one in above.split("+") if one)) for name, _, above in pairs)


def iri(name: str) -> str:
    known = {"Thing": THING, "Literal": LITERAL, "*": ANYTHING, "OBJECT": OBJECT_PROPERTY, "DATA": DATATYPE_PROPERTY}
    if name in known:
        return known[name]
    return f"{XSD}{name.removeprefix('xsd:')}" if name.startswith("xsd:") else U + name


def ontology(
    classes: str = "",
    properties: str = "",
    statements: str = "",
    individuals: str = "",
    disjoint: str = "",
    name: str = "a",
) -> Ontology:
    said = tuple(MetaStatement(*map(iri, each.split("-"))) for each in statements.split())
    apart = tuple((iri(one), iri(other)) for one, other in (each.split("|") for each in disjoint.split()))
    return Ontology(name, parents(classes), parents(properties), said, parents(individuals), PREFIXES, apart)


def model(*args: str, **words: str) -> ConceptModel:
    return ConceptModel([ontology(*args, **words)])


def said(of: ConceptModel, name: str) -> set[str]:
    return {"-".join(map(of.short, (each.subject, each.object))) for each in of.statements_of(iri(name))}


def refused(*ontologies: Ontology) -> str:
    with pytest.raises(Refusal) as found:
        ConceptModel(ontologies)
    assert found.value.reason == "bad-ontology"
    return found.value.text


def test_no_ontology_is_no_model_but_has_what_every_model_has() -> None:
    empty = ConceptModel()
    assert not empty
    assert empty.has_class(THING) and empty.has_class(f"{XSD}string") and empty.has_class(DAML_THING)
    assert empty.has_property(f"{RDF}value") and not empty.has_property(f"{U}p")
    assert empty.allows([THING], f"{RDF}value", [f"{XSD}int"])
    assert empty.classes_above(f"{U}A") == empty.classes_above(f"{U}B") - {f"{U}B"} | {f"{U}A"}
    assert model("A")


def test_several_parents() -> None:
    of = model("A B C<A+B D<C")
    assert {iri(each) for each in "DCAB"} | {THING, DAML_THING, ANYTHING} <= of.classes_above(iri("D"))
    assert LITERAL not in of.classes_above(iri("D"))
    assert of.classes_below(iri("B")) == {iri(each) for each in "BCD"}
    assert of.classes_below(THING) >= {iri(each) for each in "ABCD"}
    assert f"{XSD}int" not in of.classes_below(THING)


@pytest.mark.parametrize(
    ("lower", "upper", "is_below"),
    [
        ("integer", "decimal", True),
        ("unsignedByte", "integer", True),
        ("decimal", "integer", False),
        ("double", "decimal", False),
        ("token", "string", True),
        ("dateTimeStamp", "dateTime", True),
    ],
)
def test_datatypes_have_their_order(lower: str, upper: str, is_below: bool) -> None:
    above = ConceptModel().classes_above(f"{XSD}{lower}")
    assert (f"{XSD}{upper}" in above) is is_below
    assert LITERAL in above and THING not in above


def test_a_string_with_a_language_is_a_string() -> None:
    assert f"{XSD}string" in ConceptModel().classes_above(f"{RDF}langString")


def test_a_declared_datatype_is_below_what_it_is_derived_from() -> None:
    of = model("age<xsd:int", "p", "*-p-xsd:decimal")
    assert of.is_datatype(iri("age")) and not of.is_datatype(iri("A"))
    assert of.allows([THING], iri("p"), [iri("age")])


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("A-p-B", {"A-B"}),
        ("", {"owl:Thing-owl:Thing", "owl:Thing-rdfs:Literal"}),
        ("A-p-*", {"A-owl:Thing", "A-rdfs:Literal"}),
        ("*-p-B", {"owl:Thing-B"}),
        ("A-p-* *-p-B", {"A-B"}),  # of two documents
        ("A-p-* C-p-* *-p-B", {"A-B", "C-B"}),
        ("A-p-B C-p-A", {"A-B", "C-A"}),
    ],
)
def test_what_is_not_stated_is_everything(statements: str, expected: set[str]) -> None:
    assert said(model("A B C", "p", statements), "p") == expected


@pytest.mark.parametrize(
    ("properties", "statements", "expected"),
    [
        ("p q<p", "A-p-B", {"A-B"}),
        ("p q<p", "A-p-B C-q-*", {"C-B"}),
        ("p q<p", "A-p-B *-q-C", {"A-C"}),
        ("p q<p", "A-p-B C-q-C", {"C-C"}),
        ("p r q<p+r", "A-p-B C-r-B", {"A-B", "C-B"}),
        ("p r<p q<r", "A-p-B", {"A-B"}),
        ("p q<p+OBJECT", "A-p-B", {"A-B"}),
        ("q<OBJECT", "", {"owl:Thing-owl:Thing"}),
        ("q<DATA", "A-q-*", {"A-rdfs:Literal"}),
        ("p<DATA q<p", "A-p-*", {"A-rdfs:Literal"}),
    ],
)
def test_a_property_takes_over_what_it_does_not_state(properties: str, statements: str, expected: set[str]) -> None:
    assert said(model("A B C", properties, statements), "q") == expected


def test_subclasses_inherit_and_vertexes_with_several_classes_need_one_that_may() -> None:
    of = model("A B<A C D", "p q<p", "A-p-C")
    assert of.allows([iri("B")], iri("q"), [iri("C")])
    assert not of.allows([iri("D")], iri("q"), [iri("C")])
    assert of.allows([iri("D"), iri("B")], iri("q"), [iri("D"), iri("C")])
    assert not of.allows([iri("B")], iri("q"), [f"{XSD}string"])
    assert not of.allows([iri("B")], iri("unknown"), [iri("C")])


def test_a_pattern_may_be_wider_than_what_is_allowed() -> None:
    of = model("A B<A C D E<C+D", "p<OBJECT q<p", "B-q-C")
    assert of.could_hold([iri("A")], iri("p"), [THING])
    assert not of.could_hold([iri("A")], iri("p"), [LITERAL])
    assert not of.could_hold([iri("D")], iri("q"), [])
    assert of.could_hold([], iri("q"), [iri("D")])  # by way of E
    assert not of.could_hold([], iri("q"), [f"{XSD}string"])


def test_individuals_of_several_ontologies() -> None:
    of = ConceptModel([ontology("A", individuals="x<A"), ontology("B", individuals="x<B", name="b")])
    assert of.classes_of(iri("x")) == (iri("A"), iri("B"))
    assert of.classes_of(iri("y")) == ()


@pytest.mark.parametrize(
    ("asked", "mentions"),
    [
        (ontology("A<B B<C C<A"), ("A", "B", "C", "above itself", "under")),
        (ontology(properties="p<q q<p"), ("p", "q", "above itself")),
        (ontology("Computer<Produkt Product"), ("Produkt", "Computer", "did you mean 'Product'")),
        (ontology("A<xsd:sting"), ("xsd:sting", "A")),
        (ontology(properties="p<q"), ("property q", "p")),
        (ontology("A", "p", "A-p-B"), ("class B", "range of p")),
        (ontology("A", "p", "B-p-A"), ("class B", "domain of p")),
        (ontology("A", "", "A-p-A"), ("property p", "A")),
        (ontology("A", individuals="x<B"), ("class B", "x is one")),
        (ontology("A", "p", "A-p-A A-p-xsd:string"), ("range of p", "xsd:string", "class of things")),
        (ontology("A B<A", "p", "A-p-A B-p-xsd:string"), ("range of p", "xsd:string", "both for B")),
        (ontology("A B<A", "p", "B-p-A A-p-xsd:string"), ("range of p", "xsd:string", "both for B")),
        (ontology("A", "p q<p", "A-p-A A-q-xsd:string"), ("range of q", "xsd:string")),
        (ontology("A", "p<OBJECT", "A-p-xsd:int"), ("p is an owl:ObjectProperty", "xsd:int")),
        (ontology("A", "p<DATA", "*-p-A"), ("p is an owl:DatatypeProperty", "A")),
        (ontology("A", "p<DATA+OBJECT"), ("p is an owl:", "is a")),
        (ontology("A", "p", "xsd:int-p-A"), ("domain of p", "xsd:int")),
        (ontology("A B<A+xsd:int"), ("B is under", "xsd:int", "A")),
        (ontology("A<Thing+Literal"), ("A is under", "rdfs:Literal")),
        (ontology("A B C<A+B", disjoint="A|B"), ("C is a A and a B", "disjoint")),
        (ontology("A B C<B", individuals="x<A+C", disjoint="A|B"), ("x is a A and a B", "disjoint")),
        (ontology("A B<A", disjoint="A|B"), ("B is a A", "disjoint")),
    ],
)
def test_what_cannot_be_is_refused_with_the_term(asked: Ontology, mentions: tuple[str, ...]) -> None:
    text = refused(asked)
    for each in mentions:
        assert each in text, text


def test_ranges_of_classes_that_have_nothing_in_common_may_differ_in_kind() -> None:
    of = model("A B", "p", "A-p-A B-p-xsd:string")
    assert of.allows([iri("B")], iri("p"), [f"{XSD}token"]) and not of.allows([iri("B")], iri("p"), [iri("A")])


def test_contradictions_between_ontologies_are_found() -> None:
    one, other = ontology("A B", disjoint="A|B"), ontology("C<A+B", name="b")
    assert "C is a" in refused(one, other)
    assert ConceptModel([one]) and "class A" in refused(other)


def test_of_a_prefix_used_twice_the_first_ontology_counts_whatever_their_order() -> None:
    one = Ontology("a", ((f"{U}A", ()),), prefixes=(("p", U), ("xsd", "urn:no#")))
    other = Ontology("b", (("urn:y#B", ()),), prefixes=(("", "urn:y#"), ("p", "urn:y#")))
    for of in (ConceptModel([one, other]), ConceptModel([other, one])):
        assert of.prefixes["p"] == U and of.prefixes["xsd"] == XSD
        assert of.named("p:A", {}) == f"{U}A"
        assert of.named("B", {}) == "urn:y#B" == of.named("<urn:y#B>", {})
        assert of.named("p:A", {"p": "urn:mine#"}) == "urn:mine#A"
        assert of.named("daml:Thing", {}) == THING
        assert (of.short(f"{U}A"), of.short("urn:y#B"), of.short("urn:z")) == ("p:A", "B", "<urn:z>")


@pytest.mark.parametrize(("text", "mentions"), [("q:A", "no prefix 'q'"), ("Computr", "did you mean 'Computer'")])
def test_a_name_that_nobody_knows_is_refused(text: str, mentions: str) -> None:
    with pytest.raises(Refusal, match=mentions):
        model("Computer").named(text, {})


HIERARCHY = st.lists(st.lists(st.integers(0, 30), max_size=3), min_size=1, max_size=12).map(
    lambda above: tuple(
        (iri(f"c{at}"), tuple({iri(f"c{each}") for each in one if each < at})) for at, one in enumerate(above)
    )
)


def reached(name: str, above: dict[str, tuple[str, ...]]) -> set[str]:
    return {name}.union(*(reached(each, above) for each in above.get(name, ())))


@settings(max_examples=examples(100))
@given(HIERARCHY, HIERARCHY, st.data())
def test_closures_and_what_is_allowed_are_as_defined(
    classes: Parents, properties: Parents, data: st.DataObject
) -> None:
    names, used = [name for name, _ in classes], [name for name, _ in properties]
    triples = st.builds(MetaStatement, st.sampled_from(names), st.sampled_from(used), st.sampled_from(names))
    statements = tuple(data.draw(st.sets(triples, max_size=5)))
    parts = [Ontology("a", classes[::2], properties), Ontology("b", classes[1::2], (), statements)]
    of = ConceptModel(data.draw(st.permutations(parts)))
    above = dict(classes)
    for name in names:
        assert {each for each in of.classes_above(name) if each.startswith(U)} == reached(name, above)
        assert of.classes_below(name) == {each for each in names if name in reached(each, above)}
    for name in used:
        assert of.properties_above(name) == reached(name, dict(properties))
    asked = data.draw(triples)
    own = [each for each in statements if each.property == asked.property]
    if own:
        expected = any(
            each.subject in reached(asked.subject, above) and each.object in reached(asked.object, above)
            for each in own
        )
        assert of.allows([asked.subject], asked.property, [asked.object]) is expected
        assert expected <= of.could_hold([asked.subject], asked.property, [asked.object])


def test_a_model_of_five_thousand_classes_is_made_at_once_and_a_deep_one_too() -> None:
    chain = [f"{U}c{number}" for number in range(5_000)]
    deep = Ontology("deep", ((chain[0], ()), *((low, (high,)) for high, low in pairwise(chain))))
    with within(2_000):
        of = ConceptModel([Ontology("less deep", deep.classes[:DEEPEST])])
        assert chain[0] in of.classes_above(chain[DEEPEST - 1])
        assert f"the class <{chain[DEEPEST]}> is {DEEPEST} levels down" in refused(deep)
    ring = Ontology("ring", (*deep.classes[1:], (chain[0], (chain[-1],))))
    assert "..." in refused(ring)
