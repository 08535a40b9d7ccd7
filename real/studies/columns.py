"""Tables for a terminal: aligned text that is never cut, whatever the width, and sentences that wrap."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

GAP = "  "


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    r"""Align cells in columns under their headings.

    Parameters
    ----------
    head : sequence of str
        Headings; like cells they may have several lines.
    rows : sequence of sequences of str
        Cells, as many in a row as there are headings.
    left : int
        How many columns, from the first, stand to the left; the others stand to the right, as numbers do.

    Returns
    -------
    str
        Lines without trailing spaces.

    Examples
    --------
    >>> print(aligned(["rule", "tau\nmeasured"], [["block", "2.12"], ["tokenwise", "2.04"]], left=1))
                    tau
    rule       measured
    ---------  --------
    block          2.12
    tokenwise      2.04
    """
    cells = [[cell.split("\n") for cell in row] for row in (head, *rows)]
    widths = [max(len(line) for row in cells for line in row[i]) for i in range(len(head))]
    height = max(len(cell) for cell in cells[0])
    cells[0] = [[""] * (height - len(cell)) + cell for cell in cells[0]]
    lines = [[_line(parts, widths, left) for parts in itertools.zip_longest(*row, fillvalue="")] for row in cells]
    lines.insert(1, [GAP.join("-" * width for width in widths)])
    return "\n".join(line for row in lines for line in row)


def _line(parts: Sequence[str], widths: Sequence[int], left: int) -> str:
    placed = [
        part.ljust(width) if i < left else part.rjust(width)
        for i, (part, width) in enumerate(zip(parts, widths, strict=True))
    ]
    return GAP.join(placed).rstrip()


def shown(*parts: str | None) -> Group:
    """Sentences, which wrap, and tables (of several lines), which do not; None is left out.

    Print it with `crop=False`: a line that is wider than the terminal is the terminal's to break.
    """
    texts: list[Any] = []
    for part in parts:
        if part is not None:
            is_table = "\n" in part
            texts += [Text(part, no_wrap=is_table, overflow="ignore" if is_table else "fold")]
    return Group(*texts)
