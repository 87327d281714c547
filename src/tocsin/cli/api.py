"""The broker's JSON API, asked once from a command."""

import asyncio
from typing import Any
from urllib.parse import quote

import msgspec

from tocsin.cli.output import fail

LONGEST_ANSWER = 64 << 20
PAGE = 1000


def ask(broker: str, method: str, path: str, body: bytes = b"", media_type: str = "application/json") -> Any:
    """The document that is answered, None for an empty one; whatever goes wrong ends the command in a sentence."""
    return asyncio.run(_ask(broker.rstrip("/") + path, method, body, media_type))


def pages(broker: str, path: str, limit: int) -> tuple[list[dict[str, Any]], bool]:
    """Up to so many items, and whether there are more."""
    found: list[dict[str, Any]] = []
    after: str | None = ""
    while after is not None and len(found) < limit:
        page = ask(broker, "GET", f"{path}?limit={min(PAGE, limit - len(found))}&after={quote(after)}")
        found += page["items"]
        after = page["next"]
    return found, after is not None


async def _ask(url: str, method: str, body: bytes, media_type: str) -> Any:
    from tocsin.client.answers import problem_of
    from tocsin.wire.http_client import HttpClient

    http = HttpClient(max_body=LONGEST_ANSWER)
    try:
        answer = await http.request(method, url, (("Content-Type", media_type),), body)
    finally:
        await http.close()
    if answer.status == 0:
        fail(f"{problem_of(answer)}; is one running at {url}? start it with `tocsin serve`, or name it with --broker")
    if not 200 <= answer.status < 300:
        fail(problem_of(answer))
    return msgspec.json.decode(answer.body) if answer.body else None
