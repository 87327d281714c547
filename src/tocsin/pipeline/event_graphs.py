"""Reads event graphs from Arrow columns: a row is a statement whose terms are N-Triples."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyoxigraph import RdfFormat, parse

from tocsin.model.refusal import Refusal
from tocsin.semantics import rdf as rdf_lines
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, check_event, graph_of
from tocsin.semantics.rdf import Statement

_ANY = "<urn:tocsin:any>"
_PLACES = {
    "subject": f"{{}} {_ANY} {_ANY} .\n",
    "property": f"{_ANY} {{}} {_ANY} .\n",
    "object": f"{_ANY} {_ANY} {{}} .\n",
}


def read_events_arrow(
    event: pa.ChunkedArray,
    subject: pa.ChunkedArray,
    predicate: pa.ChunkedArray,
    object_: pa.ChunkedArray,
    model: ConceptModel,
) -> list[EventGraph]:
    """One graph for each value of `event`, in the order in which these first come. Each distinct term is read once."""
    names, codes = _encoded(event, "event")
    order = np.argsort(codes, kind="stable")
    terms = [
        _terms(column, place)[order].tolist()
        for column, place in ((subject, "subject"), (predicate, "property"), (object_, "object"))
    ]
    ends = np.cumsum(np.bincount(codes, minlength=len(names))).tolist()
    return [
        _graph(name, zip(*(column[start:end] for column in terms), strict=True), model)
        for name, start, end in zip(names, [0, *ends[:-1]], ends, strict=True)
    ]


def _encoded(column: pa.ChunkedArray, what: str) -> tuple[list[str], NDArray[np.int64]]:
    if column.null_count:
        raise Refusal("malformed", f"{column.null_count:,} rows have no {what}")
    whole = pa.chunked_array(column).combine_chunks().dictionary_encode()
    return whole.dictionary.to_pylist(), whole.indices.to_numpy().astype(np.int64)


def _terms(column: pa.ChunkedArray, place: str) -> NDArray[np.object_]:
    distinct, codes = _encoded(column, place)
    written = [_PLACES[place].format(each) for each in distinct]
    known = rdf_lines.triples("".join(written)) or [_parsed(each, place) for each in written]
    number = {"subject": 0, "property": 1, "object": 2}[place]
    terms: NDArray[np.object_] = np.array([each[number] for each in known], dtype=object)
    return terms[codes]


def _parsed(line: str, place: str) -> Statement:
    try:
        (found,) = parse(line, format=RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as problem:
        term = line.replace(_ANY, "").strip(" .\n")
        raise Refusal("malformed", f"the {place} {term[:200]!r} is no term of N-Triples: {problem}") from None
    return str(found.subject), str(found.predicate), str(found.object)


def _graph(name: str, statements: Iterable[Statement], model: ConceptModel) -> EventGraph:
    try:
        graph = graph_of(statements, model.classes_of)
        check_event(graph, model)
    except Refusal as refusal:
        raise Refusal(refusal.reason, f"the event {str(name)[:200]}: {refusal.text}") from None
    return graph
