"""Graph patterns (OPS s4): the vertexes, arcs and tests that an event graph must match."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.markup.graphs.literals import Value

HOME = "_:H"
Comparator = Literal["<", "<=", ">", ">=", "=", "!="]


class Compared(Struct, frozen=True, tag=True, cache_hash=True):
    how: Comparator
    value: Value


class Like(Struct, frozen=True, tag=True, cache_hash=True):
    """A regular expression that is found in a string, in the syntax of RE2; of the flags of SPARQL, `i s m x q`."""

    regex: str
    flags: str = ""


class Spoken(Struct, frozen=True, tag=True, cache_hash=True):
    """`langMatches(lang(?x), range)`."""

    range: str


class All(Struct, frozen=True, tag=True, cache_hash=True):
    tests: tuple["Test", ...]


class Any(Struct, frozen=True, tag=True, cache_hash=True):
    tests: tuple["Test", ...]


class Opposite(Struct, frozen=True, tag=True, cache_hash=True):
    test: "Test"


Test = Union[Compared, Like, Spoken, All, Any, Opposite]  # noqa: UP007 - names its own members


class PatternVertex(Struct, frozen=True, cache_hash=True):
    """`name` is `_:H`, a variable (`?1`, `_:b`), or that of a constant, which need not be unique.

    It must be of all these classes (IRIs), be that constant (a term as N-Triples has it), and pass all tests.
    """

    name: str
    classes: tuple[str, ...] = ()
    constant: str | None = None
    tests: tuple[Test, ...] = ()


class PatternArc(Struct, frozen=True, array_like=True, cache_hash=True):
    """From a vertex to another, by position, along a property (an IRI) or one below it."""

    source: int
    property: str
    target: int


class GraphPattern(Struct, frozen=True, cache_hash=True):
    """Vertex 0 is home, and there are paths from it to all others.

    A variable that stands for literals at several arcs is a vertex at each of them, and `equal` says which have equal
    values. `optional` are larger patterns, which begin with this one: they say what else is bound where it is there.
    """

    vertexes: tuple[PatternVertex, ...]
    arcs: tuple[PatternArc, ...]
    equal: tuple[tuple[int, int], ...] = ()
    optional: tuple["GraphPattern", ...] = ()


class GraphQuery(Struct, frozen=True, cache_hash=True):
    """One of the alternatives must match: injectively on vertexes (OPS Definition 1), or as SPARQL has it, where two
    variables may stand for the same. `variables` are those that a subscriber is told, in order."""

    alternatives: tuple[GraphPattern, ...]
    variables: tuple[str, ...] = ()
    injective: bool = True
