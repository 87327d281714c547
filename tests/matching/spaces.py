"""Information spaces of every kind of dimension, their boxes and points; small enough that they meet often."""

from hypothesis import strategies as st

from tocsin.model.filters import InBox
from tocsin.model.space import WHOLE, Coordinate, Dimension, InformationSpace, Interval, Like, OneOf, Side

MANY = tuple(f"v{n}" for n in range(300))  # more than there are cells
DIMENSIONS = [
    Dimension("s", "string"),
    Dimension("ranged", "number", 0.0, 5.0),
    Dimension("free", "number"),
    Dimension("e", "enumeration", values=("a", "b", "ab")),
    Dimension("m", "enumeration", values=MANY),
    Dimension("during", "time", 0.0, 1e6),
    Dimension("ever", "time"),
]
LETTERS = st.text("ab", max_size=3)
TEXTS = LETTERS.filter(bool)
EDGES = [0.0, 1.0, 2.5, 4.9999999999999, 5.0]
NUMBERS = {
    "ranged": st.sampled_from(EDGES) | st.floats(0.0, 5.0),
    "free": st.sampled_from([*EDGES, -1.0, -3e9, 1e300, 1e-300, -1e-300]) | st.floats(-1e9, 1e9),
    "during": st.sampled_from([0.0, 3599.0, 3600.0, 1e6]) | st.floats(0.0, 1e6),
    "ever": st.sampled_from([0.0, -3600.0, 918_000.0, 921_600.0, 1.7e9]) | st.floats(-2e6, 2e6),
}


def spaces() -> st.SearchStrategy[InformationSpace]:
    some = st.lists(st.sampled_from(DIMENSIONS), min_size=1, max_size=3, unique=True)
    return some.map(lambda dimensions: InformationSpace("s", tuple(dimensions)))


def coordinates(dimension: Dimension) -> st.SearchStrategy[Coordinate]:
    match dimension.kind:
        case "string":
            return TEXTS | st.just("abba")
        case "enumeration":
            return st.sampled_from(dimension.values)
    return NUMBERS[dimension.name].map(float)


def sides(dimension: Dimension) -> st.SearchStrategy[Side]:
    match dimension.kind:
        case "string":
            sets = st.lists(TEXTS, min_size=1, max_size=3).map(lambda values: OneOf(tuple(values)))
            return st.just(WHOLE) | st.builds(Like, LETTERS, LETTERS) | sets
        case "enumeration":
            some = st.lists(st.sampled_from(dimension.values), min_size=1, max_size=3)
            return st.just(WHOLE) | st.just(OneOf(dimension.values)) | some.map(lambda values: OneOf(tuple(values)))
    numbers = NUMBERS[dimension.name].map(float)
    between = st.tuples(numbers, numbers).map(sorted)
    closed = between.map(lambda ends: Interval(ends[0], ends[1]))
    opened = between.map(lambda ends: Interval(ends[0], ends[1], low_open=True, high_open=True))
    return st.one_of(
        st.just(WHOLE),
        closed,
        opened,
        numbers.map(lambda low: Interval(low, low_open=True)),
        numbers.map(lambda high: Interval(high=high)),
    )


def boxes(space: InformationSpace) -> st.SearchStrategy[InBox]:
    return st.tuples(*map(sides, space.dimensions)).map(lambda each: InBox(space.name, each))


def points(space: InformationSpace) -> st.SearchStrategy[tuple[Coordinate, ...]]:
    return st.tuples(*map(coordinates, space.dimensions))


def inside(point: tuple[Coordinate, ...], box: InBox) -> bool:
    """The oracle."""
    return all(each in side for each, side in zip(point, box.sides, strict=True))
