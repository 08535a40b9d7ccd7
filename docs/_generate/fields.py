"""Fields of a record as a list on the API's pages: its docstring tells them in a row, `name: text. other: text.`"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx


def list_fields(app: Sphinx, what: str, name: str, record: Any, options: Any, lines: list[str]) -> None:
    """Turn paragraphs of a record's docstring that tell its fields into a list; other paragraphs stay."""
    if what == "class" and getattr(record, "_fields", None):
        lines[:] = listed(lines, record._fields)


def listed(lines: list[str], fields: tuple[str, ...]) -> list[str]:
    """Return the lines with each paragraph that tells two fields or more as a definition list.

    >>> listed(["Times are seconds. tau: tokens of a block.", "kept, tried: counts."], ("tau", "kept", "tried"))
    ['Times are seconds.', '', '``tau``', '    tokens of a block.', '``kept``, ``tried``', '    counts.']
    """
    known = "|".join(map(re.escape, fields))
    start = re.compile(rf"(?:^|(?<=[.:;] ))((?:{known})(?:(?:, | and )(?:{known}))*): ")
    made: list[str] = []
    for paragraph in "\n".join(lines).split("\n\n"):
        text = " ".join(paragraph.split())
        parts = start.split(text)
        if len(parts) < 5 or paragraph.startswith((">>>", " ", "..")):
            made += [*paragraph.split("\n"), ""]
            continue
        made += [parts[0].strip(), ""] if parts[0].strip() else []
        for names, meaning in zip(parts[1::2], parts[2::2], strict=True):
            made += [re.sub(r"\w+", lambda word: f"``{word[0]}``" if word[0] in fields else word[0], names)]
            made += ["    " + meaning.strip()]
        made += [""]
    return made[:-1]
