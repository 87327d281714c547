"""What is declared, as JSON says it."""

from math import inf
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.documents.declarations import ProducerRequest, SpaceDocument, SpaceRequest
from tocsin.model.refusal import Refusal
from tocsin.model.space import FIRST_TIME, LAST_TIME, Dimension, InformationSpace

numbers = st.floats(allow_nan=False, allow_infinity=False)
seconds = st.integers(int(FIRST_TIME), int(LAST_TIME)).map(float) | st.floats(0, 4e9).map(lambda when: round(when, 6))
names = st.text(min_size=1, max_size=5)
dimensions = st.one_of(
    st.builds(Dimension, names, st.just("string")),
    st.builds(Dimension, names, st.just("number"), st.just(-inf) | numbers, st.just(inf) | numbers),
    st.builds(Dimension, names, st.just("time"), st.just(-inf) | seconds, st.just(inf) | seconds),
    st.builds(Dimension, names, st.just("enumeration"), values=st.lists(names).map(tuple)),
)
spaces = st.builds(InformationSpace, names, st.lists(dimensions).map(tuple))


@settings(max_examples=examples(200), deadline=None)
@given(spaces)
def test_a_space_comes_back_as_it_was(space: InformationSpace) -> None:
    written = msgspec.json.encode(SpaceDocument.of(space))
    assert msgspec.json.decode(written, type=SpaceRequest).space(space.name) == space


@pytest.mark.parametrize(
    ("dimension", "said"),
    [
        ({"name": "d", "kind": "time", "low": 3}, "write a time"),
        ({"name": "d", "kind": "time", "high": "yesterday"}, "'yesterday' is neither a time"),
        ({"name": "d", "kind": "number", "low": "3"}, "write a number"),
    ],
)
def test_bounds_are_of_their_kind(dimension: dict[str, Any], said: str) -> None:
    with pytest.raises(Refusal, match=said) as refusal:
        msgspec.convert({"dimensions": [dimension]}, SpaceRequest).space("s")
    assert refusal.value.reason == "malformed" and "dimension 'd'" in refusal.value.text


def test_the_path_and_the_document_name_the_same() -> None:
    with pytest.raises(Refusal, match="the path names"):
        SpaceRequest([], "other").space("s")
    with pytest.raises(Refusal, match="the path names"):
        ProducerRequest(address="other").producer("p")
    assert SpaceRequest([], "s").space("s").name == "s"
    assert ProducerRequest(address="p").producer("p").address == "p"
