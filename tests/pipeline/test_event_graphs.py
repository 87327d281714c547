"""Tables of statements become the event graphs that documents become."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.semantics.events import AUCTION, NOTHING_DECLARED, TYPE, A, statements

from tocsin.model.refusal import Refusal
from tocsin.pipeline.event_graphs import read_events_arrow
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, graph_of
from tocsin.semantics.rdf import Statement


def read(rows: list[tuple[str, Statement]], model: ConceptModel = NOTHING_DECLARED) -> list[EventGraph]:
    columns = zip(*((name, *said) for name, said in rows), strict=True)
    event, subject, predicate, target = (pa.chunked_array([pa.array(each, pa.string())]) for each in columns)
    return read_events_arrow(event, subject, predicate, target, model)


@settings(max_examples=examples(40), deadline=None)
@given(events=st.lists(statements(), min_size=1, max_size=4), together=st.booleans())
def test_a_table_tells_what_documents_tell(events: list[list[Statement]], together: bool) -> None:
    rows = [(f"e{number}", said) for number, event in enumerate(events) for said in event]
    if together:  # the rows of one event need not stand together
        rows = [*rows[::2], *rows[1::2]]
    found = read(rows)
    names = list(dict.fromkeys(name for name, _ in rows))
    told = [graph_of([said for each, said in rows if each == name], NOTHING_DECLARED.classes_of) for name in names]
    assert found == told


def test_what_is_wrong_names_the_event() -> None:
    with pytest.raises(Refusal, match="the event e2: the class Sell of the vertex _:H"):
        read(
            [(f"e{number}", ("_:H", f"<{TYPE}>", f"<{A}{name}>")) for number, name in ((1, "Selling"), (2, "Sell"))],
            AUCTION,
        )
    with pytest.raises(Refusal, match="the object 'Selling' is no term of N-Triples"):
        read([("e", ("_:H", f"<{TYPE}>", "Selling"))])
    with pytest.raises(Refusal, match="1 rows have no object"):
        read([("e", ("_:H", f"<{TYPE}>", None))])  # type: ignore[list-item]
