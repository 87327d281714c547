"""Which texts a datatype of XML Schema has (1.1-2 s3.3)."""

import re
from collections.abc import Callable

from tocsin.markup.graphs.literal_values import XSD, current, literal_value
from tocsin.model.literal import Kind

# A form of each datatype that has values.
_SAMPLES = ("1", "-1", "true", "2000-01-01", "2000-01-01T00:00:00Z")
_ZONE = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_MONTH, _DAY = r"(?:0[1-9]|1[0-2])", r"(?:0[1-9]|[12][0-9]|3[01])"
_YEAR = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})"
_TIMES = r"T(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?(?<!T)"
_OTHERS = {
    "time": rf"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?){_ZONE}",
    "gYear": _YEAR + _ZONE,
    "gYearMonth": rf"{_YEAR}-{_MONTH}{_ZONE}",
    "gMonth": rf"--{_MONTH}{_ZONE}",
    "gMonthDay": rf"--{_MONTH}-{_DAY}{_ZONE}",
    "gDay": rf"---{_DAY}{_ZONE}",
    "duration": rf"-?P(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:{_TIMES})?(?<!P)",
    "yearMonthDuration": r"-?P(?:[0-9]+Y)?(?:[0-9]+M)?(?<!P)",
    "dayTimeDuration": rf"-?P(?:[0-9]+D)?(?:{_TIMES})?(?<!P)",
    "hexBinary": r"(?:[0-9a-fA-F]{2})*",
    "base64Binary": r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?",
    "language": r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*",
}
_FORMS = {XSD + name: re.compile(form) for name, form in _OTHERS.items()}
_VERBATIM = (f"{XSD}string", f"{XSD}normalizedString")


def is_verbatim(datatype: str) -> bool:
    """Space around a text counts in strings alone (XML Schema 1.1-2 s4.3.6)."""
    return current(datatype) in _VERBATIM


def check_of(datatype: str) -> Callable[[str], object] | None:
    """What is true of the texts that the datatype has. None where every text is one, or the datatype is not known."""
    if is_verbatim(datatype):
        return None
    form = _FORMS.get(current(datatype))
    if form is not None:
        return form.fullmatch
    if all(literal_value(each, datatype).kind == Kind.OTHER for each in _SAMPLES):
        return None
    return lambda text: literal_value(text, datatype).kind != Kind.OTHER
