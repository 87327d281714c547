"""How a publisher hears of the view of the replies it asked for, whatever it publishes in."""

from msgspec.structs import replace

from tocsin.documents.replies import VIEWS
from tocsin.mediation.operations import Reply


def place_of(view: str, base_url: str) -> str:
    return f"{base_url}{VIEWS}/{view}"


def viewed(view: str, base_url: str, answer: Reply | None = None) -> Reply:
    """The answer to a publisher, with where the replies are to be seen."""
    said = answer or Reply(202, (), b"")
    return replace(said, headers=(*said.headers, ("Location", place_of(view, base_url))))
