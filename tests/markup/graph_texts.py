"""Random graph patterns, written in both languages."""

from hypothesis import strategies as st

from tocsin.markup.graphs.graph_pattern import (
    HOME,
    All,
    Any,
    Comparator,
    Compared,
    GraphPattern,
    Like,
    Opposite,
    PatternArc,
    PatternVertex,
    Spoken,
    Test,
)
from tocsin.markup.graphs.literals import Kind, Value

A, XSD = "urn:a#", "http://www.w3.org/2001/XMLSchema#"
CLASSES = tuple(f"{A}{name}" for name in "ABC")
DATATYPES = tuple(f"{XSD}{name}" for name in ("decimal", "string", "dateTime"))
LITERALS = ('"a \\"b\\""', '"é\\n"@en', f'"5"^^<{XSD}integer>', f'"-1e3"^^<{XSD}double>')
COMPARATORS: tuple[Comparator, ...] = ("<", "<=", ">", ">=", "=", "!=")
VALUES = (
    Value(Kind.NUMBER, 400.5),
    Value(Kind.NUMBER, -1.0),
    Value(Kind.STRING, text='a"\\\n'),
    Value(Kind.BOOLEAN, 1.0),
)


def tests(deep: int = 2) -> st.SearchStrategy[Test]:
    simple: st.SearchStrategy[Test] = st.one_of(
        st.builds(Compared, st.sampled_from(COMPARATORS), st.sampled_from(VALUES)),
        st.builds(Like, st.sampled_from(("a.c", "^x|y$", "\\d+")), st.sampled_from(("", "i", "ims", "q"))),
        st.builds(Spoken, st.sampled_from(("en", "*"))),
    )
    if not deep:
        return simple
    several = st.lists(tests(deep - 1), min_size=2, max_size=3).map(tuple)
    return st.one_of(
        simple,
        st.builds(All, several),
        st.builds(Any, several),
        tests(deep - 1).filter(lambda test: not isinstance(test, Opposite)).map(Opposite),
    )


_SOME_TESTS = st.lists(tests().filter(lambda test: not isinstance(test, All)), max_size=2, unique=True)


@st.composite
def patterns(draw: st.DrawFn) -> GraphPattern:
    """Things first, each hung on one before it; then constants and literals."""
    count = draw(st.integers(2, 4))
    vertexes = [PatternVertex(HOME if at == 0 else f"?v{at}", _classes(draw, CLASSES)) for at in range(count)]
    arcs = [PatternArc(draw(st.integers(0, at - 1)), _property(draw), at) for at in range(1, count)]
    anywhere = st.integers(0, count - 1)
    arcs += [PatternArc(draw(anywhere), _property(draw), draw(anywhere)) for _ in range(draw(st.integers(0, 2)))]
    for at in range(draw(st.integers(0, 3))):
        arcs.append(PatternArc(draw(anywhere), f"{A}own{at}", len(vertexes)))
        vertexes.append(draw(ends(f"?w{at}")))
    return GraphPattern(tuple(vertexes), tuple(dict.fromkeys(arcs)))


@st.composite
def ends(draw: st.DrawFn, name: str) -> PatternVertex:
    if draw(st.booleans()):
        constant = draw(st.sampled_from((f"<{A}{name[1:]}>", *LITERALS)))
        return PatternVertex(constant, (), constant)
    classes = (draw(st.sampled_from(DATATYPES)),)
    asked = draw(_SOME_TESTS)
    return PatternVertex(name, classes, None, tuple(asked))


def _classes(draw: st.DrawFn, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))


def _property(draw: st.DrawFn) -> str:
    return draw(st.sampled_from((f"{A}p", f"{A}q")))


def as_statements(pattern: GraphPattern) -> str:
    """Every class of a vertex is said wherever the vertex stands: some statements stand twice."""
    return "\n".join(line for arc in pattern.arcs for line in _statements(pattern, arc))


def _statements(pattern: GraphPattern, arc: PatternArc) -> list[str]:
    source, target = pattern.vertexes[arc.source], pattern.vertexes[arc.target]
    filters = "".join(f", {written(test, target.name)}" for test in target.tests)
    return [
        f"({source.name}, {target.name}, ({_name(one)}, {_name(arc.property)}, {_name(other)}){filters})"
        for one in source.classes
        for other in target.classes or ("",)
    ]


def _name(iri: str) -> str:
    return iri.replace(A, "") if iri.startswith(A) else f"<{iri}>" if iri else "*"


def as_sparql(pattern: GraphPattern) -> str:
    triples = [
        f"{pattern.vertexes[arc.source].name} <{arc.property}> {pattern.vertexes[arc.target].name} . "
        for arc in pattern.arcs
    ]
    classes = [f"{vertex.name} a <{each}> . " for vertex in pattern.vertexes for each in vertex.classes]
    filters = [f"FILTER({written(test, vertex.name)}) " for vertex in pattern.vertexes for test in vertex.tests]
    return f"SELECT * {{ {''.join((*triples, *classes, *filters))}}}"


def written(test: Test, name: str) -> str:
    match test:
        case Compared(how, value):
            return f"{name} {how} {_constant(value)}"
        case Like(regex, flags):
            return f"regex({name}, {quoted(regex)}, {quoted(flags)})"
        case Spoken(range_):
            return f"langMatches(lang({name}), {quoted(range_)})"
        case All(several):
            return "(" + " && ".join(written(each, name) for each in several) + ")"
        case Any(several):
            return "(" + " || ".join(written(each, name) for each in several) + ")"
        case Opposite(denied):
            return f"!({written(denied, name)})"


def _constant(value: Value) -> str:
    match value.kind:
        case Kind.NUMBER:
            return f"{value.number:.3f}"
        case Kind.BOOLEAN:
            return "true" if value.number else "false"
    return quoted(value.text)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
