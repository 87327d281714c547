"""What a query string says, as the API reads it."""

from starlette.requests import Request

from tocsin.model.refusal import Refusal

MOST_ITEMS = 1000


def asked_limit(request: Request) -> int:
    """How many a page may have."""
    return max(1, min(asked_whole(request, "limit", 100), MOST_ITEMS))


def asked_flag(request: Request, name: str) -> bool:
    text = request.query_params.get(name, "false")
    if text not in ("true", "false"):
        raise Refusal("malformed", f"{name}={text!r} is neither true nor false")
    return text == "true"


def asked_whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.isdecimal() or len(text) > 18:
        raise Refusal("malformed", f"{name}={text!r} is not a whole number")
    return int(text)
