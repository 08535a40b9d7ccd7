"""Generated parts of a document, between their markers."""

from __future__ import annotations


def refresh(text: str, name: str, body: str) -> str:
    """Return a document with `body` between its markers `name`.

    Raises ValueError if the markers are not there.
    """
    head, begin, rest = text.partition(f"<!-- {name}: begin")
    opening, close, rest = rest.partition("-->\n")
    _, end, tail = rest.partition(f"<!-- {name}: end -->")
    if not (begin and close and end):
        raise ValueError(f"the markers <!-- {name}: begin --> and <!-- {name}: end --> were not found")
    return f"{head}{begin}{opening}{close}{body}\n{end}{tail}"
