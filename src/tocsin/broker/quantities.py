"""How a setting is written: durations, sizes, numbers and addresses as text, and back."""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tocsin.store.shared.address import SharedLog

_DURATIONS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_SIZES = {"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
_DECIMAL_SIZES = {"TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3}
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]+)?(?:ms|[dhms]) *)+")
_DURATION_PART = re.compile(r"([0-9.]+)(ms|[dhms])")
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]+)?) ?([KMGT]i?B|B)?", re.IGNORECASE)
_ORIGIN = re.compile(r"\*|[a-z0-9.:\[\]_-]+")
_SECRET = re.compile("secret|key|token|password|credential|sas|signature", re.IGNORECASE)
NONE = "none"


class Kind(NamedTuple):
    """What a setting takes. `read` raises ValueError for anything else than `expects` says."""

    expects: str
    read: Callable[[str], Any]
    write: Callable[[Any], str] = str
    is_secret: bool = False  # what was given is not shown, also where it is wrong


def duration(text: str) -> float:
    """Seconds, from `250ms`, `30s`, `5m`, `1h30m` or `7d`."""
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    return sum(float(number) * _DURATIONS[unit] for number, unit in _DURATION_PART.findall(text))


def duration_text(seconds: float) -> str:
    return _in_largest(round(seconds * 1000), {unit: round(each * 1000) for unit, each in _DURATIONS.items()})


def size(text: str) -> int:
    """Bytes, from `1MiB`, `64 KiB`, `1.5GiB`, `10MB` or a bare number."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(text)
    units = {unit.lower(): each for unit, each in (_SIZES | _DECIMAL_SIZES).items()}
    return round(float(found[1]) * units[(found[2] or "B").lower()])


def size_text(number: int) -> str:
    return _in_largest(number, _SIZES)


def _in_largest(number: int, units: Mapping[str, int]) -> str:
    *larger, smallest = units
    unit = next((unit for unit in larger if number and number % units[unit] == 0), smallest)
    return f"{number // units[unit]}{unit}"


def whole(least: int, most: int | None = None) -> Kind:
    def read(text: str) -> int:
        number = int(text)
        if number < least or (most is not None and number > most):
            raise ValueError(text)
        return number

    return Kind(f"a whole number from {least}" + (" up" if most is None else f" to {most}"), read)


def one_of(*words: str) -> Kind:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return Kind(" or ".join(words), read)


def optional(kind: Kind) -> Kind:
    return Kind(
        f"{kind.expects}, or {NONE}",
        lambda text: None if text == NONE else kind.read(text),
        lambda value: NONE if value is None else kind.write(value),
    )


def _positive_duration(text: str) -> float:
    if not (seconds := round(duration(text), 3)):
        raise ValueError(text)
    return seconds


def _positive_size(text: str) -> int:
    if not (number := size(text)):
        raise ValueError(text)
    return number


def _base_url(text: str) -> str:
    parts = urlsplit(text)
    named = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    if not named or text.split() != [text] or parts.username is not None or parts.query or parts.fragment:
        raise ValueError(text)
    return text.rstrip("/")


def _filled(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise ValueError(text)
    return text


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


FLAG = Kind("true or false", _flag, lambda value: "true" if value else "false")


def _origins(text: str) -> tuple[str, ...]:
    names = tuple(each.strip().lower() for each in text.split(","))
    if not all(_ORIGIN.fullmatch(each) for each in names):
        raise ValueError(text)
    return names


def _options(text: str) -> tuple[tuple[str, str], ...]:
    found = [] if text == NONE else [each.partition("=") for each in text.split(",")]
    if not all(key.strip() and equals and value.strip() for key, equals, value in found):
        raise ValueError(text)
    return tuple((key.strip(), value.strip()) for key, _, value in found)


def _options_text(options: Iterable[tuple[str, str]]) -> str:
    shown = ",".join(f"{key}=***" if _SECRET.search(key) else f"{key}={value}" for key, value in options)
    return shown or NONE


DURATION = Kind("a duration such as 250ms, 30s, 5m, 1h or 7d", _positive_duration, duration_text)
SIZE = Kind("a size such as 512KiB, 1MiB or 2GiB", _positive_size, size_text)
SHARED_LOG = Kind(
    "a shared log such as kafka://host:9092/name",
    lambda text: SharedLog.parse(text).url,
    lambda url: SharedLog.parse(url).shown,
)
BASE_URL = Kind("an address such as http://broker.example:8080", _base_url)
HOST = Kind("a host name or address", _filled)
WORD = Kind("a name", _filled)
FOLDER = Kind("a folder", lambda text: Path(_filled(text)))
ORIGINS = Kind("* or names such as events.example.com, by commas", _origins, ",".join)
FILE_NAME = Kind("a file", lambda text: Path(_filled(text)))
PLACE = Kind("a folder or an address such as s3://bucket/tables", _filled)
OPTIONS = Kind(f"KEY=VALUE, more of them by commas, or {NONE}", _options, _options_text, is_secret=True)
