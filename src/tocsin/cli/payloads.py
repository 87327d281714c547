"""What a payload's file is, by its name; for want of a known one, by how it begins."""

from pathlib import Path

_BY_NAME = {
    ".json": "application/json",
    ".xml": "application/xml",
    ".ttl": "text/turtle",
    ".nt": "application/n-triples",
    ".nq": "application/n-quads",
    ".rdf": "application/rdf+xml",
    ".jsonld": "application/ld+json",
}
_BY_FIRST_BYTE = {b"{": "application/json", b"[": "application/json", b"<": "application/xml"}


def media_type_of(name: str, payload: bytes) -> str:
    """The name goes first: N-Triples begin as XML does, and JSON-LD as JSON."""
    by_name = _BY_NAME.get(Path(name).suffix.lower())
    return by_name or _BY_FIRST_BYTE.get(payload.lstrip()[:1], "text/plain")
