"""Tocsin: an event-notification platform.

`Client` and `Consumer` are the client library; `tocsin.blocking` has both for programs without a loop.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tocsin.client.client import Client
    from tocsin.client.consumer import Consumer, Received
    from tocsin.client.errors import BadSignature, ClientError, Unreachable
    from tocsin.client.replies import ReplyView, all_replied, count, deadline, fraction, quiet
    from tocsin.client.values import Ended, Lease, PullPoint, Registration, Status
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
    "ReplyView",
    "Status",
    "Topic",
    "Unreachable",
    "__version__",
    "all_replied",
    "count",
    "deadline",
    "fraction",
    "quiet",
]
_MODULES = {
    "tocsin.client.client": ("Client",),
    "tocsin.client.consumer": ("Consumer", "Received"),
    "tocsin.client.errors": ("BadSignature", "ClientError", "Unreachable"),
    "tocsin.client.replies": ("ReplyView", "all_replied", "count", "deadline", "fraction", "quiet"),
    "tocsin.client.values": ("Ended", "Lease", "PullPoint", "Registration", "Status"),
    "tocsin.model.names": ("QName", "Topic"),
    "tocsin.model.notification": ("Notification", "Payload"),
}


def __getattr__(name: str) -> Any:
    """Imported when first used: the command line, and Spark's workers, have no use for it."""
    module = next((module for module, names in _MODULES.items() if name in names), None)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(module), name)
    return found
