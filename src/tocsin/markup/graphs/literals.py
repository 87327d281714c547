"""RDF literals: the value that lexical form and datatype (XML Schema 1.1-2) stand for, and how values compare."""

import re
from collections.abc import Callable
from enum import IntEnum
from math import nan
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode


class Kind(IntEnum):
    OTHER = 0  # equal to itself alone
    NUMBER = 1
    STRING = 2
    BOOLEAN = 3
    TIME = 4  # seconds since 1970


class Value(NamedTuple):
    """Values of two kinds have no order, and are neither equal nor unequal. Numbers, truths and times are doubles;
    what is compared as text has the text."""

    kind: Kind
    number: float = 0.0
    text: str = ""


XSD = "http://www.w3.org/2001/XMLSchema#"
OLDER_XSD = ("http://www.w3.org/2000/10/XMLSchema#", "http://www.w3.org/1999/XMLSchema#")
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD_STRING = f"{XSD}string"
LANG_STRING = f"{RDF}langString"
LONGEST = 4000  # characters of a number: more of them take time with their square
_STRINGS = "string normalizedString token language Name NCName NMTOKEN ID IDREF ENTITY"
# What an integer type has (XML Schema 1.1-2 s3.4), from the least to the most.
_BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    **{name: (-(1 << bits), (1 << bits) - 1) for name, bits in (("long", 63), ("int", 31), ("short", 15), ("byte", 7))},
    **{
        f"unsigned{name}": (0, (1 << bits) - 1)
        for name, bits in (("Long", 64), ("Int", 32), ("Short", 16), ("Byte", 8))
    },
}
_FORM_OF = {
    **dict.fromkeys(_BOUNDS, "integer"),
    **{name: name for name in ("decimal", "boolean", "date", "dateTime", "dateTimeStamp")},
    "double": "double",
    "float": "double",
}
_TEXTS = frozenset((*(f"{XSD}{name}" for name in _STRINGS.split()), LANG_STRING, f"{RDF}PlainLiteral"))
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DAY = r"(?P<year>-?(?:[1-9][0-9]{3,}|0[0-9]{3}))-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"T(?P<clock>(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|24:00:00(?!\.0*[1-9]))(?P<fraction>\.[0-9]+)?"
_ZONE = r"(?P<zone>Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
_FORMS = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "decimal": re.compile(_NUMBER),
    "double": re.compile(rf"{_NUMBER}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"),
    "boolean": re.compile(r"(?P<true>true|1)|false|0"),
    "date": re.compile(f"{_DAY}{_ZONE}?"),
    "dateTime": re.compile(f"{_DAY}{_CLOCK}{_ZONE}?"),
    "dateTimeStamp": re.compile(_DAY + _CLOCK + _ZONE),
}
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def literal_value(lexical: str, datatype: str, language: str = "") -> Value:
    """What is no lexical form of its datatype is equal to itself alone, as is what has a datatype of no known order."""
    name = current(datatype)
    if name in _TEXTS:
        return Value(Kind.STRING, text=lexical)
    found = _typed(lexical.strip(" \t\r\n"), name.removeprefix(XSD)) if name.startswith(XSD) else None
    return found or Value(Kind.OTHER, text=literal_term(lexical, datatype, language))


def literal_term(lexical: str, datatype: str, language: str = "") -> str:
    """As N-Triples writes it."""
    if language:
        return str(Literal(lexical, language=language))
    return str(Literal(lexical, datatype=NamedNode(datatype)))


def number_value(number: float) -> Value:
    """One object for all that is no number, so that a test for it is the same as the next one."""
    return Value(Kind.NUMBER, number if number == number else nan)


def current(datatype: str) -> str:
    """A datatype of an older XML Schema as that of today."""
    for space in OLDER_XSD:
        if datatype.startswith(space):
            return XSD + datatype.removeprefix(space)
    return datatype


def _typed(text: str, name: str) -> Value | None:
    form = _FORM_OF.get(name, "")
    found = _FORMS[form].fullmatch(text) if form else None
    if found is None:
        return None
    match form:
        case "boolean":
            return Value(Kind.BOOLEAN, 1.0 if found["true"] else 0.0)
        case "date" | "dateTime" | "dateTimeStamp":
            # Seconds since 1970; without a zone it is UTC, and a date is where its day begins.
            parts = found.groupdict()
            if len(parts["year"]) > 300:
                return None
            year, month, day = int(parts["year"]), int(parts["month"]), int(parts["day"])
            leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
            if day > _DAYS[month - 1] + leap:
                return None
            hours, minutes, seconds = map(int, (parts.get("clock") or "0:0:0").split(":"))
            whole = _days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds - _offset(parts["zone"])
            return Value(Kind.TIME, float(whole) + float(parts.get("fraction") or 0))
        case "integer" if not _is_within(text, *_BOUNDS[name]):
            return None
    return number_value(float(text))


def _is_within(text: str, least: int | None, most: int | None) -> bool:
    if least is most is None:
        return True
    if len(text) > LONGEST:
        return False
    return (least is None or least <= int(text)) and (most is None or int(text) <= most)


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    return (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60) * (-1 if zone[0] == "-" else 1)


def _days(year: int, month: int, day: int) -> int:
    """Since 1970, by the Gregorian calendar. Years begin with March here, so that the leap day is their last."""
    year -= month <= 2
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + of_year - 719_468


# A form of each datatype that has values.
_SAMPLES = ("1", "-1", "true", "2000-01-01", "2000-01-01T00:00:00Z")
_MAYBE_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_MONTH, _DAY_OF_MONTH = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12][0-9]|3[01])"
_YEAR = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})"
_TIMES = r"T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?(?<!T)"
_OTHERS = {
    "time": rf"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?){_MAYBE_ZONE}",
    "gYear": _YEAR + _MAYBE_ZONE,
    "gYearMonth": rf"{_YEAR}-{_MONTH}{_MAYBE_ZONE}",
    "gMonth": rf"--{_MONTH}{_MAYBE_ZONE}",
    "gMonthDay": rf"--{_MONTH}-{_DAY_OF_MONTH}{_MAYBE_ZONE}",
    "gDay": rf"---{_DAY_OF_MONTH}{_MAYBE_ZONE}",
    "duration": rf"-?P(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:{_TIMES})?(?<!P)",
    "yearMonthDuration": r"-?P(?:[0-9]+Y)?(?:[0-9]+M)?(?<!P)",
    "dayTimeDuration": rf"-?P(?:[0-9]+D)?(?:{_TIMES})?(?<!P)",
    "hexBinary": r"(?:[0-9a-fA-F]{2})*",
    "base64Binary": r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
}
_OTHER_FORMS = {XSD + name: re.compile(form) for name, form in _OTHERS.items()}
_VERBATIM = (f"{XSD}string", f"{XSD}normalizedString")


def is_verbatim(datatype: str) -> bool:
    """Space around a text counts in strings alone (XML Schema 1.1-2 s4.3.6)."""
    return current(datatype) in _VERBATIM


def check_of(datatype: str) -> Callable[[str], object] | None:
    """What is true of the texts that the datatype has. None where every text is one, or the datatype is not known."""
    if is_verbatim(datatype):
        return None
    form = _OTHER_FORMS.get(current(datatype))
    if form is not None:
        return form.fullmatch
    if all(literal_value(each, datatype).kind == Kind.OTHER for each in _SAMPLES):
        return None
    return lambda text: literal_value(text, datatype).kind != Kind.OTHER
