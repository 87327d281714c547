import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.model.declarations import (
    Hierarchy,
    LiftedArc,
    Lifting,
    LiteralAt,
    Named,
    Ontology,
    Producer,
    ThingAt,
    Withdrawn,
)
from tocsin.model.delivery import Delivery
from tocsin.model.records import Accepted, Changed, Declared, Record
from tocsin.model.space import Dimension, InformationSpace, Interval
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.store.codec import Undecodable, decode, decode_delivery, encode, is_change, is_declaration

# What is not a number is no bound of anything, and would not be equal to itself.
st.register_type_strategy(
    Interval, st.builds(Interval, low=st.floats(allow_nan=False), high=st.floats(allow_nan=False))
)
numbers = st.integers(0, (1 << 63) - 1)
positions = st.builds(Position, offset=numbers)
forms = st.builds(Form, max_latency_ms=numbers)
subscriptions = st.builds(Subscription, form=forms, since=positions, expires=st.none() | numbers)
accepted = st.builds(Accepted, at=positions, when=numbers)
changed = st.builds(Changed, at=positions, when=numbers, subscription=subscriptions)
dimensions = st.builds(Dimension, low=st.floats(allow_nan=False), high=st.floats(allow_nan=False))
spaces = st.builds(InformationSpace, dimensions=st.lists(dimensions).map(tuple))
homes = st.builds(ThingAt, arcs=st.just(())) | st.builds(
    lambda arcs: ThingAt("/", ("urn:c",), tuple(arcs)),
    st.lists(st.builds(LiftedArc, to=st.builds(LiteralAt) | st.builds(Named) | st.builds(ThingAt, arcs=st.just(())))),
)
liftings = st.builds(Lifting, home=homes)
whats = spaces | st.builds(Hierarchy) | st.builds(Producer) | st.builds(Ontology) | liftings | st.builds(Withdrawn)
declared = st.builds(Declared, at=positions, when=numbers, what=whats)
deliveries = st.builds(Delivery, at=positions, index=numbers, attempt=numbers)


@settings(deadline=None)
@given(accepted | changed | declared)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    payload = encode(record)
    assert decode(payload) == record
    assert is_change(payload) == isinstance(record, Changed)
    assert is_declaration(payload) == isinstance(record, Declared)


@settings(deadline=None)
@given(deliveries)
def test_a_delivery_comes_back_as_it_was(delivery: Delivery) -> None:
    assert decode_delivery(encode(delivery)) == delivery


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(Undecodable):
        decode(data)
    with pytest.raises(Undecodable):
        decode_delivery(data)
