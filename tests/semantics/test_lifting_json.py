"""Liftings written are read as the same."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.declarations import LiftedArc, Lifting, LiteralAt, Named, ThingAt
from tocsin.semantics.events.lifting_json import lifting_of_json, write_lifting

IRIS = st.sampled_from(["urn:a#x", "http://b.example/y", "urn:c:z?1"])
PATHS = st.sampled_from(["a", "b/c", "@d"])
CLASSES = st.lists(IRIS, min_size=1, max_size=2, unique=True).map(tuple)
LITERALS = st.builds(LiteralAt, PATHS) | st.builds(LiteralAt, PATHS, IRIS)
NAMED = st.builds(Named, IRIS, CLASSES | st.just(()))


def arcs(targets: "st.SearchStrategy[LiteralAt | Named | ThingAt]") -> "st.SearchStrategy[tuple[LiftedArc, ...]]":
    """Those of one property stand together, as they do in JSON."""
    found = st.dictionaries(IRIS, st.lists(targets, min_size=1, max_size=2), max_size=2)
    return found.map(lambda by: tuple(LiftedArc(name, each) for name, several in by.items() for each in several))


THINGS = st.recursive(
    st.builds(ThingAt, PATHS, CLASSES),
    lambda inner: st.builds(ThingAt, PATHS, CLASSES, arcs(LITERALS | NAMED | inner), st.sampled_from(["", "@id"])),
    max_leaves=4,
)


@given(
    st.builds(
        Lifting,
        st.just("l"),
        st.sampled_from(["xml", "json"]),
        THINGS,
        st.lists(st.sampled_from(["{urn:x}a", "b"]), unique=True).map(tuple),
        st.sampled_from([(), (("p", "urn:p"),)]),
        st.booleans(),
    )
)
@settings(max_examples=examples(100))
def test_what_is_written_is_read_so_again(lifting: Lifting) -> None:
    assert lifting_of_json(write_lifting(lifting), "l", {"urn": "urn:misleading"}) == lifting
