"""Event graphs at random, and how two of them are compared."""

from hypothesis import strategies as st
from pyoxigraph import CanonicalizationAlgorithm, Dataset, Literal, NamedNode, RdfFormat, parse

from tocsin.model.declarations import MetaStatement, Ontology
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_documents import write_event
from tocsin.semantics.events.event_graph import EventGraph, graph_of
from tocsin.semantics.rdf import Statement

A = "http://example.org/auction#"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
NOTHING_DECLARED = ConceptModel()
AUCTION = ConceptModel(
    [
        Ontology(
            "auction",
            classes=tuple(
                (A + name, tuple(A + each for each in parents))
                for name, *parents in (
                    ("Selling",),
                    ("Customer",),
                    ("Product",),
                    ("Computer", "Product"),
                    ("Desktop", "Computer"),
                    ("Company",),
                )
            ),
            properties=tuple((A + name, ()) for name in ("seller", "target", "manufacture", "name", "price")),
            statements=(
                MetaStatement(A + "Selling", A + "seller", A + "Customer"),
                MetaStatement(A + "Selling", A + "target", A + "Product"),
                MetaStatement(A + "Product", A + "manufacture", A + "Company"),
                MetaStatement(A + "Product", A + "price", XSD + "decimal"),
                MetaStatement(A + "Customer", A + "name", XSD + "string"),
            ),
            individuals=((A + "IBM", (A + "Company",)),),
            prefixes=(("", A),),
        )
    ]
)

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_XML_TEXTS = st.text(
    st.characters(exclude_categories=["Cs"])
    .filter(lambda each: each >= " " or each in "\t\n\r")
    .filter(lambda each: each not in "\ufffe\uffff"),
    max_size=12,
)
_NAMES = st.sampled_from(["name", "größe", "p1", "a-b", "x.y"])
_LABELS = st.sampled_from(["H", "b1", "x", "0a", "n1", "größe", "a.b", "00000000000000000000000000000001"])


def _literals(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    plain = texts.map(Literal)
    spoken = st.builds(
        lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "de-AT", "zh-hant"])
    )
    typed = st.builds(
        lambda text, name: Literal(text, datatype=NamedNode(name)),
        texts,
        st.sampled_from([XSD + "decimal", XSD + "dateTime", "urn:example:type", XSD + "string"]),
    )
    return st.one_of(plain, spoken, typed).map(str)


@st.composite
def statements(draw: st.DrawFn, xml: bool = False) -> list[Statement]:
    """A tree below home with some arcs more, in any order."""
    labels = draw(st.lists(_LABELS, max_size=6, unique=True))
    iris = draw(st.lists(_NAMES.map(lambda each: f"<{A}{each}/x>"), max_size=2, unique=True))
    things = ["_:H", *(f"_:{each}" for each in labels if each != "H"), *iris]
    said = [(each, f"<{TYPE}>", f"<{A}C{draw(st.integers(0, 3))}>") for each in things]
    for number in range(1, len(things)):
        above = things[draw(st.integers(0, number - 1))]
        said.append((above, f"<{A}{draw(_NAMES)}>", things[number]))
    anything = st.one_of(st.sampled_from(things), _literals(_XML_TEXTS if xml else _TEXTS))
    said += draw(
        st.lists(st.tuples(st.sampled_from(things), _NAMES.map(lambda each: f"<{A}{each}>"), anything), max_size=6)
    )
    return draw(st.permutations(said))


def event_graphs(xml: bool = False) -> st.SearchStrategy[EventGraph]:
    return statements(xml).map(lambda said: graph_of(said, NOTHING_DECLARED.classes_of))


def canonical(graph: EventGraph) -> set[str]:
    """Equal for graphs that differ only in order and in the names of blank nodes."""
    found = Dataset(parse(write_event(graph, "n-quads"), format=RdfFormat.N_QUADS))
    found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(each) for each in found}
