"""Pictures on the site stand in frames that scroll on a narrow page; those of the gallery do not."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("sphinx")
from docutils import nodes
from docutils.utils import new_document

ROOT = Path(__file__).parents[2]


@pytest.fixture
def frames(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/_generate/frames.py."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return importlib.import_module("_generate.frames")


def framed(frames: ModuleType, *parts: nodes.Node, classes: tuple[str, ...] = ()) -> list[list[str]]:
    """Return the classes of what holds each picture of a section, or of a container with these classes."""
    place = nodes.container("", *parts, classes=list(classes)) if classes else nodes.section("", *parts)
    document = new_document("page")
    document += place
    frames.frame_pictures(None, document)
    found = []
    for holder in (image.parent for image in document.findall(nodes.image)):
        while isinstance(holder, nodes.Inline):
            holder = holder.parent
        found.append(holder.get("classes", []))
    return found


def test_a_picture_by_itself_has_a_frame(frames: ModuleType) -> None:
    assert framed(frames, nodes.image(uri="a.svg")) == [["picture"]]
    assert framed(frames, nodes.paragraph("", "", nodes.image(uri="a.png"))) == [["picture"]]
    linked = nodes.reference("", "", nodes.inline("", "", nodes.image(uri="a.png")), refuri="page")
    assert framed(frames, nodes.paragraph("", "", linked)) == [["picture"]]


def test_a_picture_among_words_or_in_the_gallery_has_none(frames: ModuleType) -> None:
    words = nodes.paragraph("", "", nodes.Text("see "), nodes.image(uri="a.png"))
    assert framed(frames, words) == [[]]
    alone = nodes.paragraph("", "", nodes.image(uri="a.png"))
    assert framed(frames, alone, classes=("gallery",)) == [[]]
