"""What docs/notebook.md shows is what its blocks print, in a session that is not ours."""

from pathlib import Path

import pytest
from tests.pipeline.notebook import BLOCK, PAGE, printed


@pytest.mark.spark
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.broker
def test_the_notebook_prints_what_it_shows(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    shown = [text for _, text in BLOCK.findall(page)]
    assert len([each for each in shown if each]) > 5
    assert printed(page, tmp_path) == shown
    assert not [*(tmp_path / "data/tables/_state").glob("*")], "the compiled subscriptions are gone"
