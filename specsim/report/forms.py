"""The forms in which both commands print their tables: text, Markdown, CSV and LaTeX.

A page is a list of blocks. A block is a line of words, or a table: a list of rows, the head first,
of strings and numbers. CSV holds the tables alone, with an empty line between two and every digit
of a number; the other forms show numbers rounded. LaTeX has the words as comments.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from specsim.report import text as layout
from specsim.report.text import aligned, is_numeric, markdown, paragraphs

Form = Literal["text", "markdown", "csv", "latex"]


class Number(NamedTuple):
    """A cell of a table that is a number, as it is shown and as CSV has it.

    CSV has the interval in columns of its own. value is None where the cell shows the interval
    alone, and where it says in words that there is no number.
    """

    text: str
    value: float | None
    low: float | None = None
    high: float | None = None


Cell = str | Number


def spanned(value: float, low: float | None, high: float | None, digits: int) -> Number:
    """Return the cell of a number with so many decimals, and with its interval if known.

    >>> spanned(1.98765, 1.9, 2.1, 2).text, spanned(1.98765, None, None, 3).text
    ('1.99 [1.90, 2.10]', '1.988')
    """
    if low is None or high is None:
        return Number(f"{value:.{digits}f}", value)
    return Number(f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]", value, low, high)


Table = Sequence[Sequence[Cell]]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
}
# A line that rules off the head of a Markdown table.
_RULE = re.compile(r"\|( ?:?-+:? ?\|)+$")


def page(blocks: Sequence[str | Table], form: Form = "text") -> str:
    """Return words and tables one below the other, in a form.

    >>> print(page(["Two rules.", "", [["rule", "tau"], ["block", "2.2"]]], "csv"))
    rule,tau
    block,2.2
    """
    if form == "csv":
        return "\n\n".join(table(block, form) for block in blocks if not isinstance(block, str))
    if form == "latex":
        parts = [_comment(block) if isinstance(block, str) else table(block, form) for block in blocks]
        return "\n".join(parts)
    return paragraphs([block if isinstance(block, str) else table(block, form) for block in blocks], form == "markdown")


def table(rows: Table, form: Form = "text") -> str:
    """Return a table in a form; as text its columns fit the terminal there is."""
    if form == "markdown":
        return markdown(shown_rows(rows))
    if form == "csv":
        return csv_table(rows)
    if form == "latex":
        return latex_table(rows)
    return aligned(shown_rows(rows), layout.terminal_width())


def shown_rows(rows: Table) -> list[list[str]]:
    """Return the rows with each number as it is shown."""
    return [[cell.text if isinstance(cell, Number) else cell for cell in row] for row in rows]


def csv_table(rows: Table) -> str:
    r"""Return a table as comma-separated values, without a line end after the last row.

    >>> print(csv_table([["rule", "tau\npredicted", "\nmeasured"], ["a, b", "2.11", "2.09"]]))
    rule,tau predicted,tau measured
    "a, b",2.11,2.09
    >>> print(csv_table([["rule", "tau"], ["block", Number("2.1 [2.0, 2.2]", 2.125, 2.0, 2.25)]]))
    rule,tau,tau low,tau high
    block,2.125,2.0,2.25
    """
    output = io.StringIO()
    head, *body = plain_rows(shown_rows(rows))
    columns = list[list[str]]()
    for i, name in enumerate(head):
        columns += _csv_column(name, [row[i] for row in rows[1:]], [row[i] for row in body])
    csv.writer(output, lineterminator="\n").writerows(zip(*columns, strict=True))
    return output.getvalue().removesuffix("\n")


def _csv_column(head: str, cells: Sequence[Cell], shown: Sequence[str]) -> list[list[str]]:
    """Return the columns that CSV has of one column, head first.

    They are its values, and behind them the ends of intervals if there are any.
    """
    numbers = [cell if isinstance(cell, Number) else None for cell in cells]
    # A column of intervals alone has no values.
    known = [number for number in numbers if number is not None]
    has_ends = any(number.low is not None for number in known)
    has_values = not has_ends or any(number.value is not None for number in known)
    values = [words if number is None else _digits(number.value) for number, words in zip(numbers, shown, strict=True)]
    columns = [[head, *values]] if has_values else []
    if has_ends:
        ends = [("", "") if number is None else (_digits(number.low), _digits(number.high)) for number in numbers]
        lows, highs = ([end[i] for end in ends] for i in (0, 1))
        columns += [[f"{head} low", *lows], [f"{head} high", *highs]]
    return columns


def _digits(value: Any) -> str:
    """Return a number with every digit, "" for None."""
    if value is None:
        return ""
    return repr(value if isinstance(value, int) else float(value))


def latex_table(rows: Table) -> str:
    r"""Return a table as a LaTeX tabular of the package booktabs.

    >>> print(latex_table([["rule", "kept, %"], ["without_replacement", "71"]]))
    \begin{tabular}{lr}
    \toprule
    rule & kept, \% \\
    \midrule
    without\_replacement & 71 \\
    \bottomrule
    \end{tabular}
    """
    head, *body = plain_rows(shown_rows(rows))
    columns = "".join("r" if is_numeric([row[i] for row in body]) else "l" for i in range(len(head)))
    lines = [" & ".join(map(escaped, row)) + r" \\" for row in (head, *body)]
    inner = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
    return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *inner, r"\end{tabular}"])


def escaped(text: str) -> str:
    r"""Return text that LaTeX sets as it is.

    >>> escaped("50 % of a_b & #1")
    '50 \\% of a\\_b \\& \\#1'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def plain_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    r"""Return the rows with each cell on one line; a head such as "\nmeasured" gets the word above it.

    >>> plain_rows([["tau\npredicted", "\nmeasured"], ["1.5\n[1, 2]", "1.6"]])
    [['tau predicted', 'tau measured'], ['1.5 [1, 2]', '1.6']]
    """
    head: list[str] = []
    above = ""
    for cell in rows[0]:
        first, line_break, rest = cell.partition("\n")
        if first or not line_break:
            above = first
        head.append(" ".join(f"{above} {rest}".split()))
    return [head, *([" ".join(cell.split()) for cell in row] for row in rows[1:])]


def blocks_of(text: str) -> list[str | Sequence[Sequence[str]]]:
    r"""Return the blocks of a Markdown page that this package wrote; cells lose their markup.

    >>> blocks_of("| rule | tau |\n| --- | ---: |\n| `a` | **2.1** |\n\nSeen.")
    [[['rule', 'tau'], ['a', '2.1']], '', 'Seen.']
    """
    # Collect lines of a table in `rows` until another line ends it.
    blocks: list[str | Sequence[Sequence[str]]] = []
    lines = text.split("\n")
    rows: list[list[str]] = []
    for line in [*lines, ""]:
        if line.startswith("|"):
            if not _RULE.match(line):
                rows.append(_cells(line))
            continue
        if rows:
            blocks.append(rows)
            rows = []
        blocks.append(line)
    return blocks[:-1]


def _cells(line: str) -> list[str]:
    """Return the cells of one line of a Markdown table, without bold type, code marks and links."""
    cells = re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))
    plain = [cell.replace("\\|", "|").replace("**", "").replace("`", "").strip() for cell in cells]
    return [re.sub(r"\[([^\]]*)\]\(([^)]*)\)", r"\1", cell) for cell in plain]


def _comment(words: str) -> str:
    """Return words as lines of LaTeX comments."""
    return "\n".join(f"% {line}" if line else "" for line in words.split("\n"))
