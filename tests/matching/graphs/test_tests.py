"""The meaning of tests, one literal at a time."""

import pytest

from tocsin.markup.graphs.graph_pattern import All, Any, Comparator, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.matching.graphs.definition import passes, speaks, verdict
from tocsin.semantics.events.event_graph import Vertex

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
FIVE = Vertex(f'"5"^^<{XSD}integer>', (f"{XSD}integer",), "5")
NAN = Vertex(f'"NaN"^^<{XSD}double>', (f"{XSD}double",), "NaN")
CHAT = Vertex('"Chat noir"@fr-ca', (LANG_STRING,), "Chat noir", "fr-ca")
YES = Vertex(f'"true"^^<{XSD}boolean>', (f"{XSD}boolean",), "true")
ODD = Vertex('"x"^^<urn:odd>', ("urn:odd",), "x")
THING = Vertex("<urn:x>", ("urn:C",))


def compared(how: Comparator, value: float | str) -> Test:
    return Compared(how, Value(Kind.STRING, text=value) if isinstance(value, str) else Value(Kind.NUMBER, value))


YES_, NO_, WRONG = compared("=", 5.0), compared("<", 5.0), compared("=", "5")


@pytest.mark.parametrize(
    ("how", "value", "expected"),
    [
        ("<", 6.0, True),
        ("<=", 5.0, True),
        (">", 5.0, False),
        (">=", 5.0, True),
        ("=", 5.0, True),
        ("!=", 5.0, False),
        ("=", "5", None),
        ("!=", "5", None),
        ("<", "6", None),
    ],
)
def test_comparisons(how: Comparator, value: float | str, expected: bool | None) -> None:
    assert verdict(compared(how, value), FIVE) is expected
    assert passes(compared(how, value), FIVE) is (expected is True)


def test_what_is_not_a_number_is_unequal_to_itself() -> None:
    same = Value(Kind.NUMBER, float("nan"))
    assert [verdict(Compared(how, same), NAN) for how in ("=", "!=", "<", ">=")] == [False, True, False, False]


def test_strings_are_ordered_by_code_point_whatever_their_language() -> None:
    assert verdict(compared("=", "Chat noir"), CHAT) is True
    assert verdict(compared("<", "a"), CHAT) is True and verdict(compared(">", "Chat"), CHAT) is True


def test_false_comes_before_true() -> None:
    no = Value(Kind.BOOLEAN, 0.0)
    assert verdict(Compared(">", no), YES) is True and verdict(Compared("=", no), YES) is False


def test_other_datatypes_are_equal_by_term_and_have_no_order() -> None:
    same, other = Value(Kind.OTHER, text=ODD.term), Value(Kind.OTHER, text='"y"^^<urn:odd>')
    assert verdict(Compared("=", same), ODD) is True and verdict(Compared("!=", same), ODD) is False
    assert verdict(Compared("=", other), ODD) is None and verdict(Compared("<", same), ODD) is None


@pytest.mark.parametrize(
    ("regex", "flags", "expected"),
    [
        ("noir$", "", True),
        ("^noir", "", False),
        ("CHAT", "", False),
        ("CHAT", "i", True),
        ("c h a t [ ] n", "ix", True),
        ("h.t n", "q", False),
        ("CHAT", "iq", True),
        (".", "q", False),
        ("(?i)chat", "", True),
    ],
)
def test_regular_expressions_are_searched_in_strings(regex: str, flags: str, expected: bool) -> None:
    assert verdict(Like(regex, flags), CHAT) is expected
    assert verdict(Like(regex, flags), FIVE) is None


def test_lines_by_flags() -> None:
    lines = Vertex('"a\\nb"', (f"{XSD}string",), "a\nb")
    found = [verdict(Like(regex, flags), lines) for regex in ("^b", "a.b") for flags in ("", "m", "s")]
    assert found == [False, True, False, False, False, True]


@pytest.mark.parametrize(
    ("language", "range_", "expected"),
    [
        ("fr-ca", "fr", True),
        ("fr-ca", "FR-CA", True),
        ("fr", "fr-ca", False),
        ("fra", "fr", False),
        ("fr", "*", True),
        ("", "*", False),
        ("", "fr", False),
        ("fr", "", False),
    ],
)
def test_languages_by_basic_filtering(language: str, range_: str, expected: bool) -> None:
    """RFC 4647 s3.3.1."""
    assert speaks(language, range_) is expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (All(()), True),
        (Any(()), False),
        (All((YES_, WRONG)), None),
        (All((WRONG, NO_)), False),
        (All((YES_, YES_)), True),
        (Any((NO_, WRONG)), None),
        (Any((WRONG, YES_)), True),
        (Any((NO_, NO_)), False),
        (Opposite(YES_), False),
        (Opposite(NO_), True),
        (Opposite(WRONG), None),
        (Opposite(All((YES_, WRONG))), None),
    ],
)
def test_logic_with_errors(test: Test, expected: bool | None) -> None:
    """SPARQL 1.1 s17.2."""
    assert verdict(test, FIVE) is expected


@pytest.mark.parametrize("test", [YES_, Like("x"), Spoken("*"), Opposite(YES_), All(())])
def test_a_thing_passes_nothing(test: Test) -> None:
    assert not passes(test, THING)
