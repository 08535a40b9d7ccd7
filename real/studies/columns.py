"""Sentences, which wrap, beside tables, which do not, for a terminal of any width."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text


def shown(*parts: str | None) -> Group:
    """Return sentences, which wrap, and tables (of several lines), which do not; None is left out.

    Print it with `crop=False`: a line that is wider than the terminal is the terminal's to break.
    """
    texts: list[Any] = []
    for part in parts:
        if part is not None:
            is_table = "\n" in part
            texts += [Text(part, no_wrap=is_table, overflow="ignore" if is_table else "fold")]
    return Group(*texts)
