"""Tocsin: an event-notification platform.

`Client` and `Consumer` are the client library; `tocsin.blocking` has their twins for programs without a loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.client import (
        BadSignature,
        Client,
        ClientError,
        Consumer,
        Ended,
        Lease,
        PullPoint,
        Received,
        Registration,
        Status,
        Unreachable,
    )
    from tocsin.model.names import QName, Topic
    from tocsin.model.notification import Notification, Payload

__version__ = "0.1.0"
__all__ = [
    "BadSignature",
    "Client",
    "ClientError",
    "Consumer",
    "Ended",
    "Lease",
    "Notification",
    "Payload",
    "PullPoint",
    "QName",
    "Received",
    "Registration",
    "Status",
    "Topic",
    "Unreachable",
    "__version__",
]
_ELSEWHERE = {
    "Notification": "tocsin.model.notification",
    "Payload": "tocsin.model.notification",
    "QName": "tocsin.model.names",
    "Topic": "tocsin.model.names",
}


def __getattr__(name: str) -> Any:
    """Imported when first used: the command line, and Spark's workers, have no use for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_ELSEWHERE.get(name, "tocsin.client")), name)
    return found
