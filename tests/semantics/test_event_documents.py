"""RDF in, event graphs out: the restrictions of OPS s3.1, and the meta-statements of s3.2."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Quad, RdfFormat, parse
from tests.effort import examples
from tests.pace import within
from tests.semantics.events import AUCTION, NOTHING_DECLARED, TYPE, XSD, A, statements

from tocsin.model.refusal import Refusal
from tocsin.semantics import rdf as rdf_lines
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events import event_graph as event_draft
from tocsin.semantics.events.event_documents import check_event, event_of_quads, read_event, read_events_nquads
from tocsin.semantics.events.event_graph import _ALLOWED, Arc, EventGraph, Vertex
from tocsin.semantics.rdf import Statement

TURTLE = f"""@prefix : <{A}> .
_:H a :Selling ; :seller _:s ; :target [ a :Desktop ; :price 450.00 ; :manufacture :IBM ] .
_:s a :Customer ; :name "Jinling Wang", "王"@ZH .
"""


PREFIXES = f"@prefix : <{A}> . @prefix xsd: <{XSD}> . @prefix rdf: <{TYPE.removesuffix('type')}> ."


def read(turtle: str) -> EventGraph:
    return read_event(f"{PREFIXES} {turtle}".encode(), "text/turtle", AUCTION)


def refusal(turtle: str) -> str:
    with pytest.raises(Refusal) as refused:
        read(turtle)
    assert refused.value.reason == "bad-event-graph"
    return refused.value.text


def test_an_event() -> None:
    event = read_event(TURTLE.encode(), "text/turtle; charset=utf-8", AUCTION)
    assert event.vertexes == (
        Vertex("_:H", (A + "Selling",)),
        Vertex("_:s", (A + "Customer",)),
        Vertex("_:b1", (A + "Desktop",)),
        Vertex('"Jinling Wang"', (XSD + "string",), "Jinling Wang"),
        Vertex('"王"@zh', ("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",), "王", "zh"),
        Vertex(f'"450.00"^^<{XSD}decimal>', (XSD + "decimal",), "450.00"),
        Vertex(f"<{A}IBM>", (A + "Company",)),
    )
    assert event.arcs[0] == Arc(0, A + "seller", 1)
    assert {(arc.source, arc.target) for arc in event.arcs} == {(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)}


SAME = (
    ("text/turtle", f"_:H a <{A}Selling> ; <{A}seller> _:s . _:s a <{A}Customer> ; <{A}name> 'a\\nb' ."),
    (
        "application/n-triples",
        f'_:H <{TYPE}> <{A}Selling> .\n_:H <{A}seller> _:s .\n_:s <{TYPE}> <{A}Customer> .\n_:s <{A}name> "a\\nb" .\n',
    ),
    (
        "application/n-quads",
        f"_:H <{TYPE}> <{A}Selling> <urn:g> . _:H <{A}seller> _:s <urn:g> .\n".replace(". _", ".\n_")
        + f'_:s <{TYPE}> <{A}Customer> <urn:g> .\n_:s <{A}name> "a\\nb" <urn:g> .\n',
    ),
    (
        "application/rdf+xml",
        f"<r:RDF xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='{A}'><Selling r:nodeID='H'>"
        "<seller><Customer r:nodeID='s'><name>a\nb</name></Customer></seller></Selling></r:RDF>",
    ),
    (
        "application/ld+json",
        f'{{"@context": {{"@vocab": "{A}"}}, "@id": "_:H", "@type": "Selling",'
        '"seller": {"@id": "_:s", "@type": "Customer", "name": "a\\nb"}}',
    ),
)


@pytest.mark.parametrize(("media_type", "text"), SAME)
def test_every_syntax_keeps_labels(media_type: str, text: str) -> None:
    assert read_event(text.encode(), media_type, AUCTION) == EventGraph(
        (
            Vertex("_:H", (A + "Selling",)),
            Vertex("_:s", (A + "Customer",)),
            Vertex('"a\\nb"', (XSD + "string",), "a\nb"),
        ),
        (Arc(0, A + "seller", 1), Arc(1, A + "name", 2)),
    )


def test_nodes_without_a_label_have_the_same_name_each_time() -> None:
    nested = "_:H a :Selling ; :target [ a :Product ], [ a :Computer ], _:b1 . _:b1 a :Product ."
    assert [each.term for each in read(nested).vertexes] == ["_:H", "_:b2", "_:b3", "_:b1"]
    assert read(nested) == read(nested)


def test_many_nodes_without_a_label_are_numbered_at_once() -> None:
    many = "_:H a :Selling ; :target " + ", ".join(["[ a :Product ]"] * 5_000)
    text = f"# {'0123456789abcde ' * 50_000}\n{many}, _:0123456789abcdef. _:0123456789abcdef a :Product."
    with within(1_000):
        assert len(read(text).arcs) == 5_001


def test_what_publishers_say_is_remembered_within_limits() -> None:
    """Ever new sets of classes, each of which is allowed."""
    model = ConceptModel(AUCTION.ontologies)
    classes = [A + "Selling", A + "Customer", A + "Product", A + "Computer", A + "Desktop", A + "Company"]
    several = [tuple(classes[(at + n) % 6] for n in range(20)) for at in range(6)]
    for each in several:
        graph = EventGraph((Vertex("_:H", each), Vertex('"x"', (XSD + "string",), "x")), (Arc(0, A + "name", 1),))
        check_event(graph, model)
    assert not _ALLOWED[model]


def test_a_literal_is_a_vertex_at_each_arc_and_a_statement_is_said_once() -> None:
    event = read("_:H a :Selling; :seller _:a, _:b. _:a a :Customer; :name 'x', 'x'. _:b a :Customer; :name 'x'.")
    assert [each.term for each in event.vertexes] == ["_:H", "_:a", "_:b", '"x"', '"x"']
    assert len(event.arcs) == 4


@pytest.mark.parametrize(
    ("turtle", "home"),
    [
        (":e a :Selling ; :seller _:s . _:s a :Customer .", f"<{A}e>"),
        ("_:s a :Customer . _:x a :Selling ; :seller _:s .", "_:x"),
        ("_:H a :Selling .", "_:H"),
    ],
)
def test_the_home_vertex(turtle: str, home: str) -> None:
    assert read(turtle).vertexes[0].term == home


@pytest.mark.parametrize(
    ("turtle", "says"),
    [
        ("", "the graph is empty"),
        ("_:a a :Selling . _:b a :Selling .", "_:a, _:b might all be the home vertex"),
        ("_:a a :Product ; :x _:b . _:b a :Product ; :x _:a .", "call it _:H"),
        ("_:H a :Selling . _:b a :Product .", "no path leads from the home vertex _:H to _:b"),
        ("_:H a :Selling ; :target _:b .", "no class is stated of the vertex _:b"),
        ("_:H a :Selling ; :seller _:b . _:b :name 'x' .", "no class is stated of the vertex _:b"),
        ("_:H a _:b .", "the class of the vertex _:H is _:b"),
        ("_:H a 'Selling' .", 'the class of the vertex _:H is "Selling"'),
        ("_:H a :Sellling .", "the class Sellling of the vertex _:H is in no ontology; did you mean 'Selling'?"),
        ("_:H a :Selling ; :price 3 .", "the vertex _:H (Selling) cannot have price with the literal"),
        ("_:H a :Selling ; :price 3 .", "allowed: (Product, price, xsd:decimal)"),
        ("_:H a :Selling ; :pricing 3 .", "the property pricing of the vertex _:H (Selling) is in no ontology"),
        ("_:H a :Selling ; :seller _:b . _:b a :Product .", "with the vertex _:b (Product); allowed: (Selling, seller"),
        ("_:H a :Selling ; :seller :somebody .", "(owl:Thing); allowed: (Selling, seller, Customer)"),
        ("_:H a :Desktop ; :price 'x' .", 'the literal "x" (xsd:string); allowed: (Product, price, xsd:decimal)'),
        (
            "_:H a :Desktop ; rdf:value 'x'^^:size .",
            f'the datatype size of the literal "x"^^<{A}size> is in no ontology',
        ),
        (
            "_:H a :Desktop ; :price [ a xsd:decimal ] .",
            "the vertex _:b1 is a thing, and xsd:decimal a datatype; write",
        ),
        (f"_:H a {', '.join(f':c{n}' for n in range(101))} .", "the vertex _:H has 101 classes; at most 100"),
        ("_:H a :Customer ; :name <<( :a :b :c )>> .", "a triple within a triple"),
        ("_:H a :Customer ; :name 'x'@en--ltr .", "base direction"),
    ],
)
def test_what_is_against_the_rules(turtle: str, says: str) -> None:
    assert says in refusal(turtle)


def test_an_integer_is_a_decimal_and_a_spoken_text_a_string() -> None:
    assert len(read("_:H a :Desktop ; :price 3 .").arcs) == 1
    assert len(read("_:H a :Customer ; :name 'x'@en .").arcs) == 1


def test_of_several_classes_one_is_enough() -> None:
    assert read("_:H a :Customer, :Desktop ; :price 3 ; :name 'x' .").vertexes[0].classes == (
        A + "Customer",
        A + "Desktop",
    )


def test_unknown_properties_may_be_let_in() -> None:
    data = f'_:H <{TYPE}> <{A}Selling> .\n_:H <urn:x:more> "1" .\n'.encode()
    for _ in range(2):
        assert len(read_event(data, "application/n-triples", AUCTION, unknown_properties=True).arcs) == 1
    with pytest.raises(Refusal, match="<urn:x:more>"):
        read_event(data, "application/n-triples", AUCTION)


def test_without_an_ontology_the_shape_alone_counts() -> None:
    event = read_event(b"_:H a <urn:x:C> ; <urn:x:p> 1 .", "text/turtle", NOTHING_DECLARED)
    check_event(event, NOTHING_DECLARED)
    assert len(event.vertexes) == 2


@pytest.mark.parametrize(
    ("data", "media_type", "says"),
    [
        (b"{", "application/ld+json", "JSON-LD"),
        (b'{"@context": "http://example.org/c", "a": 1}', "application/ld+json", "nothing is fetched"),
        (b'{"@context": {"@import": "http://example.org/c"}, "a": 1}', "application/ld+json", "nothing is fetched"),
        (b'{"urn:p":' * 100_000 + b"1" + b"}" * 100_000, "application/ld+json", "nested"),
        (b'{"urn:p":"' + b"]" * 99 + b'\\"",' + b'"urn:p":[' * 70 + b"]" * 70 + b"}", "application/ld+json", "nested"),
        (
            b'{"@context":{"p":{"@id":"urn:p","@context":{}}},"p":"' + b"x" * 40_000 + b'"}',
            "application/ld+json",
            "one @context",
        ),
        (
            b'{"@context":{"p":{"@id":"urn:p","@conte\\u0078t":{}}},"p":"' + b"x" * 40_000 + b'"}',
            "application/ld+json",
            "one @context",
        ),
        (b"_:H <urn:p> " + b"[ <urn:p> " * 100 + b"1" + b"]" * 100 + b" .", "text/turtle", "nested"),
        (b"_:H <urn:p> .", "text/turtle", "Turtle"),
        (b"_:H <urn:p> <a> .", "application/n-triples", "N-Triples"),
        (b"_:H <urn:p> \xff .\n", "application/n-triples", "N-Triples"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "application/rdf+xml", "DOCTYPE"),
        (b"<<<" * 200, "text/turtle", "quoted"),
        (b"{}", "application/json", "no media type of RDF"),
    ],
)
def test_what_cannot_be_read(data: bytes, media_type: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_event(data, media_type, NOTHING_DECLARED)
    assert refused.value.reason == "malformed"
    assert says in refused.value.text


@pytest.mark.parametrize("last", ["", " <urn:h>"])
def test_an_event_is_one_graph(last: str) -> None:
    lines = [f"_:H <{TYPE}> <urn:x:C> <urn:g> ."] * 200 + [f"_:H <{TYPE}> <urn:x:C>{last} ."]
    with pytest.raises(Refusal, match="an event is one graph"):
        read_event("\n".join(lines).encode(), "application/n-quads", NOTHING_DECLARED)


def test_a_few_words_may_not_stand_for_much() -> None:
    data = (
        f"@prefix p: <urn:{'x' * 500_000}:> . _:H a p:C ; p:p " + ", ".join(f"p:{each}" for each in range(400)) + " ."
    )
    with pytest.raises(Refusal, match="characters") as refused:
        read_event(data.encode(), "text/turtle", NOTHING_DECLARED)
    assert refused.value.reason == "too-large"


@pytest.mark.parametrize(
    ("limit", "says"), [("MOST_VERTEXES", "has 12 vertexes; at most 5"), ("MOST_ARCS", "has 11 arcs; at most 5")]
)
def test_the_limits_are_told(limit: str, says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_draft, limit, 5)
    with pytest.raises(Refusal, match=says):
        read_event(
            f"_:H a <urn:x:C> ; <urn:x:p> {','.join(map(str, range(11)))} .".encode(), "text/turtle", NOTHING_DECLARED
        )


def test_one_named_graph_an_event() -> None:
    data = "".join(
        f"_:H <{TYPE}> <{A}{name}> <urn:e:{number}> .\n"
        for number, name in enumerate(("Selling", "Customer", "Desktop"))
    )
    for text in (data, data.replace(" ", "  ")):
        found = dict(read_events_nquads(text.encode(), AUCTION))
        assert [event.vertexes[0].classes[0] for event in found.values()] == [
            A + "Selling",
            A + "Customer",
            A + "Desktop",
        ]
        assert list(found) == ["urn:e:0", "urn:e:1", "urn:e:2"]
    with pytest.raises(Refusal, match="the event urn:e:1: the class Custom "):
        list(read_events_nquads(data.replace("Customer", "Custom").encode(), AUCTION))
    assert [name for name, _ in read_events_nquads(f"_:H <{TYPE}> <{A}Selling> .\n".encode(), AUCTION)] == [""]


@settings(max_examples=examples(150), deadline=None)
@given(said=statements())
def test_lines_tell_what_the_parser_tells(said: list[Statement]) -> None:
    text = "".join(f"{' '.join(each)} .\n" for each in said)
    parsed = event_of_quads(parse(text, format=RdfFormat.N_TRIPLES), NOTHING_DECLARED)
    assert read_event(text.encode(), "application/n-triples", NOTHING_DECLARED) == parsed
    placed = text.replace(" .\n", " <urn:x:g> .\n")
    assert dict(read_events_nquads(placed.encode(), NOTHING_DECLARED)) == {"urn:x:g": parsed}


_PIECES = st.sampled_from(
    [
        *(
            "_:a",
            "<urn:x:a>",
            "<http://a.example/b#c>",
            "<http://a:80x/>",
            "<a>",
            '"x y"',
            '"x"@en',
            '"x"@EN',
            '"\\u0041"',
        ),
        *(
            f'"x"^^<{XSD}string>',
            '"\\t"',
            '"a .\n',
            " ",
            "  ",
            "\t",
            ".",
            " .\n",
            " .\n",
            "#",
            '"',
            "\\",
            "<urn:x:%zz>",
            "é",
        ),
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(text=st.lists(_PIECES, max_size=12).map(" ".join) | st.lists(_PIECES, max_size=12).map("".join))
def test_lines_are_left_alone_unless_the_parser_says_the_same(text: str) -> None:
    triples, quads = rdf_lines.triples(text), rdf_lines.quads(text)
    if triples is not None:
        assert triples == [_terms(each) for each in parse(text, format=RdfFormat.N_TRIPLES)]
    if quads is not None:
        found = list(parse(text, format=RdfFormat.N_QUADS))
        assert [said for said, _ in quads] == [_terms(each) for each in found]
        assert [name or "DEFAULT" for _, name in quads] == [str(each.graph_name) for each in found]


def _terms(quad: Quad) -> Statement:
    return str(quad.subject), str(quad.predicate), str(quad.object)


def test_canonical_lines_need_no_parser() -> None:
    text = f'_:H <{TYPE}> <{A}Selling> .\n_:H <{A}name> "a \\"b\\" . <c>"@en .\n'
    assert rdf_lines.triples(text) == [
        ("_:H", f"<{TYPE}>", f"<{A}Selling>"),
        ("_:H", f"<{A}name>", '"a \\"b\\" . <c>"@en'),
    ]
    assert rdf_lines.quads(text.replace(" .\n", " <urn:x:g> .\n")) is not None
