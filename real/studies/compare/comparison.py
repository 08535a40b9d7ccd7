"""The record of a comparison as Python has it: its table, picture and rows."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from real.studies.compare import report
from real.studies.compare.kinds import KINDS
from real.studies.records import in_form
from specsim.base.files import check_writable, write_json
from specsim.base.results import frame
from specsim.base.unknown import unknown
from specsim.report.forms import Form, blocks_of
from specsim.report.text import terminal_width

_FORMS: tuple[Form, ...] = ("text", "markdown", "csv", "latex")


@dataclass(frozen=True, repr=False)
class Comparison:
    """A comparison of predicted and measured tau and speedup, as `compare` returns it.

    Parameters
    ----------
    record : dict
        The record, as `specsim-real compare --json` prints it; real/results/README.md describes its
        fields.
    """

    record: dict[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the record: one for each length and rule, or for each chain and tree."""
        if "runs" in self.record:
            return [{"rule": run["rule"], **row} for run in self.record["runs"] for row in run["pairs"]]
        return list(self.record["rows" if "rows" in self.record else "pairs"])

    def table(self, form: Form = "text", *, wide: bool = False) -> str:
        """Return the answer and its table, as the command prints them.

        Parameters
        ----------
        form : str
            "text", "markdown", "csv" or "latex".
        wide : bool
            Show all columns; of "text" only, the other forms have them all.

        Returns
        -------
        str
            Lines without an end.

        Raises
        ------
        ValueError
            An unknown form, or `wide` beside another form than "text".
        """
        if form not in _FORMS:
            raise unknown("form", form, _FORMS)
        if form != "text":
            if wide:
                raise ValueError(f"wide is for form='text': form={form!r} has all columns")
            return in_form(self.record, None, form).rstrip()
        page = Console(file=io.StringIO(), width=terminal_width() or 80)
        with page.capture() as lines:
            page.print(KINDS[self.record["schema"]].table(self.record, wide=wide), crop=False)
        return "\n".join(line.rstrip() for line in lines.get().rstrip().splitlines())

    def plot(self) -> Any:
        """Draw tau and speedup, predictions as lines and measurements with their intervals.

        Returns
        -------
        matplotlib.figure.Figure
            Two panels; `savefig` writes it.

        Raises
        ------
        ImportError
            The extra `plot` is not installed.
        """
        return KINDS[self.record["schema"]].drawn(self.record)

    def to_pandas(self) -> Any:
        """Return the rows with every digit, in columns such as `speedup.low`.

        Returns
        -------
        pandas.DataFrame
            A row for each length and rule, or for each chain and tree.

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        return frame([_with_ends(row) for row in self.rows])

    def to_json(self, path: str | Path) -> Path:
        """Write the record to a file, which `specsim-real table` and `specsim plan` read.

        A write that fails leaves no file behind.

        Parameters
        ----------
        path : str or path
            Where; a file that is there is replaced.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ValueError
            The file cannot be written.
        """
        file = check_writable(Path(path))
        write_json(file, self.record)
        return file

    def __repr__(self) -> str:
        provenance = self.record["provenance"]
        best = max(self.rows, key=lambda row: float(row["speedup"]["measured"]))
        parts = [f"speedup={report.span(best['speedup'], 2)}"]
        # A tree may have no prediction.
        if (predicted := best["speedup"]["predicted"]) is not None:
            parts.append(f"predicted={predicted:.2f}")
        parts += [f"{name}={best[name]!r}" for name in ("gamma", "name", "rule") if name in best]
        parts += [f"{name}={provenance[name]!r}" for name in ("target", "draft", "prompts")]
        return f"Comparison({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the sentences and tables as HTML, which notebooks show."""
        blocks = blocks_of(in_form(self.record, None, "markdown"))
        return "\n".join(_as_html(block) for block in blocks if block)


def _with_ends(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the two ends of each interval as entries of their own: low and high."""
    entries: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            entries[name] = _with_ends(value)
        elif name.endswith("interval"):
            low, high = value or (None, None)
            before = name.removesuffix("interval")
            entries |= {f"{before}low": low, f"{before}high": high}
        else:
            entries[name] = value
    return entries


def _as_html(block: str | Sequence[Sequence[str]]) -> str:
    """Return a sentence, or a table whose first row is its head, as HTML."""
    if isinstance(block, str):
        return f"<p>{html.escape(block)}</p>"
    tags = ["th", *["td"] * (len(block) - 1)]
    rows = [
        "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) for tag, row in zip(tags, block, strict=True)
    ]
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
