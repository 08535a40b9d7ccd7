"""Pictures on the site: each in a frame of its own, in which it can be moved on a page too narrow for its labels."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

FRAME = "picture"
GALLERY = "gallery"  # its pictures are small on purpose: each leads to a page


def frame_pictures(app: Sphinx, doctree: nodes.document) -> None:
    """Put each picture that stands by itself into a frame, which `site.css` lets scroll; those of the gallery stay."""
    for image in list(doctree.findall(nodes.image)):
        # A link around a picture belongs to it; a paragraph of nothing else is a frame already.
        outer = image
        while isinstance(outer.parent, nodes.Inline) and len(outer.parent) == 1:
            outer = outer.parent
        parent = outer.parent
        if isinstance(parent, nodes.paragraph) and len(parent) == 1 and GALLERY not in parent.parent.get("classes", []):
            parent["classes"].append(FRAME)
        elif isinstance(parent, nodes.section):
            frame = nodes.container(classes=[FRAME])
            parent.replace(outer, frame)
            frame += outer
