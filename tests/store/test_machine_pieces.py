"""What machines remember and have in hand, told to another node piece by piece: a copy has what the original has."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from tests.effort import examples

from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.messages import Handled, Publication
from tocsin.store.database import Store
from tocsin.store.machines import Codec, Letter, MachineTables, Outgoing, Piece, Writing

MACHINES, KEYS, IDS = ("a", "b", "/m"), ("", "x", "y"), [f"l{number}" for number in range(6)]
PLACES = st.tuples(st.sampled_from(MACHINES), st.sampled_from(KEYS))


class Row(Struct, frozen=True):
    text: str


class Said(Struct, frozen=True, array_like=True):
    text: str


class Doing(Struct, frozen=True):
    """One turn, and how many of what waits to go out went out after it."""

    rows: dict[tuple[str, str], str | None]
    ended: list[str]
    taken: list[str]
    done: list[str]
    passed: list[str]
    outgoing: list[str]
    expire: int | None
    sent: int


DOINGS = st.builds(
    Doing,
    st.dictionaries(PLACES, st.none() | st.text("rs", min_size=1, max_size=2), max_size=3),
    st.lists(st.sampled_from(MACHINES), max_size=1),
    st.lists(st.sampled_from(IDS), max_size=2, unique=True),
    st.lists(st.sampled_from(IDS), max_size=2, unique=True),
    st.lists(st.sampled_from(IDS), max_size=1, unique=True),
    st.lists(st.sampled_from(IDS), max_size=2, unique=True),
    st.none() | st.integers(0, 12),
    st.integers(0, 3),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(tmp_path / "tocsin.db")
    yield opened
    opened.close()


def tables(store: Store, family: str) -> MachineTables:
    return store.machines(family, Codec(said=Said), Codec(row=Row))


def turn(asked: Doing, now: int, names: Iterator[int]) -> Writing:
    letters = [Letter("a", Said(name), name) for name in IDS]
    at = dict(zip(IDS, letters, strict=True))
    return Writing(
        {place: None if text is None else Row(text) for place, text in asked.rows.items()},
        list(asked.ended),
        [at[name] for name in asked.taken],
        [at[name] for name in asked.done],
        [at[name] for name in asked.passed],
        [Outgoing("p", "letters", f"{name}-{next(names)}", "b", Instant(now), b"!") for name in asked.outgoing],
        now=Instant(now),
        expire=None if asked.expire is None else Instant(asked.expire),
    )


def everything(tables: MachineTables, wanted: str = "") -> Counter[Piece]:
    return Counter(tables.pieces(lambda name: not wanted or name == wanted, outgoing=True))


@given(st.lists(DOINGS, max_size=12), st.integers(0, 11))
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_copy_that_follows_every_turn_has_what_the_original_has(
    store: Store, doings: list[Doing], begun: int
) -> None:
    """From wherever it begins; and whoever goes on from it has that too."""
    original, copy, heir = (tables(store, name) for name in ("one", "copy 1/one", "heir"))
    for each in (original, copy, heir):
        each.remove()
    told: list[Piece] = []
    original.outbox.told_sent = told.extend
    names = iter(range(1000))
    for now, asked in enumerate(doings):
        writing = turn(asked, now, names)
        original.write(writing)
        original.outbox.sent(original.outbox.first("p", "letters", asked.sent, 1 << 20))
        if now == begun:
            copy.apply(original.pieces(lambda name: bool(name), outgoing=True))
        elif now > begun:
            copy.apply([*original.pieces_of(writing), *told])
        told.clear()
    if len(doings) > begun:
        assert everything(copy) == everything(original)
        assert copy.rows() == original.rows() and copy.open_letters() == original.open_letters()
        heir.apply(copy.pieces(lambda name: bool(name), outgoing=True))
        assert everything(heir) == everything(original)


def test_machines_go_and_the_others_stay(store: Store) -> None:
    one = tables(store, "one")
    one.write(Writing({(name, "x"): Row(name) for name in MACHINES}, taken=[Letter("b", Said("!"), "l1")]))
    given, rest = everything(one, "b"), everything(one, "a") + everything(one, "/m")
    assert {each.kind for each in given} == {"row", "taken"}
    one.remove(lambda name: name == "b")
    assert everything(one) == rest
    one.apply(list(given))
    assert everything(one) == rest + given


def test_results_of_messages_are_told_with_them(store: Store, tmp_path: Path) -> None:
    handled = Handled(MessageId("m"), "c", "N1", "N2", 1, Instant(7))
    said = Publication(MessageId("m"), "N1", "T", "cin", Instant(1))
    codecs = Codec(said=Said), Codec(row=Row)
    own = store.machines("one", *codecs, store.implicit)
    own.write(Writing(reports=[said, handled]))
    other = Store.open(tmp_path / "other.db")
    try:
        its = other.machines("copy", *codecs, other.implicit)
        its.apply(own.pieces_of(Writing(reports=[said, handled])))
        its.apply(own.pieces(lambda name: name == "m", outgoing=True))  # told twice it counts once
        assert other.implicit.publication("m") == said
        assert other.implicit.reports("m") == store.implicit.reports("m")
        assert own.pieces(lambda name: name != "m", outgoing=True) == []
    finally:
        other.close()
