"""From bytes to event graphs: what it costs before any pattern is searched."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any, Literal

from lxml import etree
from msgspec import json

from tocsin.lab.benches._matching import Work, over
from tocsin.markup import xml
from tocsin.model.declarations import LiftedArc, Lifting, LiteralAt, Ontology, ThingAt
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_documents import MEDIA_TYPES, Syntax, read_event, read_events_nquads, write_event
from tocsin.semantics.events.event_graph import EventGraph
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
    event, subject, predicate, object_ = _columns(events)
    works: dict[str, Callable[[], Sequence[EventGraph]]] = {
        "n-quads, in bulk": lambda: [graph for _, graph in read_events_nquads(quads, model)],
        "Arrow, in bulk": lambda: read_events_arrow(event, subject, predicate, object_, model),
    }
    for work in works.values():
        assert [len(each.arcs) for each in work()] == _sizes(events)
    return dict(works)


def liftings(random: Random, count: int) -> dict[str, Work]:
    """Orders as they may stand in XML and JSON; parsing is counted."""
    model = ConceptModel([_ontology()])
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


def _columns(events: Sequence[EventGraph]) -> list[Any]:
    import pyarrow as pa

    rows = [
        (str(at), *line.rstrip(" .").split(" ", 2))
        for at, event in enumerate(events)
        for line in write_event(event, "n-triples").decode().splitlines()
    ]
    return [pa.chunked_array([pa.array(column)]) for column in zip(*rows, strict=True)]


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


def _ontology() -> Ontology:
    properties = tuple((f"{SPACE}{name}", ()) for name in ("item", *LITERALS))
    return Ontology("order", classes=((f"{SPACE}Order", ()), (f"{SPACE}Item", ())), properties=properties)
