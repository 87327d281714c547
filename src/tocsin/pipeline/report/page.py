"""A report as one page that needs nothing else: tables, and plots within it."""

from base64 import b64encode
from html import escape
from pathlib import Path

from tocsin.pipeline.report.plots import plots
from tocsin.pipeline.report.tables import NOTHING_YET, Grid, Section, sections, span, told
from tocsin.pipeline.report.values import Report

NAME = "report.html"
_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; color: #22272e; background: #f4f5f7; margin: 0; }
header, section, nav { max-width: 940px; margin: 0 auto; padding: 0 28px; }
header { padding-top: 34px; }
h1 { font-size: 27px; margin: 0; letter-spacing: -0.01em; }
header p, .note { color: #5d6570; margin: 4px 0; }
nav { padding-top: 10px; padding-bottom: 6px; }
nav a { color: #1f5582; text-decoration: none; margin-right: 18px; white-space: nowrap; }
nav a:hover { text-decoration: underline; }
section { background: #fff; border-radius: 10px; margin: 18px auto; padding-top: 18px; padding-bottom: 22px;
  box-shadow: 0 1px 3px rgba(20, 30, 45, 0.10); }
h2 { font-size: 19px; margin: 0 0 8px; }
h3 { font-size: 13px; margin: 0 0 3px; color: #5d6570; font-weight: 600; }
img { display: block; width: 100%; height: auto; margin: 10px 0 14px; }
.grids { display: flex; flex-wrap: wrap; gap: 18px 44px; margin-top: 10px; }
.grid { max-width: 100%; overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
th { font-weight: 600; color: #5d6570; border-bottom: 1px solid #d4d9df; }
th, td { padding: 3px 16px 3px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
tr + tr td { border-top: 1px solid #eef0f3; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; padding: 3px 0 3px 16px; }
"""


def write(found: Report, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    path.write_text(page(found), "utf-8")
    return path


def page(found: Report) -> str:
    made, drawn = sections(found), plots(found)
    links = "".join(f'<a href="#{_anchor(each)}">{escape(each.title)}</a>' for each in made)
    body = "".join(_section(each, drawn) for each in made) or f"<section><p>{NOTHING_YET}</p></section>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width"/><title>Tocsin: a report</title>'
        f"<style>{_STYLE}</style></head><body><header><h1>Tocsin: a report</h1>"
        f"<p>{escape(span(found))}; made {told(found.made)}</p></header>"
        f"<nav>{links}</nav>{body}</body></html>\n"
    )


def _section(found: Section, drawn: dict[str, str]) -> str:
    images = "".join(_image(name, drawn[name]) for name in found.plots if name in drawn)
    notes = "".join(f'<p class="note">{escape(each)}</p>' for each in found.notes)
    grids = "".join(map(_grid, found.grids))
    title = f"<h2>{escape(found.title)}</h2>"
    return f'<section id="{_anchor(found)}">{title}{notes}{images}<div class="grids">{grids}</div></section>\n'


def _image(name: str, svg: str) -> str:
    """Its numbers are in the tables."""
    return f'<img alt="a plot of {escape(name)}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"/>'


def _grid(found: Grid) -> str:
    head = "" if not any(found.columns) else _row("th", found.columns, found.names)
    rows = "".join(_row("td", row, found.names) for row in found.rows)
    return f'<div class="grid"><h3>{escape(found.title)}</h3><table>{head}{rows}</table></div>'


def _row(tag: str, cells: tuple[str, ...], names: int) -> str:
    kinds = ["" if at < names else ' class="number"' for at in range(len(cells))]
    made = (f"<{tag}{kind}>{escape(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True))
    return f"<tr>{''.join(made)}</tr>"


def _anchor(found: Section) -> str:
    return found.title.lower().replace(" ", "-")
