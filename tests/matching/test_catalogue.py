"""What was declared, by name: ontologies and liftings."""

import pytest

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, ThingAt, Withdrawn

HOME = ThingAt("$", ("urn:A",))
TYPES = Hierarchy("types", (("c", ("b",)), ("b", ("a",)), ("d", ("a",))))


def ontology(name: str, *classes: str) -> Ontology:
    return Ontology(name, tuple((each, ()) for each in classes))


def test_concepts_are_of_all_ontologies_and_change_with_them_alone() -> None:
    known = Catalogue()
    assert not known.concepts
    known.declare(ontology("x", "urn:A"))
    known.declare(ontology("y", "urn:B"))
    first = known.concepts
    assert first.has_class("urn:A") and first.has_class("urn:B")
    known.declare(TYPES)
    assert known.concepts is first
    known.declare(ontology("x", "urn:C"))
    assert not known.concepts.has_class("urn:A") and known.concepts.has_class("urn:C")
    known.declare(Withdrawn("ontology", "x"))
    assert not known.concepts.has_class("urn:C") and known.concepts.has_class("urn:B")
    assert first.has_class("urn:A")


def test_copies_share_concepts_even_those_made_later() -> None:
    known = Catalogue([ontology("x", "urn:A")])
    one, other = known.copy(), known.copy()
    assert one.concepts is other.concepts is known.concepts
    one.declare(ontology("y", "urn:B"))
    assert one.concepts.has_class("urn:B") and not other.concepts.has_class("urn:B")


def test_withdrawing_takes_what_is_meant_and_nothing_else_of_that_name() -> None:
    known = Catalogue([ontology("x", "urn:A"), Lifting("x", "json", HOME)])
    known.declare(Withdrawn("lifting", "x"))
    assert set(known.ontologies) == {"x"} and not known.liftings
    known.declare(Withdrawn("space", "x"))
    known.declare(Withdrawn("producer", "x"))
    assert set(known.ontologies) == {"x"}


@pytest.mark.parametrize(
    ("type_", "syntax", "name"),
    [
        ("a", "json", "of a"),
        ("b", "json", "of b"),
        ("c", "json", "of b"),  # nearer than a
        ("d", "json", "of a"),
        ("e", "json", "of all"),
        (None, "json", "of all"),
        ("a", "xml", "of xml"),
        ("b", "xml", "of xml"),
        ("e", "xml", None),
    ],
)
def test_the_lifting_for_a_type_is_the_nearest(type_: str | None, syntax: str, name: str | None) -> None:
    declared: list[Declaration] = [
        TYPES,
        Lifting("of all", "json", HOME),
        Lifting("of a", "json", HOME, ("a",)),
        Lifting("of b", "json", HOME, ("x", "b")),
        Lifting("of b again", "json", HOME, ("b",)),
        Lifting("of xml", "xml", HOME, ("a",)),
    ]
    for order in (declared, declared[::-1]):
        found = Catalogue(order).lifting_for(type_, syntax)
        assert (found and found.name) == name


def test_a_lifting_is_asked_anew_when_types_change() -> None:
    known = Catalogue([Lifting("of a", "json", HOME, ("a",))])
    assert known.lifting_for("b", "json") is None
    known.declare(TYPES)
    assert known.lifting_for("b", "json") == known.liftings["of a"] == known.copy().lifting_for("b", "json")
