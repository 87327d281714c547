"""One node of a ring: what it says to whom, and what cannot be true does not enter its table."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.routing.ring.test_table import PLACES, peer

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Answer, Ask, Deliver, Effect, Remember, Report, SetTimer, Started, Unanswered, Woken
from tocsin.routing.ring.agenda import Settings
from tocsin.routing.ring.chord import KNOWN, OWN, ChordNode
from tocsin.routing.ring.chord_messages import (
    Depart,
    Departed,
    Doubt,
    Find,
    Follow,
    Found,
    Gone,
    Heard,
    Here,
    Known,
    Leave,
    Look,
    Looked,
    Neighbours,
    Own,
    Ping,
    Question,
    Reply,
    Responsible,
    Stabilise,
    Suspected,
)
from tocsin.routing.ring.identifiers import LAST, SIZE, distance
from tocsin.routing.ring.table import Peer, Run

OTHER = "http://100"


class Stage:
    """A node on a clock of its own, and what it asked and was not answered yet."""

    def __init__(self, place: int = 0, *join: str, rows: dict[str, Any] | None = None) -> None:
        self.rows: dict[str, Any] = dict(rows or {})
        self.node = ChordNode(peer(place), Settings(join=join), self.rows)
        self.now, self.asked = Instant(1), list[Ask]()

    def take(self, message: Any) -> list[Effect]:
        self.now = Instant(self.now + 1)
        effects = self.node.step(message, self.now)
        for each in effects:
            match each:
                case Ask():
                    self.asked.append(each)
                case Remember(key, row):
                    self.rows[key] = row
        return effects

    def wake(self, seconds: float = 1.2) -> list[Effect]:
        self.now = Instant(self.now + round(seconds * SECOND))
        return self.take(Woken())

    def question(self, kind: type, of: int) -> Any:
        """The last such question to that node, which is answered herewith."""
        found = next(each for each in self.asked[::-1] if isinstance(each.question, kind) and each.of == f"http://{of}")
        self.asked.remove(found)
        return found.question

    def asks(self, kind: type) -> list[str]:
        return [each.of for each in self.asked if isinstance(each.question, kind)]


def joined(*successors: int, predecessor: int | None = None) -> Stage:
    """The node at 0 in a ring, told by its successor."""
    stage = Stage(0, "http://999")
    stage.take(Started())
    find = stage.question(Find, 999)
    stage.take(Found(peer(999), find.number, Run(0, tuple(map(peer, successors)))))
    asked = stage.question(Stabilise, successors[0])
    before = None if predecessor is None else peer(predecessor)
    stage.take(Neighbours(peer(successors[0]), asked.number, before, tuple(map(peer, successors[1:]))))
    return stage


def reports(effects: list[Effect]) -> list[Any]:
    return [each.what for each in effects if isinstance(each, Report)]


def delivered(effects: list[Effect]) -> list[Any]:
    return [each.message for each in effects if isinstance(each, Deliver)]


def test_who_has_nobody_to_join_is_a_ring_of_one() -> None:
    stage = Stage(7)
    effects = stage.take(Started())
    assert stage.node.joined and stage.node.is_alone and not stage.asked
    assert Deliver(Responsible(7, 7)) in effects and stage.rows == {OWN: Own(peer(7))}
    assert delivered(stage.take(Look(3))) == [Looked(3, peer(7), 0)]
    for _ in range(5):
        stage.wake(40)
    assert not stage.asked and stage.node.table.owns(0)


def test_it_joins_by_the_one_it_was_told() -> None:
    stage = Stage(0, OTHER)
    effects = stage.take(Started())
    assert [(each.of, each.question.key) for each in stage.asked] == [(OTHER, 1)] and not stage.node.joined
    assert not delivered(effects) and any(isinstance(each, Ask) for each in effects)
    stage.take(Found(peer(100), stage.question(Find, 100).number, None, (peer(500), peer(LAST - 5))))
    stage.take(Found(peer(LAST - 5), stage.question(Find, LAST - 5).number, Run(LAST - 5, (peer(50), peer(100)))))
    assert stage.node.joined and stage.node.table.successors == (peer(50), peer(100))
    effects = stage.take(Neighbours(peer(50), stage.question(Stabilise, 50).number, peer(LAST - 5), (peer(100),)))
    assert stage.node.table.predecessor == peer(LAST - 5) and stage.asks(Follow) == [f"http://{LAST - 5}"]
    assert delivered(effects) == [Responsible(LAST - 5, 0)]


def test_a_node_on_the_way_that_does_not_answer_is_passed_over() -> None:
    stage = Stage(0, OTHER)
    stage.take(Started())
    stage.take(Found(peer(100), stage.question(Find, 100).number, None, (peer(900), peer(800))))
    stage.take(Unanswered(stage.question(Find, 900)))
    stage.take(Found(peer(800), stage.question(Find, 800).number, Run(800, (peer(50),))))
    assert stage.node.joined and stage.node.table.successor == peer(50)


def test_who_was_told_to_join_and_reaches_nobody_tries_again() -> None:
    stage = Stage(0, OTHER)
    stage.take(Started())
    for _ in range(5):
        stage.take(Unanswered(stage.question(Find, 100)))
        assert not stage.node.joined
        assert stage.take(Find(peer(7), 1, 3)) == [], "who is not in a ring says nothing about it"
        stage.wake(6)
    assert stage.asks(Find) == [OTHER]


def test_who_was_in_a_ring_begins_one_if_nobody_is_left_and_goes_on_looking() -> None:
    stage = Stage(0, rows={OWN: Own(peer(0)), KNOWN: Known((peer(300), peer(400)))})
    stage.take(Started())
    for place in (300, 400):
        stage.take(Unanswered(stage.question(Find, place)))
    assert stage.node.joined and stage.node.is_alone
    stage.wake(40)
    assert stage.asks(Find) == ["http://300"]


def test_it_remembers_by_whom_the_ring_is_found() -> None:
    stage = joined(50, 100)
    stage.wake(40)
    assert stage.rows == {OWN: Own(peer(0)), KNOWN: Known((peer(50), peer(100)))}


def test_a_successor_that_does_not_answer_twice_is_suspected() -> None:
    stage = joined(50, 100, predecessor=900)
    stage.wake()
    assert reports(stage.take(Unanswered(stage.question(Stabilise, 50)))) == []
    stage.wake(0.3)
    effects = stage.take(Unanswered(stage.question(Stabilise, 50)))
    assert reports(effects) == [Suspected(peer(50))]
    assert stage.node.table.successor == peer(100) and stage.node.table.next_hop(10) == peer(100)
    stage.wake(0)
    stage.take(Neighbours(peer(100), stage.question(Stabilise, 100).number, peer(50), (peer(50), peer(200))))
    assert stage.node.table.successors == (peer(100), peer(200)), "others may not know yet"
    assert "http://50" in stage.asks(Ping), "or may know better"
    assert reports(stage.take(Ping(peer(50), 4))) == [Heard(peer(50))]
    stage.wake()
    stage.take(Neighbours(peer(100), stage.question(Stabilise, 100).number, peer(50), (peer(200),)))
    stage.take(Neighbours(peer(50), stage.question(Stabilise, 50).number, peer(0), (peer(100), peer(200))))
    assert list(stage.node.table.successors) == [peer(50), peer(100), peer(200)]


def test_a_predecessor_is_only_asked_when_it_is_not_heard_of() -> None:
    stage = joined(50, 100, predecessor=900)
    for number in range(6):
        stage.take(Stabilise(peer(900), number))
        stage.wake()
        stage.take(Neighbours(peer(50), stage.question(Stabilise, 50).number, peer(0), (peer(100),)))
    assert stage.asks(Ping) == []
    stage.wake(4)
    for _ in range(2):
        stage.take(Unanswered(stage.question(Ping, 900)))
        stage.wake(0.3)
    assert stage.node.table.predecessor is None and stage.node.table.after == 100
    stage.take(Stabilise(peer(700), 1))
    assert stage.node.table.predecessor == peer(700)


def test_a_node_between_is_the_successor_once_it_answers() -> None:
    stage = joined(50, 100)
    stage.wake()
    stage.take(Neighbours(peer(50), stage.question(Stabilise, 50).number, peer(20), (peer(100),)))
    assert stage.node.table.successor == peer(50)
    stage.take(Neighbours(peer(20), stage.question(Stabilise, 20).number, None, (peer(50), peer(100))))
    assert stage.node.table.successors == (peer(20), peer(50), peer(100))
    stage.take(Follow(peer(10), 3))
    assert stage.asks(Stabilise) == ["http://10"], "who says that it joined is asked itself"


def test_leaving_tells_both_neighbours_and_nobody_is_answered_any_more() -> None:
    stage = joined(50, 100, predecessor=900)
    assert delivered(stage.take(Depart())) == []
    said = stage.question(Leave, 50)
    assert said.predecessor == peer(900) and said.successors == (peer(50), peer(100))
    assert delivered(stage.take(Here(peer(50), said.number))) == []
    assert delivered(stage.take(Unanswered(stage.question(Leave, 900)))) == [Departed()]
    assert stage.take(Find(peer(50), 1, 3)) == [] == stage.take(Stabilise(peer(900), 2))
    alone = Stage()
    alone.take(Started())
    assert delivered(alone.take(Depart())) == [Departed()]


def test_neighbours_of_one_that_leaves_close_the_gap() -> None:
    stage = joined(50, 100, predecessor=900)
    effects = stage.take(Leave(peer(50), 1, peer(0), (peer(100), peer(200), peer(0))))
    assert effects[0:2] == [Report(Gone(peer(50))), Answer(Here(peer(0), 1))]
    assert stage.node.table.successors == (peer(100), peer(200))
    stage.take(Leave(peer(900), 2, peer(800), (peer(0), peer(100))))
    assert stage.node.table.predecessor == peer(800)
    stage.wake(40)
    assert "http://50" not in stage.asks(Find), "who left is not looked for"


def test_a_lookup_says_so_when_nobody_could_tell() -> None:
    stage = joined(50, 100, predecessor=900)
    stage.take(Look(400))
    for place in (100, 50):
        stage.take(Unanswered(stage.question(Find, place)))
    told = stage.take(Unanswered(stage.question(Find, 900))) if stage.asks(Find) else []
    assert stage.node.joined and not [each for each in delivered(told) if each.owner is not None]


def test_whom_a_service_could_not_reach_is_asked() -> None:
    stage = joined(50, 100, predecessor=900)
    stage.take(Doubt(peer(100)))
    assert reports(stage.take(Unanswered(stage.question(Ping, 100)))) == [Suspected(peer(100))]
    stage.take(Doubt(peer(50)))
    assert reports(stage.take(Here(peer(50), stage.question(Ping, 50).number))) == []
    assert stage.take(Doubt(peer(0))) == []


def test_what_never_comes_is_given_up() -> None:
    stage = joined(50, 100, predecessor=900)
    stage.wake()
    first = stage.question(Stabilise, 50)
    assert reports(stage.wake(20)) == []
    assert Suspected(peer(50)) in reports(stage.wake(20))
    assert stage.take(Neighbours(peer(50), first.number, None, (peer(60),))) == [], "it comes too late"


LIES: list[tuple[str, Any]] = [
    ("its own successor", lambda n: Neighbours(peer(50), n, peer(50), (peer(50), peer(50)))),
    ("itself all along", lambda n: Neighbours(peer(50), n, None, (peer(0), peer(0)))),
    ("beyond the circle", lambda n: Neighbours(peer(50), n, Peer(SIZE + 3, "http://x"), (Peer(-4, "http://x"),))),
    ("nowhere", lambda n: Neighbours(peer(50), n, Peer(20, ""), (Peer(60, ""),))),
    ("another", lambda n: Neighbours(peer(51), n, peer(3), (peer(4),))),
    ("this node", lambda n: Neighbours(peer(0), n, peer(3), (peer(4),))),
    ("another kind", lambda n: Found(peer(50), n, Run(0, (peer(3),)))),
    ("backwards", lambda n: Neighbours(peer(50), n, None, (peer(40), peer(30), peer(20)))),
]


@pytest.mark.parametrize("lie", [pytest.param(each, id=name) for name, each in LIES])
def test_what_cannot_be_true_does_not_enter_the_table(lie: Any) -> None:
    stage = joined(50, 100, predecessor=900)
    stage.wake()
    stage.take(lie(stage.question(Stabilise, 50).number))
    table = stage.node.table
    assert table.successor == peer(50) and table.predecessor == peer(900)
    assert set(table.peers) <= {50, 100, 900}


def test_a_search_ends_whatever_it_is_told() -> None:
    stage = joined(50, 100, predecessor=900)
    effects, asked = stage.take(Look(400)), 0
    while not delivered(effects):
        (ask,) = [each for each in effects if isinstance(each, Ask)]
        asked += 1
        by = peer(int(ask.of.removeprefix("http://")))
        lies = tuple(map(peer, (by.id, 100, 0, (by.id + 400) // 2)))
        effects = stage.take(Found(by, ask.question.number, Run(500, (peer(600),)) if asked % 2 else None, lies))
    assert asked < 30 and delivered(effects)[0].owner is None


PEERS = st.builds(Peer, PLACES | st.integers(-3, SIZE + 3), st.sampled_from(["http://a", "http://b", ""]))
NUMBERS = st.integers(0, 30)
MAYBE = st.none() | PEERS
SEVERAL = st.lists(PEERS, max_size=4).map(tuple)
RUNS = st.none() | st.builds(Run, PLACES, SEVERAL)
SAID = st.one_of(
    st.builds(Find, PEERS, NUMBERS, st.integers(-3, SIZE + 3)),
    st.builds(Stabilise, PEERS, NUMBERS),
    st.builds(Follow, PEERS, NUMBERS),
    st.builds(Ping, PEERS, NUMBERS),
    st.builds(Leave, PEERS, NUMBERS, MAYBE, SEVERAL),
    st.builds(Found, PEERS, NUMBERS, RUNS, SEVERAL),
    st.builds(Neighbours, PEERS, NUMBERS, MAYBE, SEVERAL),
    st.builds(Here, PEERS, NUMBERS),
    st.builds(Doubt, PEERS),
    st.builds(Unanswered, st.builds(Ping, PEERS, NUMBERS)),
    st.just(Woken()),
)


def answering(said: Any, asked: list[Ask]) -> Any:
    """What looks like an answer is one to something that was asked."""
    if not isinstance(said, Found | Neighbours | Here) or not asked:
        return said
    ask = asked[said.number % len(asked)]
    by = said.by if said.number % 3 else Peer(distance(0, said.by.id), ask.of)
    return msgspec.structs.replace(said, number=ask.question.number, by=by)


@given(st.lists(st.tuples(SAID, st.sampled_from([0.0, 0.3, 2.0, 40.0])), max_size=40))
@settings(max_examples=examples(200), deadline=None)
def test_whatever_is_said_its_table_is_one_of_a_ring(told: list[tuple[Any, float]]) -> None:
    stage = Stage(7)
    stage.take(Started())
    for message, seconds in told:
        stage.now = Instant(stage.now + round(seconds * SECOND))
        effects = stage.take(answering(message, stage.asked))
        assert all(isinstance(each, Ask | Answer | SetTimer | Deliver | Remember | Report) for each in effects)
        table = stage.node.table
        places = [table.place(each.id) for each in table.successors]
        assert places == sorted(set(places)) and 0 not in places and len(places) <= 8
        for each in (table.predecessor, *table.successors, *table.peers.values()):
            assert each is None or (each.is_sound and each.id != 7)
        for run in table.fingers:
            assert run is None or run.peers
        assert table.owns(7)


def test_questions_and_answers_travel() -> None:
    said: list[Any] = [
        Find(peer(LAST), 3, LAST),
        Leave(peer(1), 2, None, (peer(2),)),
        Found(peer(1), 2, Run(4, (peer(5),)), (peer(3),)),
        Neighbours(peer(1), 1, peer(4), ()),
        Here(peer(1), 1),
    ]
    for each in said:
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(each), type=Question | Reply) == each
