"""Cases of the semantic benchmark: reading event graphs, patterns that are hard to search, the start of a process."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Literal, NamedTuple

from lxml import etree
from msgspec import Struct, json

from tocsin.lab.benches._matching import Work, over
from tocsin.markup import xml
from tocsin.markup.graphs.graph_pattern import HOME, GraphPattern, GraphQuery, PatternArc, PatternVertex
from tocsin.model.declarations import LiftedArc, Lifting, LiteralAt, Ontology, ThingAt
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_documents import MEDIA_TYPES, Syntax, read_event, read_events_nquads, write_event
from tocsin.semantics.events.event_graph import Arc, EventGraph, Vertex
from tocsin.semantics.events.lifting import lift

SYNTAXES: tuple[Syntax, ...] = ("n-triples", "turtle", "json-ld", "rdf-xml")
ITEMS = 12
SPACE = "urn:example:order:"
XSD = "http://www.w3.org/2001/XMLSchema#"
LITERALS = {"name": f"{XSD}string", "price": f"{XSD}decimal", "count": f"{XSD}integer"}
ORDER_VERTEXES = 1 + ITEMS * (1 + len(LITERALS))


def readings(events: Sequence[EventGraph], model: ConceptModel) -> dict[str, Work]:
    """One event a call."""
    works: dict[str, Work] = {}
    sizes = _sizes(events)
    for syntax in SYNTAXES:
        written = [write_event(each, syntax) for each in events]
        read = partial(_read, MEDIA_TYPES[syntax], model)
        assert [len(read(each).arcs) for each in written] == sizes
        works[syntax] = over(read, written)
    return works


def bulk_readings(events: Sequence[EventGraph], model: ConceptModel) -> dict[str, Work]:
    """All events at a call."""
    from tocsin.pipeline.event_graphs import read_events_arrow  # here, for who lists benchmarks does not load pyarrow

    quads = b"".join(write_event(each, "n-quads", name=f"urn:example:event{at}") for at, each in enumerate(events))
    import pyarrow as pa

    rows = [
        (str(at), *line.rstrip(" .").split(" ", 2))
        for at, event in enumerate(events)
        for line in write_event(event, "n-triples").decode().splitlines()
    ]
    event, subject, predicate, object_ = [pa.chunked_array([pa.array(column)]) for column in zip(*rows, strict=True)]
    works: dict[str, Callable[[], Sequence[EventGraph]]] = {
        "n-quads, in bulk": lambda: [graph for _, graph in read_events_nquads(quads, model)],
        "Arrow, in bulk": lambda: read_events_arrow(event, subject, predicate, object_, model),
    }
    for work in works.values():
        assert [len(each.arcs) for each in work()] == _sizes(events)
    return dict(works)


def liftings(random: Random, count: int) -> dict[str, Work]:
    """Orders as they may stand in XML and JSON; parsing is counted."""
    properties = tuple((f"{SPACE}{name}", ()) for name in ("item", *LITERALS))
    model = ConceptModel(
        [Ontology("order", classes=((f"{SPACE}Order", ()), (f"{SPACE}Item", ())), properties=properties)]
    )
    orders = [[_item(random) for _ in range(ITEMS)] for _ in range(count)]
    documents = [etree.tostring(_xml(each)) for each in orders]
    texts = [json.encode({"item": each}) for each in orders]
    from_xml, from_json = _lifting("xml"), _lifting("json")
    works: dict[str, Callable[[bytes], EventGraph]] = {
        "XML, lifted": lambda data: lift(xml.parse(data), from_xml, model),
        "JSON, lifted": lambda data: lift(json.decode(data), from_json, model),
    }
    given = {"XML, lifted": documents, "JSON, lifted": texts}
    for name, work in works.items():
        assert len(work(given[name][0]).vertexes) == ORDER_VERTEXES
    return {name: over(work, given[name]) for name, work in works.items()}


def _read(media_type: str, model: ConceptModel, data: bytes) -> EventGraph:
    return read_event(data, media_type, model)


def _sizes(events: Sequence[EventGraph]) -> list[int]:
    """So many arcs are read: what is stated twice is stated once."""
    return [
        len({(each.source, each.property, event.vertexes[each.target].term) for each in event.arcs}) for event in events
    ]


def _item(random: Random) -> dict[str, Any]:
    return {"name": f"item {random.randrange(1000)}", "price": random.randrange(1000) / 4, "count": random.randrange(9)}


def _xml(items: Sequence[Mapping[str, Any]]) -> etree._Element:
    order = etree.Element("order")
    for each in items:
        item = etree.SubElement(order, "item")
        for name, value in each.items():
            etree.SubElement(item, name).text = str(value)
    return order


def _lifting(syntax: Literal["xml", "json"]) -> Lifting:
    home, below, every = (".", "", "") if syntax == "xml" else ("$", "@.", "[*]")
    arcs = tuple(LiftedArc(f"{SPACE}{name}", LiteralAt(f"{below}{name}", kind)) for name, kind in LITERALS.items())
    item = ThingAt(f"{below}item{every}", (f"{SPACE}Item",), arcs)
    return Lifting("order", syntax, ThingAt(home, (f"{SPACE}Order",), (LiftedArc(f"{SPACE}item", item),)))


THING, ALONG = "urn:example:class0", "urn:example:property0"
Answer = Literal["right", "undecided"]
Ways = Sequence[tuple[int, int]]


class Hard(Struct, frozen=True):
    """`holds` is what is true."""

    case: str
    event: EventGraph
    query: GraphQuery
    holds: bool


def hard() -> Iterator[Hard]:
    # from home to each odd vertex, and from there on to the next
    star, arms = _star(40), [way for each in range(1, 2 * 40, 2) for way in ((0, each), (each, each + 1))]
    yield Hard("40 siblings, 40 are asked for", _hard_event(41, star), _hard_query(41, star), True)
    yield Hard("40 siblings, 41 are asked for", _hard_event(41, star), _hard_query(42, _star(41)), False)
    yield Hard("40 arms of two, all are asked for", _hard_event(81, arms), _hard_query(81, arms), True)
    yield Hard("40 arms of two, one is cut off", _hard_event(80, arms[:-1]), _hard_query(81, arms), False)
    yield Hard("clique of 12, in one of 12", _hard_event(12, _clique(12)), _hard_query(12, _clique(12)), True)
    yield Hard("clique of 13, in one of 12", _hard_event(12, _clique(12)), _hard_query(13, _clique(13)), False)
    yield Hard("chain of 200", _hard_event(200, _chain(200)), _hard_query(200, _chain(200)), True)
    yield Hard("chain of 200, in one of 199", _hard_event(199, _chain(199)), _hard_query(200, _chain(200)), False)


def _star(siblings: int) -> Ways:
    return [(0, each) for each in range(1, siblings + 1)]


def _clique(size: int) -> Ways:
    return [(one, other) for one in range(size) for other in range(size) if one != other]


def _chain(length: int) -> Ways:
    return [(each, each + 1) for each in range(length - 1)]


def _hard_event(vertexes: int, ways: Ways) -> EventGraph:
    names = [HOME, *(f"_:b{at}" for at in range(1, vertexes))]
    return EventGraph(
        tuple(Vertex(each, (THING,)) for each in names), tuple(Arc(source, ALONG, target) for source, target in ways)
    )


def _hard_query(vertexes: int, ways: Ways) -> GraphQuery:
    names = [HOME, *(f"?{at}" for at in range(1, vertexes))]
    arcs = tuple(PatternArc(source, ALONG, target) for source, target in ways)
    return GraphQuery((GraphPattern(tuple(PatternVertex(each, (THING,)) for each in names), arcs),))


FIRST_MATCH = """
import time
from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternVertex
from tocsin.matching.graphs.index import GraphIndex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex
imported = time.process_time()
index = GraphIndex()
index.add(0, GraphQuery((GraphPattern((PatternVertex("_:H", ("urn:example:class0",)),), ()),)))
found = index.match(EventGraph((Vertex("_:H", ("urn:example:class0",)),), ()), ConceptModel())
assert found.atoms.tolist() == [0]
print(imported, time.process_time())
"""


class Start(NamedTuple):
    """Seconds of the processor after the import and with it, and those that went by in all."""

    first: float
    cpu: float
    wall: float


def warm_start(times: int = 3) -> Start:
    """A process from its beginning to the end of its first match, with kernels that were compiled before; the best."""
    return min(_first_match({}) for _ in range(times + 1))


def cold_start() -> Start:
    """The same where nothing was compiled yet."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        return _first_match({"NUMBA_CACHE_DIR": folder})


def _first_match(more: dict[str, str]) -> Start:
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_MATCH], env={**os.environ, **more}, capture_output=True, text=True, check=True
    )
    imported, ended = map(float, ran.stdout.split())
    return Start(ended - imported, ended, time.perf_counter() - began)
