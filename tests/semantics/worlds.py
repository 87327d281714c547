"""Random worlds, and what it means that two are the same."""

from hypothesis import strategies as st

from tocsin.model.identity import Instant
from tocsin.semantics.interest.changes import Change, PutCategory, PutEdge, PutRules, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.world import World

TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"), max_size=12)
NAME = st.one_of(
    st.sampled_from(["A", "B", "Disaster Info", "a/b", "50 %", "#x:y", "é ü", 'comma, "quote"', "=1+1", "<tag>&"]),
    TEXT.filter(lambda text: bool(text) and text.isprintable() and text == text.strip()),
)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
INSTANT = st.integers(0, 4_000_000_000_000_000_000).map(Instant)
PERSON = TEXT.filter(bool)


@st.composite
def taxonomies(draw: st.DrawFn, most: int = 5) -> dict[str, str | None]:
    names = draw(st.lists(NAME, unique=True, min_size=1, max_size=most))
    parents = {name: draw(st.sampled_from([None, *names[:place]])) for place, name in enumerate(names)}
    order = draw(st.permutations(names))
    return {name: parents[name] for name in order}


@st.composite
def services(draw: st.DrawFn, name: str, topics: list[str], categories: list[str], others: list[str]) -> Service:
    told = st.dictionaries(st.sampled_from(topics), st.sampled_from(others)) if others else st.just({})
    return Service(
        name,
        tuple(draw(st.lists(st.sampled_from(categories), unique=True, min_size=1))),
        draw(st.dictionaries(TEXT, FINITE, max_size=2)),
        tuple(draw(st.lists(TEXT, unique=True, max_size=2))),
        draw(told),
        *draw(st.tuples(TEXT, TEXT, TEXT, TEXT)),
    )


@st.composite
def edges(draw: st.DrawFn, topics: list[str], categories: list[str]) -> Edge:
    ends = st.sampled_from(categories)
    votes = st.builds(Vote, PERSON, st.booleans(), INSTANT, TEXT)
    figure = st.none() | FINITE
    return Edge(
        *(draw(ends), draw(st.sampled_from(topics)), draw(ends)),
        proposed_by=draw(TEXT),
        when=draw(INSTANT),
        votes=tuple(draw(st.lists(votes, unique_by=lambda vote: vote.by, max_size=3))),
        support=draw(figure),
        confidence=draw(figure),
        lift=draw(figure),
        note=draw(TEXT),
    )


@st.composite
def worlds(draw: st.DrawFn) -> World:
    topics, categories = draw(taxonomies()), draw(taxonomies())
    names = draw(st.lists(NAME.filter(lambda name: "/" not in name), unique=True, max_size=4))
    made = [
        draw(services(name, list(topics), list(categories), [each for each in names if each != name])) for name in names
    ]
    kept = draw(st.lists(edges(list(topics), list(categories)), unique_by=lambda edge: edge.key, max_size=4))
    world = World()
    world.apply(draw(st.builds(PutRules, st.booleans(), st.booleans(), st.integers(1, 9))))
    put_all(world, [PutTopic(name) for name in topics], [PutCategory(name) for name in categories])
    put_all(world, [PutTopic(*each) for each in topics.items()])
    put_all(world, [PutCategory(*each, draw(st.none() | PERSON)) for each in categories.items()])
    put_all(world, [PutService(Service(each.name, each.categories)) for each in made], map(PutService, made))
    put_all(world, map(PutEdge, kept))
    return world


def put_all(world: World, *groups: "list[Change] | map[Change]") -> None:
    for group in groups:
        for change in group:
            world.apply(change)


def contents(world: World) -> tuple[object, ...]:
    """All of a world; in what order it came does not matter."""
    return (
        world.rules,
        dict(world.topics.items()),
        dict(world.categories.items()),
        world.owners,
        world.services,
        world.edges,
    )
