"""RDF and OWL: what is written here, what others wrote, what is refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import world_rdf
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import demo

PREFIXES = """
@prefix : <http://example.org/disaster#> .
@prefix ino: <urn:tocsin:ino#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
CLASSES = ":A a owl:Class . :B a owl:Class ; rdfs:subClassOf :A ."


def read(text: str) -> tuple[Change, ...]:
    return world_rdf.read((PREFIXES + text).encode(), "turtle")


def world(text: str) -> World:
    return World.of(read(text))


def test_the_labelled_graph_of_the_paper() -> None:
    """Categories are classes, a topic is a property, an edge is a triple; services are individuals (s3.1)."""
    made = world(
        CLASSES
        + """
        :disasterInfo a owl:ObjectProperty ; rdfs:label "Disaster Info" .
        :quake a owl:ObjectProperty ; rdfs:subPropertyOf :disasterInfo .
        :A :quake :B .
        :IDER a owl:NamedIndividual, :A .
        :CARE a :B ; :locatedIn :Geneva .
        """
    )
    assert dict(made.topics.items()) == {"Disaster Info": None, "quake": "Disaster Info"}
    assert dict(made.categories.items()) == {"A": None, "B": "A"}
    assert made.edges == {("A", "quake", "B"): Edge("A", "quake", "B")}
    assert made.neighbours("IDER", "Disaster Info") == ("CARE",)


def test_an_edge_as_a_restriction() -> None:
    made = world(
        CLASSES
        + """:T a owl:ObjectProperty . :size a owl:DatatypeProperty .
        :A rdfs:subClassOf owl:Thing, [a owl:Restriction ; owl:onProperty :T ; owl:someValuesFrom :B],
            [a owl:Restriction ; owl:onProperty :size ; owl:maxCardinality 1] ."""
    )
    assert list(made.edges) == [("A", "T", "B")]
    assert made.categories.parent("A") is None


@pytest.mark.parametrize(
    "topics",
    [
        ":Quake a skos:Concept ; skos:broader :Disaster . :Disaster a skos:Concept .",
        ":Quake a ino:Topic ; skos:broader :Disaster . :Disaster a ino:Topic .",
        ":Quake a owl:Class ; rdfs:subClassOf :Disaster . :Disaster a owl:Class ; rdfs:subClassOf ino:Topic .",
        ":Quake a owl:ObjectProperty ; rdfs:subPropertyOf :Disaster . :Disaster a owl:ObjectProperty .",
    ],
)
def test_topics_as_others_write_them(topics: str) -> None:
    made = world(CLASSES + topics + "[] a ino:Interest ; ino:from :A ; ino:topic :Quake ; ino:to :B .")
    assert dict(made.topics.items()) == {"Quake": "Disaster", "Disaster": None}
    assert set(made.categories) == {"A", "B"}
    assert list(made.edges) == [("A", "Quake", "B")]


def test_names_come_from_labels_or_else_from_the_ends_of_iris() -> None:
    made = world(
        """
        <http://example.org/c/Relief%20Orgs> a owl:Class .
        <urn:tocsin:world:category:News%20Media> a owl:Class .
        <#Local> a owl:Class .
        :A a owl:Class ; rdfs:label "Behörden"@de, "Authorities"@en, "Public bodies" .
        """
    )
    assert set(made.categories) == {"Relief Orgs", "News Media", "Local", "Public bodies"}


