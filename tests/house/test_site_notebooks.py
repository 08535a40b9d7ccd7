"""Tutorials can be downloaded: each is a notebook of the cells of its page, and its page has a link to it."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = [path for path in sorted((DOCS / "tutorials").glob("*.md")) if path.stem != "index"]


@pytest.fixture
def notebooks(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/_generate/notebooks.py."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("_generate.notebooks")


def test_every_tutorial_is_a_notebook_of_its_cells(notebooks: ModuleType, tmp_path: Path) -> None:
    notebooks.write(DOCS / "tutorials", tmp_path / "out")
    assert sorted(path.stem for path in (tmp_path / "out").iterdir()) == [path.stem for path in TUTORIALS]
    for path in TUTORIALS:
        made = json.loads((tmp_path / "out" / f"{path.stem}.ipynb").read_text(encoding="utf-8"))
        cells = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]
        assert len(cells) == path.read_text(encoding="utf-8").count("```{code-cell}")
        assert "import specsim" in "".join(cells) or "from specsim" in "".join(cells) or "import real" in "".join(cells)
        text = "".join("".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "markdown")
        assert ".md)" not in text
        assert "code-cell" not in text
        assert not any(cell.startswith(":tags:") for cell in cells)


def test_a_notebook_is_as_the_format_asks(notebooks: ModuleType) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.from_dict(notebooks.notebook(TUTORIALS[0].read_text(encoding="utf-8"))))


def test_a_page_offers_its_notebook(notebooks: ModuleType) -> None:
    shown = notebooks.offer("tutorials/block", "---\nx: y\n---\n\n# A block\n\nText.\n")
    assert "# A block\n\n{download}`This page as a notebook <../notebooks/block.ipynb>`\n\nText." in shown
    for other in ("tutorials/index", "choose"):
        assert notebooks.offer(other, "# A block\n") == "# A block\n"


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_every_tutorial_has_a_picture(path: Path) -> None:
    assert "plt.show()" in path.read_text(encoding="utf-8")
