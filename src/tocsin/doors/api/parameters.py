"""What the handlers of a resource take: each kind of parameter says how it is read and how OpenAPI describes it.

Of a query parameter or a header that `says` nothing the description is silent.
"""

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import quote, unquote_to_bytes

from msgspec import Struct
from starlette.requests import HTTPConnection

from tocsin.model import names
from tocsin.model.filters import TopicIs
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression

Schema = Mapping[str, Any]
MOST_ITEMS = 1000
LONGEST_WAIT = 300.0
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer", "minimum": 0}
FLAG: Schema = {"type": "boolean", "default": False}
_WAIT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}
_PREFIX = "xmlns:"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def text(name: str, value: str) -> str:
    del name
    return value


def whole_number(name: str, value: str) -> int:
    if not value.isascii() or not value.isdecimal() or len(value) > 18:
        raise Refusal("malformed", f"{name}={value[:80]!r} is not a whole number")
    return int(value)


def flag(name: str, value: str) -> bool:
    if value not in ("true", "false"):
        raise Refusal("malformed", f"{name}={value[:80]!r} is neither true nor false")
    return value == "true"


def limit_of(most: int) -> Callable[[str, str], int]:
    return lambda name, value: max(1, min(whole_number(name, value), most))


def seconds(name: str, value: str) -> float:
    """No longer than the longest: who asks for more gets an empty answer then, and asks again."""
    found = _WAIT.fullmatch(value)
    if found is None:
        raise Refusal("malformed", f"{name}={value[:80]!r} is not a time such as 30s, 500ms or 2m")
    return min(LONGEST_WAIT, float(found[1]) * _UNITS[found[2]])


class Query(Struct, frozen=True):
    """Of the query string; `name` where it is not that of the handler's parameter."""

    says: str
    read: Callable[[str, str], Any] = text
    schema: Schema = {}  # text without
    required: bool = False
    name: str = ""

    place = "query"

    def value(self, request: HTTPConnection, name: str, default: Any) -> Any:
        found = request.query_params.get(name)
        return default if found is None else self.read(name, found)


class TopicQuery(Query, frozen=True):
    """A topic with names in Clark's form, or an expression whose prefixes are told by `xmlns:p=URI`."""

    says: str = "A topic expression; names in Clark's form, or prefixes declared by xmlns:p=URI"

    def value(self, request: HTTPConnection, name: str, default: Any) -> Any:
        query = request.query_params
        if not (expression := query.get(name)):
            return default
        if (topic := names.topic(expression)) is not None:
            return TopicIs((topic.steps,))
        spaces = {each.removeprefix(_PREFIX): uri for each, uri in query.items() if each.startswith(_PREFIX)}
        return parse_topic_expression(expression, "full", spaces)


class Header(Struct, frozen=True):
    says: str
    name: str
    read: Callable[[str, str], Any] = text
    schema: Schema = {}  # text without
    required: bool = False

    place = "header"

    def value(self, request: HTTPConnection, name: str, default: Any) -> Any:
        found = request.headers.get(name)
        return default if found is None else self.read(name, found)


class Path(Struct, frozen=True):
    """A part of the path. `exact` takes the path's tail as it was sent: the router drops a last line feed, and puts
    U+FFFD for what is no UTF-8."""

    says: str = ""
    read: Callable[[str, str], Any] = text
    schema: Schema = {}  # text without
    exact: bool = False


class Body(Struct, frozen=True):
    """A body that is not one JSON document of ours, or is read by the handler, with its media types and what they
    hold: as bytes, or read from JSON where it is annotated as another kind."""

    content: Mapping[str, Schema | type[Struct]] = {}


Parameter = Query | Header | Path


def exact_tail(request: HTTPConnection, below: str) -> str:
    raw: bytes = request.scope.get("raw_path") or quote(request.scope["path"]).encode()
    try:
        name = unquote_to_bytes(raw).decode().removeprefix(f"{below}/")
    except UnicodeDecodeError:
        raise Refusal("malformed", f"the path {raw[:80].decode('latin-1')!r} is not written in UTF-8") from None
    if _CONTROL.search(name):
        raise Refusal("malformed", f"the path names {name[:80]!r}, which holds control characters; leave them out")
    return name


def at_most(says: str, most: int = MOST_ITEMS, default: int = 100) -> Query:
    """Who asks for more gets as many as may be."""
    return Query(says, limit_of(most), {"type": "integer", "minimum": 1, "maximum": most, "default": default})


Limit = Annotated[int, at_most("At most so many")]
PlainLimit = Annotated[
    int, Query("At most so many: 1 to 1000, and 100 unless told", limit_of(MOST_ITEMS), {"type": "integer"})
]
By = Annotated[str, Query("Who asks, where nobody has to show it")]
After = Annotated[str, Query("What was `next` in the page before")]
AfterNumber = Annotated[int, Query("What was `next` in the page before", whole_number, NUMBER)]
Wait = Annotated[
    float,
    Query(
        "How long to wait for the first: 30s, 500ms, 2m, or a number of seconds; at most 5m",
        seconds,
        {"type": "string", "pattern": r"^[0-9]{1,9}([.][0-9]{1,9})?(ms|s|m)?$", "default": "0"},
    ),
]
