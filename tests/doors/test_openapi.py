"""The API's description is part of what users depend on: it changes only on purpose, and then with this file."""

from pathlib import Path

import msgspec

from tocsin import __version__
from tocsin.doors.api import openapi

GOLDEN = Path(__file__).parent / "golden" / "openapi.json"


def test_the_description_is_the_golden_one() -> None:
    described = msgspec.json.encode(openapi.document("http://broker.example"), order="sorted").decode()
    found = msgspec.json.format(described.replace(f'"version":"{__version__}"', '"version":"VERSION"')) + "\n"
    assert found == GOLDEN.read_text()
