import json

from hypothesis import given
from hypothesis import strategies as st

from tocsin.mediation.ce.attributes import BATCHED
from tocsin.mediation.ce.writing import combinable, combine


def test_the_content_type_decides_whatever_its_case_and_parameters() -> None:
    assert combinable((("X", "y"), ("content-type", "Application/CloudEvents-Batch+JSON; charset=utf-8")))
    assert combinable((("Content-Type", BATCHED),))
    assert not combinable((("Content-Type", "application/cloudevents+json"),))
    assert not combinable((("Content-Type", "application/cloudevents-batch+jsonx"),))
    assert not combinable((("X", BATCHED),))
    assert not combinable(())


@given(st.lists(st.dictionaries(st.text(), st.one_of(st.text(), st.integers(), st.lists(st.text()))), min_size=1))
def test_batches_of_one_are_joined_in_order(events: list[dict[str, object]]) -> None:
    bodies = [json.dumps([event]).encode() for event in events]
    assert json.loads(combine(bodies)) == events
