"""What cannot be declared, and why; how it is kept."""

from typing import Literal

import pytest
from msgspec.structs import replace

from tocsin.broker.declarations import checks
from tocsin.broker.declarations.checks import boxes_in, check_among, formed, graphs_in, is_known
from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Producer, ThingAt, Withdrawn
from tocsin.model.filters import NOTHING, AllOf, AnyOf, Graph, InBox, Not, TypeIs
from tocsin.model.refusal import Refusal
from tocsin.model.space import WHOLE, Dimension, InformationSpace
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.producers import WorldProducers

SPACE = InformationSpace("weather", (Dimension("place", "string"),))
PRODUCER = Producer("http://p/", ("hospital",), b"<p/>")
SERVICES = WorldProducers().update({"s": Service("s", ("x",), address="http://s")})
(SERVICE,) = (each for each in SERVICES.values() if each)


def known(*what: Declaration) -> Catalogue:
    return Catalogue(what)


def checked(what: Declaration, around: Catalogue) -> Declaration:
    check_among(kept := formed(what), around)
    return kept


def refused(what: Declaration, said: str, around: Catalogue | None = None) -> str:
    with pytest.raises(Refusal, match=said) as refusal:
        checked(what, around or Catalogue())
    return refusal.value.reason


def test_what_is_well_is_kept() -> None:
    for what in (SPACE, PRODUCER):
        assert checked(what, Catalogue()) == what
    assert checked(Withdrawn("space", "weather"), known(SPACE)) == Withdrawn("space", "weather")


def test_a_hierarchy_is_kept_in_one_order_without_what_says_nothing() -> None:
    said = Hierarchy("types", (("b", ("a", "c", "a")), ("a", ()), ("aa", ("c",))))
    assert checked(said, Catalogue()) == Hierarchy("types", (("aa", ("c",)), ("b", ("a", "c"))))


def test_a_description_is_kept_as_triples_and_categories_once() -> None:
    said = Producer("http://p/", ("b", "a", "b"), description=b"<> a <urn:Z> .")
    found = checked(said, Catalogue())
    assert isinstance(found, Producer) and found.categories == ("b", "a")
    assert found.description.startswith(b"<http://p/> <") and found.description.endswith(b"<urn:Z> .\n")
    relative = checked(Producer("/s", description=b"<#me> a <urn:Z> ."), Catalogue())
    assert isinstance(relative, Producer) and b"<urn:tocsin:producer#me>" in relative.description


def test_a_cycle_is_shown() -> None:
    said = refused(Hierarchy("types", (("a", ("b",)), ("b", ("c",)), ("c", ("a",)))), "a -> b -> c -> a")
    assert said == "malformed"
    assert refused(Hierarchy("categories", (("a", ("a",)),)), "a category cannot be above itself") == "malformed"


@pytest.mark.parametrize("name", ["", " a", "a\n", "x" * 513, "\x00"])
def test_a_name_is_one(name: str) -> None:
    assert refused(Hierarchy("types", ((name, ("a",)),)), "cannot name a type") == "malformed"
    assert refused(Hierarchy("types", (("a", (name,)),)), "cannot name a type") == "malformed"
    assert refused(Producer("http://p", (name,)), "cannot name a category") == "malformed"


def test_a_category_may_have_spaces_in_its_name_and_a_type_may_not() -> None:
    assert refused(Hierarchy("types", (("a b", ("c",)),)), "'a b' cannot name a type: types are asked") == "malformed"
    assert refused(Hierarchy("types", (("c", ("a b",)),)), "'a b' cannot name a type") == "malformed"
    categories = Hierarchy("categories", (("fire department", ("first aid",)),))
    assert checked(categories, Catalogue()) == categories


def test_a_description_is_bounded_as_it_is_kept() -> None:
    said = b"@prefix p: <urn:%s> . <> p:a %s ." % (b"x" * 20_000, b",".join(b"p:%d" % each for each in range(1_500)))
    assert refused(Producer("p", description=said), "more than 262,144 bytes") == "too-large"


@pytest.mark.parametrize("address", ["", "http://a b", "x" * 2049, "http://a\n", "http://a\x00", "a\x7f", "a\x9b"])
def test_an_address_is_one(address: str) -> None:
    assert refused(Producer(address), "cannot be a producer's address") == "malformed"


def test_all_is_bounded() -> None:
    assert refused(Hierarchy("types", tuple((f"t{n}", ()) for n in range(50_001))), "at most 50,000") == "too-large"
    assert refused(Hierarchy("types", (("t", tuple(map(str, range(65)))),)), "65 parents") == "too-large"
    assert refused(Producer("p", tuple(map(str, range(65)))), "65 categories") == "too-large"
    much = b"x" * (256 << 10) + b"x"
    for each in (Producer("p", properties=much), Producer("p", description=much)):
        assert refused(each, "at most 262,144 are kept") == "too-large"


