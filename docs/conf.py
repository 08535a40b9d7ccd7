"""The site: Sphinx, furo and MyST-NB. Tutorials are executed, rule pages are generated, nothing is fetched."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["HF_HUB_OFFLINE"] = "1"

project = "specsim"
author = "the specsim authors"
copyright = "the specsim authors, Apache-2.0"
html_title = "specsim"
language = "en"

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_generate", "notebooks", "developer/skeletons", "developer/examples"]
templates_path: list[str] = []
nitpicky = False

# Markdown and notebooks
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
nb_execution_show_tb = True

# API
autodoc_preserve_defaults = True  # a default as it is written: a module has no other name than its path
autodoc_typehints = "none"  # numpydoc's sections say types
autodoc_member_order = "bysource"
default_role = "py:obj"  # a name between single backticks of a docstring is a link where it is public
viewcode_line_numbers = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Mathematics: one file of MathJax that a PyPI package carries, copied into the site.
MATHJAX = importlib.util.find_spec("sphinx-mathjax-offline")
if MATHJAX is None or MATHJAX.origin is None:
    raise ImportError("the site needs sphinx-mathjax-offline: pip install -c constraints.txt -e '.[docs]'")
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "global"}}

# Looks
html_theme = "furo"
html_static_path = ["_static", str(Path(MATHJAX.origin).parent / "static" / "mathjax" / "tex-svg.js")]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_theme_options = {
    "light_logo": "mark.svg",
    "dark_logo": "mark.svg",
    "light_css_variables": {"color-brand-primary": "#1b5e8c", "color-brand-content": "#1b5e8c"},
    "dark_css_variables": {"color-brand-primary": "#7cc0ee", "color-brand-content": "#7cc0ee"},
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"


def generate(app: Sphinx) -> None:
    """Write what the code makes: commands, rules and schemes, the price of lossy rules, theorem notes, notebooks."""
    from _generate import commands, notebooks, price, proofs, rules

    notebooks.write(HERE / "tutorials", HERE / "notebooks")
    commands.write(HERE / "commands")
    proofs.write(HERE / "proofs")
    price.write(HERE / "price")
    rules.write(HERE / "rules")


def complete(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the pages of systems below their overview, which is plain Markdown, and notebooks into tutorials."""
    from _generate import notebooks

    source[0] = notebooks.offer(docname, source[0])
    if docname == "results/systems":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\nsystems/*\n```\n"


def leave_out_back_links(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Leave [docs] out of the pages of sources: it misses names that a package passes on from its modules."""
    if page.startswith("_modules/"):
        context["body"] = re.sub(r'<a class="viewcode-back".*?</a>', "", context.get("body", ""))


def keep_module(app: Sphinx, module: str, name: str) -> str | None:
    """The module of a value, such as a path, is the one that has it, and not that of its type."""
    value = getattr(importlib.import_module(module), name.partition(".")[0], None)
    return None if callable(value) else module


def setup(app: Sphinx) -> None:
    from _generate.fields import list_fields
    from _generate.frames import frame_pictures
    from _generate.links import link_names
    from _generate.tables import mark_tables

    app.connect("builder-inited", generate)
    app.connect("source-read", complete)
    app.connect("autodoc-process-docstring", list_fields, priority=400)  # before numpydoc
    app.connect("doctree-read", mark_tables)
    app.connect("doctree-read", frame_pictures)
    app.connect("doctree-resolved", link_names)
    app.connect("viewcode-follow-imported", keep_module)
    app.connect("html-page-context", leave_out_back_links)
