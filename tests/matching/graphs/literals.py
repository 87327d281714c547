"""Literals of several kinds, some with equal values, and random tests of them."""

from random import Random

from tocsin.markup.graphs.graph_pattern import All, Any, Comparator, Compared, Like, Opposite, Spoken, Test
from tocsin.markup.graphs.literals import Kind, Value
from tocsin.semantics.events.event_graph import Vertex

XSD = "http://www.w3.org/2001/XMLSchema#"
LANG_STRING = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"
COMPARATORS: tuple[Comparator, ...] = ("<", "<=", ">", ">=", "=", "!=")


def literal(lexical: str, datatype: str, language: str = "") -> Vertex:
    suffix = f"@{language}" if language else "" if datatype == XSD + "string" else f"^^<{datatype}>"
    return Vertex(f'"{lexical}"{suffix}', (datatype,), lexical, language)


LITERALS = (
    literal("1", XSD + "integer"),
    literal("1.0", XSD + "decimal"),
    literal("01", XSD + "integer"),
    literal("2.5", XSD + "double"),
    literal("NaN", XSD + "double"),
    literal("1", XSD + "string"),
    literal("ab", XSD + "string"),
    literal("ab", LANG_STRING, "en"),
    literal("abc", LANG_STRING, "en-gb"),
    literal("true", XSD + "boolean"),
    literal("1", XSD + "boolean"),
    literal("2024-01-01T00:00:00Z", XSD + "dateTime"),
    literal("2024-01-01T01:00:00+01:00", XSD + "dateTime"),
    literal("x", "urn:other"),
    literal("x", XSD + "integer"),  # ill-typed
)
VALUES = (
    Value(Kind.NUMBER, 1.0),
    Value(Kind.NUMBER, 2.0),
    Value(Kind.STRING, text="1"),
    Value(Kind.STRING, text="ab"),
    Value(Kind.BOOLEAN, 1.0),
    Value(Kind.TIME, 1704067200.0),
    Value(Kind.OTHER, text='"x"^^<urn:other>'),
)


def random_tests(random: Random) -> tuple[Test, ...]:
    return tuple(random_test(random) for _ in range(random.choice((1, 1, 2))))


def random_test(random: Random, deep: int = 2) -> Test:
    match random.choice(
        ("compared", "compared", "like", "spoken", "all", "any", "opposite") if deep else ("compared",)
    ):
        case "like":
            return Like(random.choice(("a", "^ab$", "B", "1")), random.choice(("", "i")))
        case "spoken":
            return Spoken(random.choice(("en", "EN-gb", "*")))
        case "all":
            return All((random_test(random, deep - 1), random_test(random, deep - 1)))
        case "any":
            return Any((random_test(random, deep - 1), random_test(random, deep - 1)))
        case "opposite":
            return Opposite(random_test(random, deep - 1))
        case _:
            return Compared(random.choice(COMPARATORS), random.choice(VALUES))
