"""Tables on the site: small type for many columns; the verdict stands first, and each of its cells knows its column."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

MANY = 8  # columns from which on a table is set in small type, so that it fits beside the site's menu
VERDICT = "verdict"
LONG = re.compile(r"\S{15,}")  # characters of a word that may be broken, behind the signs that join its parts
JOINTS = re.compile(r"(?<=[_./])(?=[A-Za-z_])")
COLOURS = {"shows": "pass", "holds": "pass", "lossless": "pass", "contradicts": "fail", "refuted": "fail",
           "convicted": "fail"}  # fmt: skip


def mark_tables(app: Sphinx, doctree: nodes.document) -> None:
    """Mark tables of many columns, and those with a column *verdict*, whose rows `site.css` can show as cards."""
    for table in doctree.findall(nodes.table):
        rows = list(table.findall(nodes.row))
        head = [entry.astext() for entry in rows[0].children] if rows else []
        if rows and not any(head):  # Markdown has no table without a head
            for part in list(table.findall(nodes.thead)):
                part.parent.remove(part)
        if len(head) >= MANY:
            table["classes"].append("many-columns")
        if VERDICT in head:
            table["classes"].append("verdicts")
            move_first(table, head.index(VERDICT))
            head.insert(0, head.pop(head.index(VERDICT)))
            let_break(table)
            _label(table, head)


def move_first(table: nodes.table, column: int) -> None:
    """Move a column of a table to the front."""
    group = next(table.findall(nodes.tgroup))
    widths = [child for child in group.children if isinstance(child, nodes.colspec)]
    for parent, child in [(group, widths[column]), *((row, row.children[column]) for row in group.findall(nodes.row))]:
        parent.remove(child)
        parent.insert(0, child)


def let_break(table: nodes.table) -> None:
    """Let long names break behind an underscore, a dot or a slash, without a sign that would be copied."""
    for text in list(table.findall(nodes.Text)):
        if LONG.search(text):
            parts = JOINTS.split(text)
            broken = [[nodes.Text(part), nodes.raw("", "<wbr>", format="html")] for part in parts]
            text.parent.replace(text, [node for pair in broken for node in pair][:-1])


def _label(table: nodes.table, head: list[str]) -> None:
    """Write each cell's column in front of it, and colour the verdict."""
    body = next(table.findall(nodes.tbody))
    for row in body.findall(nodes.row):
        for name, entry in zip(head, row.children, strict=True):
            text = entry.astext().strip()
            if not text:
                entry["classes"].append("empty")
                continue
            if name == VERDICT:
                entry["classes"].append(f"verdict-{colour(text)}")
                _quiet(entry)
            paragraph = next(iter(entry.findall(nodes.paragraph)), None)
            if paragraph is not None:
                paragraph.insert(0, nodes.inline(text=f"{name}: ", classes=["cell-label"]))


def _quiet(entry: nodes.entry) -> None:
    """Set what a verdict adds, in brackets or behind a colon, in plain type, so that the word stands out."""
    behind = False
    for text in list(entry.findall(nodes.Text)):
        word, rest = ("", str(text)) if behind else re.match(r"([^:(]*:?)(.*)", str(text), re.S).groups()
        behind = behind or bool(rest) or word.endswith(":")
        detail = nodes.inline(text=rest, classes=["verdict-detail"])
        text.parent.replace(text, [*([nodes.Text(word)] if word else []), *([detail] if rest else [])])


def colour(verdict: str) -> str:
    """Return pass, fail or skip: the class of a verdict by its first word.

    >>> colour("convicted: joint 0.0174"), colour("lossless where tried"), colour("holds under"), colour("not tested")
    ('fail', 'pass', 'skip', 'skip')
    """
    if verdict == "holds under":
        return "skip"
    return COLOURS.get(verdict.split()[0].rstrip(":"), "skip")
