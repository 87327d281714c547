"""Several messages to one consumer made into one, where its format has a place for several.

A message for a consumer that takes several is written as a batch of one (CloudEvents JSON format 1.0 s4.2): an array
without anything around it. Batches are joined without being read again.
"""

from collections.abc import Iterable

from tocsin.model.identity import Pairs

BATCHED = "application/cloudevents-batch+json"


def combinable(headers: Pairs) -> bool:
    """Whether bodies that go out under these headers can be joined."""
    return any(name.lower() == "content-type" and _kind(value) == BATCHED for name, value in headers)


def combine(bodies: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(body[1:-1] for body in bodies)


def _kind(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
