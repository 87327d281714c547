"""What the pages say of the tree is so: folders, decisions, links, and the walk's excerpt."""

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
ARCHITECTURE = (TOP / "docs" / "architecture.md").read_text("utf-8")
PAGES = [*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("docs/decisions/*.md")]


def test_the_table_has_every_folder() -> None:
    table = ARCHITECTURE.partition("## Folders")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {path.parent.name for path in (TOP / "src" / "tocsin").glob("*/__init__.py")}


def test_every_decision_is_listed() -> None:
    folder = TOP / "docs" / "decisions"
    listed = set(re.findall(r"\((\S+\.md)\)", (folder / "README.md").read_text("utf-8")))
    assert listed == {path.name for path in folder.glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} leads to {target}"
