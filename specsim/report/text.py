"""The layout of tables: aligned columns in a terminal, Markdown for documents.

A table is a list of rows of strings, the head first; a cell may have several lines. Nothing is ever
cut: a table too wide for the terminal has its text wrapped at words, then every row shown as lines
of its own.
"""

from __future__ import annotations

import itertools
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

# The beginning of a number, or of an interval of two; or a word that stands for a number.
_NUMBER = re.compile(r"[-+~<>≤≥±(\[ ]*[\d.]*\d|(off|none|never)$")
# Space between two columns.
_GAP = "  "


def terminal_width(stream: TextIO | None = None) -> int | None:
    """Columns of the terminal that a stream (standard output) is; None for a pipe or a file."""
    stream = sys.stdout if stream is None else stream
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def paragraphs(lines: Sequence[str], as_markdown: bool = False) -> str:
    """Return lines and tables one below the other; lines too long for a terminal break at spaces."""
    width = None if as_markdown else terminal_width()
    if width is None:
        return "\n".join(lines)
    style: dict[str, Any] = {"subsequent_indent": "  ", "break_long_words": False, "break_on_hyphens": False}
    return "\n".join(line if "\n" in line else textwrap.fill(line, width, **style) for line in lines)


def aligned(rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    r"""Return the table in columns, numbers to the right, within so many characters if given.

    Examples
    --------
    >>> print(aligned([["rule", "tau\nmeasured"], ["tokenwise", "2.11"], ["block", "2.2"]]))
                    tau
    rule       measured
    ---------  --------
    tokenwise      2.11
    block           2.2
    >>> print(aligned([["rule", "what it does"], ["block", "joint verification"]], 20))
    rule   what it does
    -----  -------------
    block  joint
           verification
    >>> print(aligned([["rule", "what it does"], ["block", "joint verification"]], 14))
    rule:
      block
    what it does:
      joint
      verification
    """
    # Find widths; a table that does not fit is shown row by row.
    rows = _checked(rows)
    numeric = [is_numeric([row[i] for row in rows[1:]]) for i in range(len(rows[0]))]
    widths = _widths(rows, numeric, width)
    if widths is None:
        return _stacked(rows, width or 0)

    # Wrap cells, and put the head's words directly above the line.
    head, *cells = ([_wrapped(cell, w) for cell, w in zip(row, widths, strict=True)] for row in rows)
    height = max(len(cell) for cell in head)
    table = [[[""] * (height - len(cell)) + cell for cell in head], [["-" * w] for w in widths], *cells]
    return "\n".join(line for row in table for line in _lines(row, widths, numeric))


def in_blocks(rows: Sequence[Sequence[str]], width: int) -> str:
    r"""Return the table in blocks one below the other, each as wide as fits.

    Each block has the first column and as many others as fit. A column whose head begins with a
    line break belongs to the one before it: both stay in one block.

    Examples
    --------
    >>> rows = [["gamma", "tau\npredicted", "\nmeasured", "speedup"], ["1", "1.52", "1.57", "1.31"]]
    >>> print(in_blocks(rows, 28))
                 tau
    gamma  predicted  measured
    -----  ---------  --------
        1       1.52      1.57
    <BLANKLINE>
    gamma  speedup
    -----  -------
        1     1.31
    """
    # Columns that stay together.
    groups: list[list[int]] = []
    for i, head in enumerate(rows[0][1:], 1):
        if head.startswith("\n") and groups:
            groups[-1].append(i)
        else:
            groups.append([i])

    # Join a group to the last block where it fits.
    blocks: list[list[int]] = []
    for group in groups:
        joined = [*(blocks[-1] if blocks else [0]), *group]
        if blocks and not _fits(rows, joined, width):
            blocks.append([0, *group])
        else:
            blocks[-1:] = [joined]
    return "\n\n".join(aligned([[row[i] for i in block] for row in rows]) for block in blocks)


def _fits(rows: Sequence[Sequence[str]], columns: list[int], width: int) -> bool:
    """True if these columns fit side by side within the width."""
    widths = [max(len(line) for row in rows for line in row[i].split("\n")) for i in columns]
    return sum(widths) + len(_GAP) * (len(widths) - 1) <= width


def _lines(row: list[list[str]], widths: list[int], numeric: list[bool]) -> Iterator[str]:
    """Yield the lines of one row, whose cells may have several."""
    for parts in itertools.zip_longest(*row, fillvalue=""):
        placed = zip(parts, widths, numeric, strict=True)
        yield _GAP.join(part.rjust(w) if right else part.ljust(w) for part, w, right in placed).rstrip()


def markdown(rows: Sequence[Sequence[str]]) -> str:
    r"""Return the rows as a Markdown table.

    Examples
    --------
    >>> print(markdown([["rule", "tau"], ["a|b", "2.11"]]))
    | rule | tau |
    | --- | ---: |
    | a\|b | 2.11 |
    """
    rows = _one_line(_checked(rows))
    rule = ["---:" if is_numeric([row[i] for row in rows[1:]]) else "---" for i in range(len(rows[0]))]
    shown = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [shown[0], rule, *shown[1:]])


def _checked(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows as lists; raise ValueError unless they have equal lengths."""
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError(f"a table needs rows of equal length, got {sorted({len(row) for row in rows})}")
    return [list(row) for row in rows]


def _one_line(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the rows with each cell on one line."""
    return [[" ".join(cell.splitlines()) for cell in row] for row in rows]


def is_numeric(cells: Sequence[str]) -> bool:
    """True if every filled cell begins as a number does."""
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(_NUMBER.match(cell) for cell in filled)


def _widths(rows: list[list[str]], numeric: list[bool], most: int | None) -> list[int] | None:
    """Return the width of each column; None if wrapping at spaces cannot make them fit."""
    # The widths of unwrapped cells.
    widths = [max(len(line) for row in rows for line in row[i].split("\n")) for i in range(len(rows[0]))]
    if most is None:
        return widths

    # The least widths: of words; numbers and intervals are not taken apart.
    least = []
    for i, number in enumerate(numeric):
        words = [word for row in (rows[:1] if number else rows) for word in row[i].split()] or [""]
        words += [line for row in rows[1:] if number for line in row[i].split("\n")]
        least.append(max(len(word) for word in words))
    spare = most - len(_GAP) * (len(widths) - 1)
    if sum(least) > spare:
        return None

    # Narrow the widest column that can give way, one character at a time.
    while sum(widths) > spare:
        i = max((i for i in range(len(widths)) if widths[i] > least[i]), key=widths.__getitem__)
        widths[i] -= 1
    return widths


def _wrapped(cell: str, width: int) -> list[str]:
    """Return the lines of a cell, broken at spaces only."""
    lines: list[str] = []
    for part in cell.split("\n"):
        short = len(part) <= width
        lines += [part] if short else textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
    return lines


def _stacked(rows: list[list[str]], width: int) -> str:
    """Return a block for each row, with the name of each column above its cell."""
    head, *others = _one_line(rows)
    blocks = []
    for row in others:
        lines = []
        for name, cell in zip(head, row, strict=True):
            lines.append(f"{name}:")
            lines += [f"  {line}" for line in _wrapped(cell, max(width - 2, 1))]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
