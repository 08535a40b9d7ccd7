"""The tutorials as notebooks: each page's text and cells, to be downloaded from the page and run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.M | re.S)
OPTIONS = re.compile(r"\A(?::\w[^\n]*\n)+\n?")


def write(tutorials: Path, folder: Path) -> None:
    """Write a notebook for each tutorial into a folder."""
    folder.mkdir(exist_ok=True)
    for page in sorted(tutorials.glob("*.md")):
        if page.stem != "index":
            text = json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1, ensure_ascii=False) + "\n"
            path = folder / f"{page.stem}.ipynb"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")


def notebook(page: str) -> dict[str, Any]:
    """Return a page of MyST as a notebook (format 4): text between cells becomes Markdown, links lose their target.

    >>> made = notebook("---\\nx: y\\n---\\n\\n# A page\\n\\n```{code-cell} ipython3\\n1 + 1\\n```\\n")
    >>> [(cell["cell_type"], "".join(cell["source"])) for cell in made["cells"]]
    [('markdown', '# A page'), ('code', '1 + 1')]
    """
    body = re.sub(r"\A---\n.*?^---\n", "", page, count=1, flags=re.M | re.S)
    body = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", body)  # pages of the site are not beside the file
    cells: list[dict[str, Any]] = []
    for at, part in enumerate(CELL.split(body)):
        source = OPTIONS.sub("", part) if at % 2 else part
        if source.strip():
            cells.append(_cell("code" if at % 2 else "markdown", source.strip(), len(cells)))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, source: str, number: int) -> dict[str, Any]:
    made = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def offer(docname: str, text: str) -> str:
    """Return the source of a tutorial with a link to its notebook behind the title; other pages as they are."""
    if not docname.startswith("tutorials/") or docname.endswith("index"):
        return text
    stem = docname.partition("/")[2]
    line = f"{{download}}`This page as a notebook <../notebooks/{stem}.ipynb>`"
    return re.sub(r"^(# .*\n)", rf"\1\n{line}\n", text, count=1, flags=re.M)
