"""Tables: what the header says, what each row may hold."""

import pytest

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import world_csv
from tocsin.semantics.interest.changes import CastVote, PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_forms import demo

FIG_14 = world_csv.write(demo())


def test_the_table_of_fig_14_alone_makes_a_world() -> None:
    world = World.of(world_csv.read(FIG_14, create=True))
    assert len(world.edges) == 18
    assert world.edges.keys() == demo().edges.keys()
    assert set(world.categories) == set(demo().categories)
    assert set(world.topics) == set(demo().topics)


def test_without_leave_to_make_names_the_changes_are_for_a_world_that_has_them() -> None:
    changes = world_csv.read(FIG_14)
    assert all(isinstance(change, PutEdge) for change in changes)
    with pytest.raises(Refusal, match="there is no category"):
        World.of(changes)


@pytest.mark.parametrize(
    "data",
    [
        b"CategorySender,Topic,CategoryReceiver\nA,T,B\n",
        b"categorysender, TOPIC ,categoryreceiver\r\n A , T , B \r\n\r\n",
        b"from,topic,to\nA,T,B",
        b"topic,to,from\nT,B,A\n",
        b"\xef\xbb\xbfsource,topic,target\n,,\nA,T,B\n",
        b"CategorySender\tTopic\tCategoryReceiver\nA\tT\tB\n",
    ],
)
def test_a_table_of_edges(data: bytes) -> None:
    assert world_csv.read(data) == (PutEdge(Edge("A", "T", "B")),)


def test_a_table_of_services() -> None:
    assert world_csv.read(b"Service,Categories\nS,A; B\nR,A;\n") == (
        PutService(Service("S", ("A", "B"))),
        PutService(Service("R", ("A",))),
    )


def test_a_table_of_taxonomies_has_names_in_any_order() -> None:
    data = b"Kind,Name,Parent,Owner\nCategory,Local,All,ann\ncategory,All,,\ntopic,Quake,,\n"
    assert world_csv.read(data) == (PutTopic("Quake"), PutCategory("All"), PutCategory("Local", "All", "ann"))


def test_what_a_table_does_not_say_stays_as_it_is() -> None:
    world = World.of(
        [
            PutTopic("T"),
            PutCategory("A", owner="ann"),
            PutService(Service("S", ("A",), {"price": 3.0}, address="http://s.example/")),
            PutEdge(Edge("A", "T", "A")),
            CastVote("A", "T", "A", Vote("bob", True)),
        ]
    )
    for data in (b"Service,Categories\nS,A\n", b"from,topic,to\nA,T,A\n", b"Kind,Name,Parent\ncategory,A,\n"):
        for change in world_csv.read(data, onto=world):
            world.apply(change)
    assert world.services["S"].qualities == {"price": 3.0}
    assert world.services["S"].address == "http://s.example/"
    assert len(world.edges["A", "T", "A"].votes) == 1
    assert world.owners == {"A": "ann"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "no header"),
        (b"\n\n", "no header"),
        (b"a,b,c\n1,2,3\n", "no header known here; write one of: CategorySender,Topic,CategoryReceiver"),
        (b"from,topic\nA,T\n", "no header"),
        (b"from,from,to\nA,T,B\n", "no header"),
        (b"from,topic,to\nA,T\n", "line 2: 2 cells where the header has 3"),
        (b"from,topic,to\nA,T,B,C\n", "line 2: 4 cells"),
        (b"from,topic,to\nA,,B\n", "line 2: topic is empty"),
        (b"from,topic,to\nA,T,B\n\nA,T,B\n", "line 4: edge A -T-> B stands already at line 2"),
        (b'from,topic,to\n"A,T,B\n', "line 2: not readable as CSV"),
        (b"from,topic,to\n" + b"A" * 200_000 + b",T,B\n", "line 2: not readable as CSV"),
        (b"from,topic,to\nA,T,\xff\n", "not UTF-8 at byte 18"),
        (b"Service,Categories\nS,\n", "line 2: service 'S' has no category"),
        (b"Service,Categories\nS,A;A\n", "line 2: .* a category twice"),
        (b"Service,Categories\na/b,A\n", "line 2: .*slash"),
        (b"Kind,Name,Parent\nplace,A,\n", "line 2: the kind is 'topic' or 'category', not 'place'"),
        (b"Kind,Name,Parent\ntopic,A,B\ntopic,B,A\n", "the topic taxonomy has a cycle: A under B under A"),
        (b"Kind,Name,Parent,Owner\ntopic,A,,ann\n", "line 2: a topic has no owner"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(data: bytes, text: str) -> None:
    with pytest.raises(Refusal, match=text):
        world_csv.read(data)


def test_a_name_that_the_world_does_not_have_is_named_with_its_line() -> None:
    with pytest.raises(Refusal, match="line 3: there is no category 'C'; there are: A; add it"):
        world_csv.read(b"from,topic,to\nA,T,A\nA,T,C\n", onto=World.of([PutTopic("T"), PutCategory("A")]))


def test_a_table_that_cannot_hold_a_name_is_not_written() -> None:
    world = World.of([PutCategory("A;B"), PutService(Service("S", ("A;B",)))])
    with pytest.raises(Refusal, match="JSON or Turtle"):
        world_csv.write(world, "services")


def test_a_table_that_there_is_not() -> None:
    with pytest.raises(Refusal, match="edges, services, taxonomies"):
        world_csv.write(World(), "votes")
