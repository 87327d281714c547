"""The answer to who asks whether it may send to us (HTTP 1.1 Web Hooks for Event Delivery 1.0.2 s4.2)."""

from collections.abc import Sequence

from tocsin.mediation.operations import Reply
from tocsin.model.identity import Pairs
from tocsin.wire.asgi import Scope, header

ANY = "*"


def options(scope: Scope, origins: Sequence[str]) -> Reply:
    """Consent is in the headers alone; without them the answer says no more than which method is taken."""
    asked = header(scope, b"webhook-request-origin").strip()
    headers: Pairs = (("Allow", "POST, OPTIONS"),)
    if asked and (ANY in origins or asked.lower() in origins):
        headers += (("WebHook-Allowed-Origin", ANY if ANY in origins else asked), ("WebHook-Allowed-Rate", ANY))
    return Reply(200, headers, b"")
