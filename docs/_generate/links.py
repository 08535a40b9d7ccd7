"""Links from names in code type to their place in the API, wherever a page writes one."""

from __future__ import annotations

from docutils import nodes
from sphinx.addnodes import desc_signature
from sphinx.application import Sphinx

# Pages on which a bare name is one of the API; elsewhere it may be a variable of the code that is described.
OURS = ("api/", "tutorials/", "choose", "glossary", "index", "judges")


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make a link of each literal that is one documented name; headings have none.

    A name that two modules have is linked in the index of the API only, where the row names the page.
    """
    known: dict[str, list[tuple[str, str, str]]] = {}
    for full, entry in app.env.domains["py"].objects.items():
        for name in {full, full.rpartition(".")[2]}:
            known.setdefault(name, []).append((full, entry.docname, entry.node_id))
    bare = docname.startswith(OURS)
    for literal in list(doctree.findall(nodes.literal)):
        if isinstance(literal.parent, nodes.reference | nodes.title | desc_signature):
            continue
        name = literal.astext().removesuffix("()")
        row = _row_page(literal) if docname == "api/index" else None
        places = [place for place in known.get(name, []) if row in (None, place[1])]
        if len(places) != 1 or not (bare or "." in name):
            continue
        full, page, node_id = places[0]
        target = app.builder.get_relative_uri(docname, page)
        link = nodes.reference("", "", internal=True, refuri=f"{target}#{node_id}", reftitle=full)
        literal.replace_self(link)
        link += literal


def _row_page(literal: nodes.Node) -> str | None:
    """The page that the first cell of a row of the index leads to."""
    row = literal
    while row is not None and not isinstance(row, nodes.row):
        row = row.parent
    link = next(iter(row.findall(nodes.reference)), None) if row is not None else None
    return None if link is None else "api/" + link.get("refuri", "").partition(".html")[0].rpartition("/")[2]
