"""A filter that asks for a graph, read once for all that ask for the same."""

from functools import lru_cache

from msgspec.structs import replace

from tocsin.markup.graph_pattern import GraphQuery
from tocsin.markup.sparql_pattern import parse_sparql
from tocsin.markup.statement_pattern import parse_pattern
from tocsin.model.filters import Graph


@lru_cache(65536)
def query_of(graph: Graph) -> GraphQuery:
    """Raises ExpressionError, with the position, when the text cannot be read or asks what cannot be asked."""
    prefixes = dict(graph.prefixes)
    if graph.language == "sparql":
        return parse_sparql(graph.text, prefixes, not graph.plain)
    return replace(parse_pattern(graph.text, prefixes), injective=not graph.plain)
