"""The theorem notes of `proofs/`, copied into the site: links resolve there, and formulas are TeX."""

from __future__ import annotations

import re
from pathlib import Path

from _generate import tex

NOTES = Path(__file__).parents[2] / "proofs"
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


def write(folder: Path) -> None:
    """`folder`/index.md from README.md, and one page for each note."""
    notes = sorted(NOTES.glob("T*.md"))
    index = typeset(_links(_table((NOTES / "README.md").read_text(encoding="utf-8"))))
    pages = {"index.md": index + "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(n.stem for n in notes) + "\n```\n"}
    pages |= {note.name: typeset(_links(note.read_text(encoding="utf-8"))) for note in notes}
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


def typeset(text: str) -> str:
    """Return a note with its formulas as TeX: those in a sentence, in a table, and those on lines of their own."""
    parts: list[str] = []
    for block in re.split(r"(```.*?^```|\n\n+)", text, flags=re.M | re.S):
        lines = block.split("\n")
        if block.startswith("```") or not block.strip():
            parts.append(block)
        elif all(re.match(r" {4}", line) for line in lines):  # formulas, a table of numbers, or code
            indent = " " * (len(lines[0]) - len(lines[0].lstrip()) - 4)  # what stands below an item stays there
            shown = tex.display(lines)
            parts.append(block if shown is None else "\n".join(indent + line for line in shown.split("\n")))
        else:
            parts.append(
                "\n".join(line if line.startswith("#") else link(tex.prose(line), "") for line in _unwrap(lines))
            )
    return "".join(parts)


def link(line: str, folder: str) -> str:
    """Return a line with links from ids to theorem notes and papers; code stays."""

    def linked(found: re.Match[str]) -> str:
        if found["paper"]:
            return f"[arXiv:{found['paper']}](https://arxiv.org/abs/{found['paper']})"
        note = next(NOTES.glob(f"{found['note']}_*.md"), None) if found["note"] else None
        return f"[{found['note']}]({folder}{note.name})" if note else found[0]

    spared = r"`[^`]*`|\$[^$]*\$|\[[^\]]*\]\([^)]*\)"
    ids = r"\barXiv:(?P<paper>\d{4}\.\d{5})|\b(?P<note>T\d\d)\b"
    return re.sub(f"{spared}|{ids}", linked, line)


def _unwrap(lines: list[str]) -> list[str]:
    """Join the lines of a sentence, so that a formula may be broken between two; items and rows stay apart."""
    joined = lines[:1]
    for line in lines[1:]:
        if not line.strip() or re.match(r"\s*(?:[-*] |\d+\. |\||#)", line) or re.match(r"\||#", joined[-1]):
            joined.append(line)
        else:
            joined[-1] += " " + line.strip()
    return joined


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
