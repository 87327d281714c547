"""An event as an RDF graph (OPS s3.1)."""

from msgspec import Struct

HOME = "_:H"


class Vertex(Struct, frozen=True, gc=False):
    """A thing or a literal. `term` is as N-Triples has it: `_:H`, `<iri>`, `"450"^^<datatype>`.

    `classes` are those that are stated (IRIs), those of an ontology's individual included; of a literal it is the
    datatype. A literal has its lexical form, and is a vertex of its own at each arc.
    """

    term: str
    classes: tuple[str, ...]
    lexical: str | None = None
    language: str = ""


class Arc(Struct, frozen=True, array_like=True, gc=False):
    source: int
    property: str
    target: int


class EventGraph(Struct, frozen=True):
    """Vertex 0 is home, and there are paths from it to all others."""

    vertexes: tuple[Vertex, ...]
    arcs: tuple[Arc, ...]
