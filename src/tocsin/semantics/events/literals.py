"""What the literals of events, and terms as N-Triples has them, are compared as."""

import re

from tocsin.markup.graphs.literal_values import LANG_STRING, XSD_STRING, literal_value
from tocsin.model.literal import Kind, Value
from tocsin.semantics.events.event_graph import Vertex

_TERM = re.compile(
    r'"(?P<text>(?:[^"\\]|\\.)*)"(?:@(?P<language>[A-Za-z0-9-]+)|\^\^<(?P<datatype>[^<>]*)>)?', re.DOTALL
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U(00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def value_of(vertex: Vertex) -> Value:
    """A thing, and a literal whose lexical form its datatype does not have, are equal to themselves alone."""
    if vertex.lexical is None:
        return Value(Kind.OTHER, text=vertex.term)
    return _value(vertex.lexical, vertex.classes[0] if vertex.classes else XSD_STRING, vertex.language)


def value_of_term(term: str) -> Value:
    if (found := _TERM.fullmatch(term)) is None:
        return Value(Kind.OTHER, text=term)
    language = found["language"] or ""
    datatype = found["datatype"] or (LANG_STRING if language else XSD_STRING)
    return _value(_ESCAPE.sub(_unescaped, found["text"]), datatype, language)


def _value(lexical: str, datatype: str, language: str) -> Value:
    return literal_value(lexical, LANG_STRING if language else datatype, language)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    return chr(int(code, 16)) if code else _ESCAPED.get(found[3], found[3])
