"""What literals are compared as: kinds, and doubles."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from tests.effort import examples

from tocsin.markup.graphs.literals import Kind, Value
from tocsin.semantics.events.event_graph import Vertex, literal, value_of

XSD = "http://www.w3.org/2001/XMLSchema#"


def vertex(written: Literal) -> Vertex:
    return Vertex(str(written), (written.datatype.value,), written.value, written.language or "")


def value_of_term(term: str) -> Value:
    return value_of(literal(term))


def both(lexical: str, datatype: str) -> Value:
    written = Literal(lexical, datatype=NamedNode(datatype if ":" in datatype else f"{XSD}{datatype}"))
    assert value_of(vertex(written)) == value_of_term(str(written))
    return value_of(vertex(written))


@pytest.mark.parametrize(
    ("lexical", "datatype", "number"),
    [
        ("450", "decimal", 450.0),
        ("+450.50", "decimal", 450.5),
        (".5", "decimal", 0.5),
        (" 7\n", "integer", 7.0),
        ("-128", "byte", -128.0),
        ("18446744073709551615", "unsignedLong", 2.0**64),
        ("1e3", "double", 1000.0),
        ("-INF", "float", -math.inf),
        ("12", "http://www.w3.org/2000/10/XMLSchema#int", 12.0),
    ],
)
def test_numbers(lexical: str, datatype: str, number: float) -> None:
    assert both(lexical, datatype) == Value(Kind.NUMBER, number)


def test_no_number_is_a_number_of_its_own() -> None:
    found = value_of_term(f'"NaN"^^<{XSD}double>')
    assert found.kind == Kind.NUMBER and math.isnan(found.number)


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [
        ("1e3", "decimal"),
        ("1.0", "integer"),
        ("128", "byte"),
        ("0", "positiveInteger"),
        ("-1", "unsignedInt"),
        ("١", "integer"),
        ("1_000", "integer"),
        ("inf", "double"),
        ("", "decimal"),
        ("TRUE", "boolean"),
        ("2004-13-01T00:00:00Z", "dateTime"),
        ("2003-02-29T00:00:00Z", "dateTime"),
        ("2004-11-02", "dateTime"),
        ("2004-11-02T09:30:00Z", "date"),
        ("2004-11-02T24:00:01Z", "dateTime"),
        ("2004-11-02T09:30:00+14:01", "dateTime"),
        ("2004-11-02T09:30:00", "dateTimeStamp"),
        ("1" * 5000 + "-01-01T00:00:00Z", "dateTime"),
        ("P1D", "duration"),
        ("x", "urn:mine"),
        ("1", "unheardOf"),
    ],
)
def test_what_is_no_value_of_its_datatype_is_equal_to_itself_alone(lexical: str, datatype: str) -> None:
    found = both(lexical, datatype)
    assert found.kind == Kind.OTHER
    assert found.text == str(Literal(lexical, datatype=NamedNode(datatype if ":" in datatype else f"{XSD}{datatype}")))


@pytest.mark.parametrize(("text", "number"), [("true", 1.0), ("1", 1.0), ("false", 0.0), ("0", 0.0)])
def test_truths(text: str, number: float) -> None:
    assert both(text, "boolean") == Value(Kind.BOOLEAN, number)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:00:00", 0.0),  # no zone: UTC
        ("1970-01-01T01:00:00.25+01:00", 0.25),
        ("1969-12-31T24:00:00Z", 0.0),
        ("2000-02-29T12:00:00Z", 951825600.0),
        ("-0001-01-01T00:00:00Z", -62198755200.0),
        ("12004-11-02T09:30:00Z", 316668907800.0),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert both(text, "dateTime") == Value(Kind.TIME, seconds)


def test_a_date_is_where_its_day_begins() -> None:
    assert both("1970-01-02", "date") == both("1970-01-02T00:00:00", "dateTime")
    assert both("1970-01-02+01:00", "date") == Value(Kind.TIME, 82_800.0)


@settings(max_examples=examples(200))
@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_times_are_seconds_of_the_calendar(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    assert both(moment.isoformat(), "dateTime").number == moment.replace(tzinfo=UTC).timestamp()


def test_strings_with_and_without_a_language_are_strings() -> None:
    assert (
        value_of(vertex(Literal("chat", language="fr")))
        == Value(Kind.STRING, text="chat")
        == value_of_term('"chat"@fr')
    )
    assert value_of_term('"chat"') == both("chat", "string") == both("chat", "token")


@settings(max_examples=examples(300))
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_terms_are_read_as_they_are_written(text: str) -> None:
    assert value_of_term(str(Literal(text))) == value_of(vertex(Literal(text))) == Value(Kind.STRING, text=text)


@pytest.mark.parametrize("term", ["<urn:a>", "_:H"])
def test_things_are_equal_to_themselves_alone(term: str) -> None:
    assert value_of(Vertex(term, ())) == Value(Kind.OTHER, text=term)
