"""The media type of what is published from a file."""

import pytest

from tocsin.cli.messages import media_type_of

GIVEN = (
    ("event.nt", b"<urn:a> <urn:b> <urn:c> .", "application/n-triples"),
    ("event.TTL", b"@prefix : <urn:a#> .", "text/turtle"),
    ("event.jsonld", b"{}", "application/ld+json"),
    ("event.json", b"null", "application/json"),
    ("-", b" <a/>", "application/xml"),
    ("-", b"[1]", "application/json"),
    ("note.txt", b"flood", "text/plain"),
)


@pytest.mark.parametrize(("name", "payload", "expected"), GIVEN)
def test_the_name_says_it_and_then_the_first_byte(name: str, payload: bytes, expected: str) -> None:
    assert media_type_of(name, payload) == expected
