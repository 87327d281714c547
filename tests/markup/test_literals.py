"""Values of literals, as they are written and as terms of N-Triples."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.markup.graphs.literals import LANG_STRING, XSD, Kind, Value, literal_term, literal_value
from tocsin.semantics.events.event_graph import literal, value_of

_NAMES = (
    "integer decimal double float byte unsignedLong negativeInteger boolean date dateTime dateTimeStamp string token"
    " anyURI gYear duration int"
)
_FORMS = (
    "0 -0 +5 127 128 -129 18446744073709551616 1.5 .5 5. 1e3 1E-400 1e999 INF +INF -INF NaN true false 2 x"
    " 2024-02-29 2023-02-29 1900-02-29 2000-02-29 2024-02-29Z 2024-01-01+14:00 2024-01-01+14:01 -0001-03-01 0000-01-01"
    " 123456-01-01 02024-01-01 2024-01-01T24:00:00 2024-01-01T24:00:00.0 2024-01-01T24:00:00.1 2024-12-31T23:59:59.25Z"
    " 2024-01-01T12:30:00-05:30 2024-01-01T12:30:60 2024-13-01 1969-12-31T23:59:59.9 12:00:00 P1D"
)
NAMES, FORMS = _NAMES.split(), _FORMS.split()


@pytest.mark.parametrize(
    ("lexical", "name", "value"),
    [
        ("450", "integer", Value(Kind.NUMBER, 450.0)),
        (" 4.50\n", "decimal", Value(Kind.NUMBER, 4.5)),
        ("-INF", "float", Value(Kind.NUMBER, -math.inf)),
        ("128", "byte", Value(Kind.OTHER, text=f'"128"^^<{XSD}byte>')),
        ("1", "boolean", Value(Kind.BOOLEAN, 1.0)),
        ("1970-01-02", "date", Value(Kind.TIME, 86400.0)),
        ("1969-12-31T23:00:00-01:00", "dateTime", Value(Kind.TIME, 0.0)),
        ("2000-02-30", "date", Value(Kind.OTHER, text=f'"2000-02-30"^^<{XSD}date>')),
        (" x ", "string", Value(Kind.STRING, text=" x ")),
    ],
)
def test_values(lexical: str, name: str, value: Value) -> None:
    assert literal_value(lexical, XSD + name) == value


@settings(max_examples=examples(400))
@given(st.sampled_from(FORMS) | st.text(max_size=4), st.sampled_from(NAMES))
def test_a_term_means_what_is_written(lexical: str, name: str) -> None:
    ours, theirs = literal_value(lexical, XSD + name), value_of(literal(literal_term(lexical, XSD + name)))
    assert ours == theirs or (ours.kind == theirs.kind and math.isnan(ours.number) and math.isnan(theirs.number))


def test_a_text_with_a_language_is_a_string() -> None:
    assert literal_value("chat", LANG_STRING, "fr") == Value(Kind.STRING, text="chat") == value_of(literal('"chat"@fr'))
