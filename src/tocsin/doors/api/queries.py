"""What a query string says, as the API reads it."""

import re

from starlette.requests import HTTPConnection

from tocsin.model.refusal import Refusal

MOST_ITEMS = 1000
LONGEST_WAIT = 300.0
_WAIT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)?", re.ASCII)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, None: 1.0}


def asked_limit(request: HTTPConnection) -> int:
    """How many a page may have."""
    return max(1, min(asked_whole(request, "limit", 100), MOST_ITEMS))


def asked_flag(request: HTTPConnection, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise Refusal("malformed", f"{name}={text[:80]!r} is neither true nor false")
    return text == "true"


def asked_whole(request: HTTPConnection, name: str, default: int) -> int:
    found = asked_whole_or_none(request, name)
    return default if found is None else found


def asked_whole_or_none(request: HTTPConnection, name: str) -> int | None:
    text = request.query_params.get(name)
    return None if text is None else whole_number(name, text)


def whole_number(name: str, text: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise Refusal("malformed", f"{name}={text[:80]!r} is not a whole number")
    return int(text)


def asked_wait(request: HTTPConnection) -> float:
    """In seconds, and no longer than the longest: who asks for more gets an empty answer then, and asks again."""
    text = request.query_params.get("wait", "0")
    found = _WAIT.fullmatch(text)
    if found is None:
        raise Refusal("malformed", f"wait={text[:80]!r} is not a time such as 30s, 500ms or 2m")
    return min(LONGEST_WAIT, float(found[1]) * _UNITS[found[2]])