def test_all_that_is_known_of_an_edge_and_a_service() -> None:
    changes = read(
        CLASSES
        + """
        :A ino:owner "ann" . :T a ino:Topic .
        <urn:tocsin:world> a owl:Ontology ; ino:quorum 2 ; ino:inherits "categories" .
        :S a ino:Service, :A, :B ; ino:policy "p" ; ino:quality [ino:name "price" ; ino:value 2.5] ;
            ino:tells [ino:topic :T ; ino:service :R] ; ino:address <http://s.example/> ; ino:dialect "wsn-1.3" .
        :R a :A .
        [] a ino:Interest ; ino:from :A ; ino:topic :T ; ino:to :B ; ino:proposedBy "eve" ; ino:support 0.5 ;
            ino:when "1970-01-01T01:00:01.5+01:00"^^xsd:dateTime ; rdfs:comment "seen" ;
            ino:vote [ino:by "bob" ; ino:agrees false ; ino:when 7] .
        """
    )
    assert changes == (
        PutRules(inherit_categories=True, quorum=2),
        PutTopic("T"),
        PutCategory("A", owner="ann"),
        PutCategory("B", "A"),
        PutService(Service("S", ("A", "B"), {"price": 2.5}, ("p",), {}, "", "", "http://s.example/", "wsn-1.3")),
        PutService(Service("R", ("A",))),
        PutService(
            Service("S", ("A", "B"), {"price": 2.5}, ("p",), {"T": "R"}, "", "", "http://s.example/", "wsn-1.3")
        ),
        PutEdge(
            Edge(
                *("A", "T", "B", "eve", Instant(1_500_000_000), (Vote("bob", False, Instant(7)),)),
                support=0.5,
                note="seen",
            )
        ),
    )


def test_what_is_said_twice_is_said_once() -> None:
    assert read(CLASSES + CLASSES) == read(CLASSES)


TOPIC = ":T a owl:ObjectProperty ."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing of a world"),
        (":x :y :z .", "nothing of a world"),
        (CLASSES + ":A rdfs:subClassOf :B .", "category taxonomy has a cycle"),
        (":A a ino:Topic ; skos:broader :A .", "topic taxonomy has a cycle"),
        (":A a owl:Class ; rdfs:subClassOf :B .", "#A>: there is no category 'B'"),
        (":A a owl:Class ; rdfs:subClassOf :B, :C . :B a owl:Class . :C a owl:Class .", "under B and C; keep one"),
        (CLASSES + TOPIC + ":A :T :C .", "#C> has an edge and is no category"),
        (CLASSES + TOPIC + ":C :T :A .", "#C> has an edge and is no category"),
        (CLASSES + "[] a ino:Interest ; ino:from :A ; ino:topic :T ; ino:to :B .", "A -T-> B: there is no topic 'T'"),
        (CLASSES + TOPIC + "[] a ino:Interest ; ino:from :A ; ino:topic :T .", "needs ino:to"),
        (CLASSES + TOPIC + '[] a ino:Interest ; ino:from "A" ; ino:topic :T ; ino:to :B .', "needs ino:from"),
        (CLASSES + TOPIC + "[] a ino:Interest ; ino:from :A, :B ; ino:topic :T ; ino:to :B .", "ino:from 2 times"),
        (CLASSES + TOPIC + ":A :T :B . [] a ino:Interest ; ino:from :A ; ino:topic :T ; ino:to :B .", "stands already"),
        (CLASSES + ":S a ino:Service .", "service 'S' has no category"),
        (CLASSES + ":S a ino:Service, :C .", "there is no category 'C'"),
        (CLASSES + "[] a :A .", "neither IRI nor rdfs:label"),
        (CLASSES + '<urn:other:B> a owl:Class ; rdfs:label "A" .', "<urn:other:B>: category 'A' stands already"),
        (CLASSES + ":S a :A ; ino:quality [ino:name 'q' ; ino:value 'INF'] .", "'INF'; write a number"),
        (CLASSES + ":S a :A ; ino:quality [ino:name 'q'] .", "needs an ino:value"),
        (CLASSES + ":S a :A ; ino:tells [ino:topic :T] .", "needs ino:service"),
        (":O a owl:Ontology ; ino:quorum 0 . " + CLASSES, "a quorum of 0"),
        (":O a owl:Ontology ; ino:quorum 1.5 . " + CLASSES, "write a whole number"),
        (":O a owl:Ontology ; ino:inherits 'all' . " + CLASSES, "topics, categories"),
    ],
)
def test_what_contradicts_itself_is_named(text: str, said: str) -> None:
    with pytest.raises(Refusal, match=said):
        read(text)


