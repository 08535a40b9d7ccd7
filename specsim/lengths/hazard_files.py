"""Hazards in a CSV: as numbers, as rates, or as counts of blocks; of one context, or of several."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.lists import number_in
from specsim.base.reading import MOST_BYTES, read_text
from specsim.base.results import result
from specsim.base.unknown import check_names
from specsim.lengths.acceptance_record import Acceptance, from_counts, from_hazards
from specsim.lengths.hazards import MAX_DRAFTS, HazardEstimate, estimate_hazards

# Columns beside the numbers: the tokens before a block, and the share of steps that `specsim log --out` writes.
CONTEXT, SHARE = "context", "drafted_share"


@result("source", "contexts")
class HazardCurves(NamedTuple):
    """Acceptance by position, at each context that a file names.

    by_context: acceptance at each context in tokens; None stands for a file that names none, whose one curve is taken
    to hold at every context.

    Examples
    --------
    >>> curves = HazardCurves("h.csv", {1024: from_hazards([0.8]), 8192: from_hazards([0.6])})
    >>> curves.nearest(3000), curves.at(8192).hazards(1)
    (1024, [0.6])
    """

    source: str
    by_context: dict[int | None, Acceptance]

    @property
    def contexts(self) -> tuple[int, ...]:
        """The contexts that the file names, in order; none if it has no such column."""
        return tuple(sorted(context for context in self.by_context if context is not None))

    def nearest(self, context: int) -> int | None:
        """Return the context of the file whose curve is used: the nearest, of two the longer; None if it names none.

        ValueError beyond the contexts of the file: there is no acceptance to go by.
        """
        known = self.contexts
        if not known:
            return None
        if not known[0] <= context <= known[-1]:
            raise ValueError(
                f"context {context} is beyond those of {self.source}, {', '.join(map(str, known))}; count hazards "
                "there, or ask within"
            )
        return min(known, key=lambda other: (abs(other - context), -other))

    def at(self, context: int = 0) -> Acceptance:
        """Return the acceptance at a context: that of the nearest one of the file."""
        return self.by_context[self.nearest(context)]


class Row(NamedTuple):
    """One row of the file: its number for messages, and its fields by column."""

    number: int
    fields: dict[str, str]


def read_hazards(path: str | Path) -> HazardCurves:
    """Read a CSV of ``position`` and one more column, whose name says what its numbers are, in any case.

    Parameters
    ----------
    path : str or Path
        hazard: probability that the draft is kept if all before it were. rate: that it is kept, of all blocks, as
        engines print it by position; each over the one before is the hazard. count: blocks that kept that many drafts
        or more, from position 0, which counts all. tried and kept: blocks that came to test the draft, and that kept
        it. With a column context the rows of each context are a curve of their own.

    Returns
    -------
    HazardCurves
        A curve for each context.

    Raises
    ------
    ValueError
        A file that cannot be read; columns that are missing, double, unknown or of two kinds; positions with a gap;
        rates or counts that rise.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (acceptance by position).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "h.csv"
    ...     text = "context,position,tried,kept\\n1024,1,100,80\\n1024,2,80,60\\n8192,1,50,30\\n"
    ...     _ = path.write_text(text)
    ...     curves = read_hazards(path)
    >>> curves.contexts, curves.at(1024).hazards(2)
    ((1024, 8192), [0.8, 0.75])
    """
    place = Path(path)
    source = place.name
    try:
        text = read_text(place, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{place} cannot be read: {error.strerror}") from None
    names, rows = _table(text, source)
    kind = _kind(names, source)
    if not rows:
        raise ValueError(f"{source} has no rows")
    # The rows of each context, in the order of the file.
    groups: dict[int | None, list[Row]] = {}
    for row in rows:
        groups.setdefault(_context(row, source) if CONTEXT in names else None, []).append(row)
    curves: dict[int | None, Acceptance] = {}
    for context, members in groups.items():
        _check_positions(members, source, 0 if kind == "count" else 1)
        where = "" if context is None else f" at context {context}"
        curves[context] = KINDS[kind](source, members, where)
    return HazardCurves(source, curves)


def _table(text: str, source: str) -> tuple[list[str], list[Row]]:
    """Return the columns of a CSV in small letters, and its rows; ValueError for a row of another length."""
    table = csv.DictReader(text.splitlines())
    try:
        names = [name.strip().lower() for name in table.fieldnames or ()]
        table.fieldnames = names
        lines = list(table)
    except csv.Error as error:
        raise ValueError(f"{source}, line {table.line_num + 1}: {error}") from None
    for name in names:
        if name and names.count(name) > 1:
            raise ValueError(f"{source} has two columns {name}; leave out what is not to be read")
    for number, line in enumerate(lines, 1):
        if None in line or None in line.values():
            raise ValueError(f"{source}, row {number} has another number of fields than the head, {len(names)}")
    return names, [Row(number, line) for number, line in enumerate(lines, 1)]


def _kind(names: list[str], source: str) -> str:
    """Return the kind of numbers that a file has; ValueError for columns that are missing, or not read."""
    pairs = "tried" in names and "kept" in names
    kinds = [name for name in ("hazard", "rate", "count") if name in names] + (["tried and kept"] if pairs else [])
    if "position" not in names or not kinds:
        raise ValueError(
            f"{source} has columns {', '.join(names) or 'none'}; it needs position and hazard, or position "
            "and rate, or position and count, or position, tried and kept"
        )
    if len(kinds) > 1:
        raise ValueError(f"{source} has {kinds[0]} beside {kinds[1]}; leave out what is not to be read")
    check_names(names, ["position", *kinds[0].split(" and "), CONTEXT, SHARE], source, "column")
    return kinds[0]


def _context(row: Row, source: str) -> int:
    """Return the context of a row; ValueError with its place."""
    where = f"{source}, row {row.number}: {CONTEXT}"
    written = (row.fields[CONTEXT] or "").strip()
    if not written.isdecimal() or len(written) > 15:
        raise ValueError(f"{where} is {written[:40]!r}, not a whole number of tokens")
    return check.integer(int(written), where, 0)


def _check_positions(rows: list[Row], source: str, first: int) -> None:
    """ValueError unless the rows of a curve are whole and count up without a gap."""
    if len(rows) > MAX_DRAFTS:
        raise ValueError(f"{source} has {len(rows)} rows; the most that are sensible are {MAX_DRAFTS}")
    for position, row in enumerate(rows, first):
        written = row.fields.get("position")
        if (written or "").strip() != str(position):
            raise ValueError(f"{source}, row {row.number}: position is {written!r}; rows must count up from {first}")


def _hazards(source: str, rows: list[Row], where: str) -> Acceptance:
    """Return the acceptance of a column of hazards."""
    hazards = _column(source, rows, "hazard", "[0, 1]")
    return from_hazards(np.array(hazards), f"hazards{where} as {source} gives them, without an error")


def _rates(source: str, rows: list[Row], where: str) -> Acceptance:
    """Return the acceptance of rates of all blocks: each over the one before is a hazard."""
    rates = _column(source, rows, "rate", "[0, 1]")
    _check_falling(source, rows, rates, "rate")
    hazards = [after / before if before else 0.0 for before, after in pairwise([1.0, *rates])]
    words = f"rates by position of all blocks{where}, as {source} gives them, without an error"
    return from_hazards(np.array(hazards), words)


def _counts(source: str, rows: list[Row], where: str) -> Acceptance:
    """Return the acceptance of blocks counted by the drafts that they kept, or more."""
    counts = _column(source, rows, "count", "[0, inf)")
    if len(counts) < 2:
        raise ValueError(f"{source} has position 0 alone{where}; it needs 1 and more")
    if not counts[0]:
        raise ValueError(f"{source}, row {rows[0].number}: count is 0, so nothing was counted")
    _check_falling(source, rows, counts, "count")
    tested = [list(pair) for pair in pairwise(counts)]
    words = f"counted in {source}{where}, every block of {len(counts) - 1} drafts, blocks independent"
    return from_counts(_from_counts(source, tested, rows[1:], ("count", "count")), words)


def _trials(source: str, rows: list[Row], where: str) -> Acceptance:
    """Return the acceptance of blocks that tried, and kept, each draft."""
    both = [_column(source, rows, name, "[0, inf)") for name in ("tried", "kept")]
    estimate = _from_counts(source, [list(pair) for pair in zip(*both, strict=True)], rows, ("tried", "kept"))
    return from_counts(estimate, f"hazards counted in {source}{where}, blocks independent")


# What reads each kind of numbers.
KINDS: dict[str, Callable[[str, list[Row], str], Acceptance]] = {
    "hazard": _hazards,
    "rate": _rates,
    "count": _counts,
    "tried and kept": _trials,
}


def _column(source: str, rows: list[Row], name: str, allowed: str) -> list[float]:
    """Return the numbers of a column, each in the interval `allowed`."""
    return [number_in(row.fields[name], f"{source}, row {row.number}: {name}", allowed) for row in rows]


def _check_falling(source: str, rows: list[Row], values: list[float], name: str) -> None:
    """Raise ValueError if a value is above the one before it."""
    for row, (before, after) in zip(rows[1:], pairwise(values), strict=True):
        if after > before:
            raise ValueError(
                f"{source}, row {row.number}: {name} is {after:g}, above the {before:g} before it; of all blocks no "
                "more can keep the later draft (if these are hazards, name the column hazard)"
            )


def _from_counts(source: str, pairs: list[list[float]], rows: list[Row], names: tuple[str, str]) -> HazardEstimate:
    """Return the hazards: at each draft, count the blocks that rejected it, and those that ended after it.

    rows: those of the second count of each pair.
    """
    if not pairs[0][0]:
        raise ValueError(f"{source}, row {rows[0].number}: {names[0]} is 0, so nothing was counted")
    # Blocks that come to each draft: whole numbers, which never rise.
    kinds = []
    after = [pair[0] for pair in pairs[1:]] + [0.0]
    for position, ((tried, accepted), tried_next) in enumerate(zip(pairs, after, strict=True), 1):
        row = rows[position - 1].number
        if not (tried.is_integer() and accepted.is_integer()):
            shown = f"{names[0]} {tried:g} and {names[1]} {accepted:g}"
            raise ValueError(f"{source}, row {row}: {shown} must be whole numbers of blocks")
        if accepted > tried:
            raise ValueError(f"{source}, row {row}: kept is {accepted:g}, more than the {tried:g} blocks that tried")
        if tried_next > accepted:
            row = rows[position].number
            raise ValueError(
                f"{source}, row {row}: tried is {tried_next:g}, more than the {accepted:g} that came so far"
            )
        # (accepted, drafted, blocks): rejected at this draft, and ended after it.
        kinds += [(position - 1, position, tried - accepted), (position, position, accepted - tried_next)]
    return estimate_hazards(
        *(np.array(column) for column in list(zip(*kinds, strict=True))[:2]), counts=[kind[2] for kind in kinds]
    )
