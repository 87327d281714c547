"""A filter that asks for a graph, read once for all that ask for the same."""

from functools import lru_cache

from msgspec.structs import replace

from tocsin.markup.graphs.graph_pattern import GraphQuery
from tocsin.markup.graphs.sparql_pattern import parse_sparql
from tocsin.markup.graphs.statement_pattern import parse_pattern
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
