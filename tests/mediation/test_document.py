"""The document says what the tables say."""

import runpy
from pathlib import Path

from tocsin.mediation.dialects import DIALECTS

TOP = Path(__file__).parents[2]
DOCUMENT = TOP / "docs" / "mediation.md"


def test_the_document_is_not_stale() -> None:
    assert DOCUMENT.read_text("utf-8") == runpy.run_path(str(TOP / "tools" / "mediation-page"))["document"](), (
        "run `make docs` and look at what changed"
    )


def test_every_dialect_has_its_pairs() -> None:
    text = DOCUMENT.read_text("utf-8").partition("## Every pair")[2]
    for source in DIALECTS:
        part = text.partition(f"### From {source.title}\n")[2].partition("### ")[0]
        assert part.count("\n| `") == sum(each.is_soap or each.write is not None for each in DIALECTS), source.name