@pytest.mark.parametrize(
    ("vote", "said"),
    [
        ("ino:by 'bob'", "ino:agrees, true or false"),
        ("ino:agrees true", "a vote needs a name"),
        ("ino:by 'bob' ; ino:agrees true ; ino:when 'soon'", "'soon'; write an xsd:dateTime"),
        ("ino:by 'bob' ; ino:agrees true ; ino:when '9999999999999999999999'", "write an xsd:dateTime"),
        ("ino:by [] ; ino:agrees true", "ino:by needs a text"),
    ],
)
def test_a_vote_that_is_none(vote: str, said: str) -> None:
    with pytest.raises(Refusal, match=said):
        read(CLASSES + TOPIC + f"[] a ino:Interest ; ino:from :A ; ino:topic :T ; ino:to :B ; ino:vote [{vote}] .")


def test_what_cannot_be_parsed_says_the_line() -> None:
    with pytest.raises(Refusal, match=r"not readable as Turtle: .* line 3") as refused:
        world_rdf.read(b"@prefix : <urn:x:> .\n\n:A :b oops .\n", "turtle")
    assert refused.value.reason == "malformed"


@pytest.mark.parametrize(
    "data",
    [b"", b"<a>", b"<rdf:RDF/>", b"\xff", b'<!DOCTYPE r [<!ENTITY a "aaaa">]><r>&a;</r>', b"<!-- <!DOCTYPE --><r/>"],
)
def test_xml_that_is_no_rdf(data: bytes) -> None:
    with pytest.raises(Refusal, match="not readable as RDF/XML"):
        world_rdf.read(data, "rdf-xml")


def test_entities_are_not_expanded() -> None:
    layers = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))
    bomb = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY e0 "ha">{layers}]><r>&e9;</r>'
    with pytest.raises(Refusal, match="a DOCTYPE is not allowed; save it without entities, or as Turtle"):
        world_rdf.read(bomb.encode(), "rdf-xml")


@pytest.mark.parametrize("syntax", ["turtle", "n-triples"])
def test_triples_within_triples_do_not_end_the_process(syntax: world_rdf.Syntax) -> None:
    deep = 100_000
    data = b"<a:a> <a:b> " + b"<<( <a:a> <a:b> " * deep + b"<a:c>" + b" )>>" * deep + b" ."
    with pytest.raises(Refusal, match="triples are quoted"):
        world_rdf.read(data, syntax)


def test_what_xml_cannot_hold_is_not_written_as_xml() -> None:
    made = World.of([PutCategory("A"), PutService(Service("S", ("A",), policies=("\x01",)))])
    assert World.of(world_rdf.read(world_rdf.write(made, "turtle"), "turtle")).services == made.services
    with pytest.raises(Refusal, match="write it as Turtle"):
        world_rdf.write(made, "rdf-xml")


@pytest.mark.parametrize("when", [1, -1, (1 << 63) - 1, -(1 << 63)])
def test_any_instant_survives(when: int) -> None:
    edge = Edge("A", "T", "A", when=Instant(when))
    made = World.of([PutTopic("T"), PutCategory("A"), PutEdge(edge)])
    assert World.of(world_rdf.read(world_rdf.write(made, "turtle"), "turtle")).edges == {edge.key: edge}


def test_a_large_graph_takes_time_in_proportion() -> None:
    text = CLASSES + TOPIC + "".join(f":S{number} a :A, :B . " for number in range(20_000))
    assert len(world(text).services) == 20_000


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(world_rdf.write(demo(), "turtle").decode().split(" ")), max_size=30))
def test_whatever_is_in_it_it_is_read_or_refused(words: list[str]) -> None:
    try:
        World.of(world_rdf.read((PREFIXES + " ".join(words) + " .").encode(), "turtle"))
    except Refusal as refused:
        assert refused.text