def test_of_spaces_and_producers_there_are_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MOST_SPACES", 1)
    monkeypatch.setattr(checks, "MOST_PRODUCERS", 1)
    around = known(SPACE, PRODUCER)
    assert refused(InformationSpace("other", SPACE.dimensions), "withdraw one first", around) == "too-large"
    assert refused(Producer("other"), "withdraw one first", around) == "too-large"
    for again in (SPACE, PRODUCER):
        assert checked(again, around) == again


@pytest.mark.parametrize("properties", [b"<p>", b"no", b'<!DOCTYPE p [<!ENTITY e "e">]><p>&e;</p>', b"<p/><p/>"])
def test_properties_are_xml(properties: bytes) -> None:
    assert refused(Producer("http://p", properties=properties), "the properties of 'http://p'") == "malformed"


def test_services_are_of_the_world_alone() -> None:
    assert refused(SERVICE, "services of the world alone") == "malformed"
    assert refused(Withdrawn("producer", "http://s"), "service of the world", known(SERVICE)) == "in-use"


def test_what_is_not_there_cannot_be_withdrawn() -> None:
    assert refused(Withdrawn("space", "whether"), "did you mean 'weather'", known(SPACE)) == "unknown-name"
    assert refused(Withdrawn("producer", "http://q"), "no producer 'http://q'", known(PRODUCER)) == "unknown-name"


def test_a_space_is_checked() -> None:
    assert refused(InformationSpace("weather", ()), "dimension")


def test_what_is_known_already() -> None:
    types, categories = Hierarchy("types", (("a", ("b",)),)), Hierarchy("categories", (("c", ("d",)),))
    around = known(SPACE, PRODUCER, types, categories)
    for what in (SPACE, PRODUCER, types, categories, Withdrawn("space", "x"), Withdrawn("producer", "x")):
        assert is_known(what, around)
    assert not is_known(Producer("http://p/"), around) and not is_known(Hierarchy("types", ()), around)
    assert not is_known(Withdrawn("space", "weather"), around)
    assert not is_known(Withdrawn("producer", "http://p/"), around)


def test_boxes_are_found_wherever_they_stand() -> None:
    one, two, three = (InBox(name, (WHOLE,)) for name in "abc")
    asked = (TypeIs(("t",)), one, AllOf((AnyOf((two, NOTHING)), Not(three))))
    assert list(boxes_in(asked)) == [one, two, three]


ONTOLOGY, LIFTING = Ontology("o"), Lifting("l", "xml", ThingAt(".", ("urn:c",)))


@pytest.mark.parametrize("what", [ONTOLOGY, LIFTING])
def test_meaning_is_known_by_its_name(what: Ontology | Lifting) -> None:
    kind: Literal["ontology", "lifting"] = "ontology" if isinstance(what, Ontology) else "lifting"
    assert checked(what, Catalogue()) == what
    assert is_known(what, known(what)) and not is_known(what, Catalogue())
    gone = Withdrawn(kind, what.name)
    assert checked(gone, known(what)) == gone
    assert is_known(gone, Catalogue()) and not is_known(gone, known(what))
    assert refused(gone, f"there is no {kind} '{what.name}'") == "unknown-name"
    for name in ("", "a/b", "-a", " ", "a" * 129):
        assert refused(replace(what, name=name), "cannot name a") == "malformed"


def test_there_is_room_for_some(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_ONTOLOGIES", "MOST_LIFTINGS", "MOST_TERMS", "MOST_STATEMENTS"):
        monkeypatch.setattr(checks, limit, 1)
    assert refused(Ontology("p"), "there are 1 ontologies already", known(ONTOLOGY)) == "too-large"
    assert refused(replace(LIFTING, name="m"), "there are 1 liftings already", known(LIFTING)) == "too-large"
    assert checked(ONTOLOGY, known(ONTOLOGY)) == ONTOLOGY
    two = (("urn:a", ()), ("urn:b", ()))
    assert refused(Ontology("o", classes=two), "2 classes; at most 1") == "too-large"


def test_graphs_are_found_wherever_they_are() -> None:
    graph = Graph("pattern", "(_:H, ?1, (*, <urn:p>, *))")
    assert list(graphs_in((AllOf((graph, TypeIs(("t",)))), Not(AnyOf((graph,)))))) == [graph, graph]
