"""The theorem notes of `proofs/`, copied into the site with links that resolve there."""

from __future__ import annotations

import re
from pathlib import Path

NOTES = Path(__file__).parents[2] / "proofs"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def write(folder: Path) -> None:
    """`folder`/index.md from README.md, and one page for each note."""
    notes = sorted(NOTES.glob("T*.md"))
    index = _links(_table((NOTES / "README.md").read_text(encoding="utf-8")))
    pages = {"index.md": index + "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(n.stem for n in notes) + "\n```\n"}
    pages |= {note.name: _links(note.read_text(encoding="utf-8")) for note in notes}
    put(folder, pages)


def put(folder: Path, pages: dict[str, str]) -> None:
    """Exactly these text files in a folder; those that are the same already are left alone."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _links(text: str) -> str:
    """Links to notes stay, README becomes the index; what is not in the site (code, tests) becomes its path."""

    def resolve(found: re.Match[str]) -> str:
        words, where = found.groups()
        if where.startswith(("http", "#")) or re.fullmatch(r"T\d\d_\w+\.md(#.*)?", where):
            return found[0]
        if where == "README.md":
            return f"[{words}](index.md)"
        return words if words.startswith("`") else f"`{words}`"

    return LINK.sub(resolve, text)


def _table(text: str) -> str:
    """The wide index without its columns of code and tests: each note has them, and they are in proofs/README.md."""
    rows = []
    for line in text.splitlines():
        cells = line.split(" | ")
        if line.startswith(("| id |", "| [T")) and len(cells) == 5:
            line = " | ".join([cells[0], cells[1], cells[4]])
        rows.append(line.replace("| --- | --- | --- | --- | --- |", "| --- | --- | --- |"))
    return "\n".join(rows)
