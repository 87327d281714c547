"""Reads graph filters as queries, and the paper's language of statement patterns (OPS s4)."""

from collections.abc import Mapping
from functools import lru_cache

from msgspec.structs import replace

from tocsin.markup.graphs._assembly import GroupPattern, NamedArc, Node, patterns
from tocsin.markup.graphs._filters import Filters, VariableTest, one_by_one
from tocsin.markup.graphs._names import NameReader, Tokens
from tocsin.markup.graphs.graph_pattern import HOME, GraphQuery
from tocsin.markup.graphs.literals import RDF
from tocsin.markup.graphs.sparql import parse_sparql
from tocsin.model.filters import Graph

_LONG = 1024  # characters: a pattern takes many times the memory of its text


def query_of(graph: Graph) -> GraphQuery:
    """Raises ExpressionError, with the position, when the text cannot be read or asks what cannot be asked."""
    return _of_short(graph) if len(graph.text) <= _LONG else _of_long(graph)


def _read(graph: Graph) -> GraphQuery:
    prefixes = dict(graph.prefixes)
    if graph.language == "sparql":
        return parse_sparql(graph.text, prefixes, not graph.plain)
    return replace(parse_pattern(graph.text, prefixes), injective=not graph.plain)


_of_short = lru_cache(65536)(_read)
_of_long = lru_cache(1024)(_read)

_ANYTHING = ("*", "_")


def parse_pattern(text: str, prefixes: Mapping[str, str]) -> GraphQuery:
    """The names of the prefixes have no colon; the empty one is for bare names."""
    return _Reader(text, prefixes).query()


class _Reader:
    def __init__(self, text: str, prefixes: Mapping[str, str]) -> None:
        self._words = Tokens(text)
        self._names = NameReader(self._words, prefixes)
        self._filters = Filters(self._words, self._names)
        self._arcs: list[NamedArc] = []
        self._classes: list[tuple[Node, str]] = []
        self._places: dict[Node, int] = {}
        self._tests: list[VariableTest] = []

    def query(self) -> GraphQuery:
        self._names.prologue()
        self._statement()
        while self._words.kind != "end":
            self._statement()
        if all(arc.source.name != HOME for arc in self._arcs):
            self._words.fail("one statement at least begins with _:H, the event's home vertex (OPS s4)", 0)
        said = GroupPattern(
            tuple(self._arcs), tuple(self._classes), tuple(self._tests), (), tuple(self._places.items())
        )
        told = tuple(node.name for node in self._places if node.name[0] == "?")
        return GraphQuery(tuple(patterns(self._words, said)), told)

    def _statement(self) -> None:
        words = self._words
        words.expect("(")
        subject = self._node(at_subject=True)
        words.expect(",")
        node = self._node(at_subject=False)
        words.expect(",")
        self._meta_statement(subject, node)
        while words.takes(","):
            self._filter(node)
        words.expect(")")

    def _node(self, at_subject: bool) -> Node:
        words = self._words
        at = words.at
        match words.kind:
            case "variable":
                node = Node(f"?{words.taken()[1:]}")
            case "blank":
                if self._words.word != HOME:
                    self._words.fail(f"{HOME} is home; other vertexes are variables, such as ?1")
                node = Node(self._words.taken())
            case _:
                node = self._constant(at)
        if at_subject and node.name[0] == '"':
            words.fail("a literal has no properties", at)
        self._places.setdefault(node, at)
        return node

    def _constant(self, at: int) -> Node:
        literal = self._names.signed()
        if literal is not None:
            return Node(literal.term, at)
        iri = self._names.iri(bare=True)
        return (
            Node(f"<{iri}>")
            if iri is not None
            else self._words.fail("a variable, _:H, a name or a literal is expected")
        )

    def _meta_statement(self, subject: Node, node: Node) -> None:
        words = self._words
        words.expect("(")
        self._class(subject)
        words.expect(",")
        at = words.at
        found = self._names.iri(bare=True)
        if found is None or found == f"{RDF}type":
            words.fail("the property's name is expected here; a class is said in the first and the third place", at)
        words.expect(",")
        self._class(node)
        words.expect(")")
        self._arcs.append(NamedArc(subject, found, node))

    def _class(self, node: Node) -> None:
        words = self._words
        if words.word in _ANYTHING:
            words.advance()
            return
        found = self._names.class_iri(bare=True)
        if found is None:
            words.fail("the name of a class is expected here, or * for any")
        self._classes.append((node, found))

    def _filter(self, node: Node) -> None:
        words = self._words
        at = words.at
        for asked in one_by_one(self._filters.read()):
            if asked.variable != node.name:
                words.fail(f"a filter is about the object of its statement, which is {node.name}", max(at, asked.at))
            self._tests.append(asked)
