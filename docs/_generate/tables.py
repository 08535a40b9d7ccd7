"""Tables on narrow screens: each cell of a table of verdicts knows its column, so that a row can be shown as a card."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

COLOURS = {"shows": "pass", "holds": "pass", "contradicts": "fail", "refuted": "fail"}


def label_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Mark tables whose first column is *verdict*; `site.css` shows their rows as cards where there is no room."""
    for table in doctree.findall(nodes.table):
        rows = [[entry.astext() for entry in row.children] for row in table.findall(nodes.row)]
        if rows and rows[0][0] == "verdict":
            table["classes"].append("verdicts")
            _label(table, rows[0])


def _label(table: nodes.table, head: list[str]) -> None:
    """Write each cell's column in front of it, and colour the verdict."""
    body = next(table.findall(nodes.tbody))
    for row in body.findall(nodes.row):
        for name, entry in zip(head, row.children, strict=True):
            text = entry.astext().strip()
            if not text:
                entry["classes"].append("empty")
                continue
            if name == "verdict":
                entry["classes"].append(f"verdict-{COLOURS.get(text, 'skip')}")
            paragraph = next(iter(entry.findall(nodes.paragraph)), None)
            if paragraph is not None:
                paragraph.insert(0, nodes.inline(text=f"{name}: ", classes=["cell-label"]))
