"""Score predictors on published speedups: a constant is fitted on listed rows only, and every other row is a test."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from statistics import fmean, median
from typing import Any, NamedTuple

from specsim.base.results import result
from specsim.claims.check import check_claim
from specsim.claims.lines import Line, line_of
from specsim.claims.reasons import implausible, likely, untested
from specsim.claims.rows import Row
from specsim.claims.scored import Score

HEAD = ["source", "rows", "fitted", "tested", "median error", "mean", "worst", "textbook median", "refused", "flagged",
        "skipped"]  # fmt: skip
NARROW = (0, 1, 3, 4, 5, 6, 7)  # of them


@result(rows=lambda validation: validation.scores)
class Validation(NamedTuple):
    """Scores of all rows, and the overheads fitted: {machine: (overhead in the rows' unit, rows used)}.

    Examples
    --------
    >>> from specsim.claims.rows import shipped
    >>> found = validate(shipped(), fit=["magicdec-001", "magicdec-007", "magicdec-014"])
    >>> sum(score.role == "fitted" for score in found.scores)
    3
    """

    scores: tuple[Score, ...]
    overheads: dict[tuple[str, ...], tuple[float, int]]


def validate(
    rows: Sequence[Row], *, fit: Sequence[str] = (), at_rate: Callable[[Row], float | None] | None = None
) -> Validation:
    r"""Predict each row from what is printed beside it, and compare.

    .. math:: \hat S = \frac{\tau \, T}{T_D + T_V + \hat o}, \qquad
        \hat o = \text{mean over fitted rows of} \; \frac{\tau \, T}{S} - T_D - T_V

    Parameters
    ----------
    rows : sequence of Row
        From `published.shipped` or `published.read`.
    fit : sequence of str
        Names of the rows that the overhead is fitted on; rows of the same source, table, machine and models share it,
        others have none. They are not scored. Of rows that print no cost, two lengths of one machine and pair give a
        line in the length, which the other lengths are tested on.
    at_rate : callable, optional
        The predicted speedup of a row that was measured at a request rate (`specsim.speed.load.published`), None where
        its models or device are not known. Without it such rows are left out.

    Returns
    -------
    Validation
        Rows without a printed verification time are predicted at one plain step for it. A row that prints neither
        draft nor verification time is predicted only where a fitted row shares its machine; where one of them is
        printed, an empty draft time counts as none, as for heads whose time is in the verification. Tables over the
        batch that print no costs are predicted row by row, each from the others: a cycle is a line in the batch, in
        plain steps, a + k b, fitted by least squares of the relative error on at least three other batch sizes.

    Raises
    ------
    ValueError
        fit names a row that does not exist, prints no tau or is refused, the fitted overhead leaves a row no time at
        all, or there is no row.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192; MagicDec, arXiv:2408.11049 (the composition).

    Examples
    --------
    >>> from specsim.claims.rows import shipped
    >>> found = validate(shipped(), fit=["magicdec-001", "magicdec-007", "magicdec-014"])
    >>> summary(found)["MagicDec (arXiv 2408.11049)"]["tested"]
    14
    """
    known = {row.name: row for row in rows}
    if not known:
        raise ValueError("there is no row to validate on")
    left: dict[tuple[str, ...], list[float]] = {}
    for name in dict.fromkeys(fit):
        if name not in known:
            near = get_close_matches(str(name), list(known), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"fit names {name!r}, which is no row of the file{hint}")
        row = known[name]
        if row.tau is None:
            raise ValueError(f"fit names {name!r}, which prints no tokens per target call")
        if refused := _bounds(row)[0]:
            raise ValueError(f"fit names {name!r}, which is refused: {refused[0]}")
        left.setdefault(row.machine, []).append(row.tau * row.plain / row.speedup - _printed(row))
    overheads = {machine: (fmean(values), len(values)) for machine, values in left.items()}
    scores = []
    for row in rows:
        if row.load is not None:
            scores.append(_loaded(row, at_rate))
        else:
            line = None if row.machine in overheads else line_of(row, rows, fit)
            scores.append(_score(row, overheads, row.name in set(fit), line))
    return Validation(tuple(scores), overheads)


def _loaded(row: Row, at_rate: Callable[[Row], float | None] | None) -> Score:
    """A row at a request rate."""
    found = None if at_rate is None or row.tau is None else at_rate(row)
    refused, flags = _bounds(row)
    role = "no tau printed" if row.tau is None else "no model of its costs" if found is None else "tested"
    error = None if found is None else found / row.speedup - 1
    return Score(row.name, row.source, row.speedup, found, None, error, role, refused, flags, row.iid)


def _printed(row: Row) -> float:
    """The cycle as printed; verification at one plain step where it is not."""
    return (row.draft or 0.0) + (row.plain if row.verify is None else row.verify)


def _score(row: Row, overheads: dict[tuple[str, ...], tuple[float, int]], fitted: bool, line: Line | None) -> Score:
    refused, flags = _bounds(row)
    if row.tau is None:
        return Score(row.name, row.source, row.speedup, None, None, None, "no tau printed", refused, flags, row.iid)
    if line is None and row.machine not in overheads and row.draft is None and row.verify is None:
        return Score(row.name, row.source, row.speedup, None, None, None, "no cost printed", refused, flags, row.iid)
    over = overheads.get(row.machine, (0.0, 0))[0]
    cycle, others, along = Line(_printed(row) + over, 0, "") if line is None else line
    if cycle <= 0:
        raise ValueError(f"the fitted overhead {over:.4g} leaves row {row.name!r} a cycle of {cycle:.4g}; fit others")
    predicted = row.tau * row.plain / cycle
    textbook = None if row.draft is None else row.tau * row.plain / (row.draft + row.plain)
    role = "fitted" if fitted else "refused" if refused else "tested"
    return Score(
        row.name,
        row.source,
        row.speedup,
        predicted,
        textbook,
        predicted / row.speedup - 1,
        role,
        refused,
        flags,
        row.iid,
        others,
        along,
    )


def _bounds(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Refusals need what a row prints: a depth for the first bound, costs besides for the second."""
    deep = row.levels or max(math.ceil(row.tau or 1), 1)
    certain = row.levels is not None and row.verify is not None and row.draft is not None
    claim = check_claim(
        row.speedup,
        gamma=deep,
        tau=row.tau,
        rounding=min(row.slack, 0.5),
        cost_ratio=(row.draft or 0.0) / row.plain / deep if certain else 0.0,
        # where no costs are printed a pass may have been cheaper than a slow step: leave that bound out
        verify_cost=(row.verify or row.plain) / row.plain if certain else 1e-9,
    )
    flags = [f"{flag} (tau as i.i.d. alpha gives it)" if row.iid else flag for flag in claim.flags]
    return claim.refused, (*flags, *implausible(row))


def summary(found: Validation) -> dict[str, dict[str, Any]]:
    """By source: rows tested, median, mean and worst absolute error, the textbook's median, and what was left out."""
    table: dict[str, dict[str, Any]] = {}
    for source in dict.fromkeys(score.source for score in found.scores):
        mine = [score for score in found.scores if score.source == source]
        tested = [score for score in mine if score.role == "tested"]
        errors = [abs(score.error) for score in tested if score.error is not None]
        book = [abs(score.textbook / score.measured - 1) for score in tested if score.textbook is not None]
        table[source] = {
            "rows": len(mine),
            "fitted": sum(score.role == "fitted" for score in mine),
            "tested": len(tested),
            "median": median(errors) if errors else None,
            "mean": fmean(errors) if errors else None,
            "worst": max(errors) if errors else None,
            "textbook_median": median(book) if book else None,
            "refused": [score.name for score in mine if score.refused],
            "flagged": [score.name for score in mine if score.flags],
            "left_out": sum(score.role.startswith("no ") for score in mine),
        }
    return table


def report_rows(found: Validation, whole: bool = True) -> list[list[str | float | None]]:
    """The summary as a table: head, then a row for each source, shares as floats; not whole: what fits 80 columns."""
    rows: list[list[str | float | None]] = [[*HEAD]]
    for source, s in summary(found).items():
        counts = [str(s[key]) for key in ("rows", "fitted", "tested")]
        shares = [s[key] for key in ("median", "mean", "worst", "textbook_median")]
        left = [str(len(s["refused"])), str(len(s["flagged"])), str(s["left_out"])]
        rows.append([source, *counts, *shares, *left])
    return rows if whole else [[row[i] for i in NARROW] for row in rows]


def remarks(found: Validation) -> list[str]:
    """The fitted overheads, why rows were not tested, and every refused or flagged row with the reason."""
    lines = []
    for machine, (overhead, used) in found.overheads.items():
        where = ", ".join(part for part in machine if part)
        lines.append(
            f"fitted overhead {overhead:.4g} a cycle, in the unit of its rows' times, on {used} of them: {where}"
        )
    lines += [
        f"note {source}: prints alpha, not tau; predicted as if every draft were as likely to be kept, which text that "
        "is easy here and hard there is not"
        for source in dict.fromkeys(score.source for score in found.scores if score.iid)
    ]
    lines += [
        f"held out, one by one, {source}: a cycle is a line in the batch, fitted on the other batches of its table"
        for source in dict.fromkeys(score.source for score in found.scores if score.along == "batch")
    ]
    lines += [
        f"held out, {source}: a cycle is a line in the length, fitted on the lengths that --fit names"
        for source in dict.fromkeys(score.source for score in found.scores if score.along == "length")
    ]
    lines += untested(found.scores)
    for score in found.scores:
        lines += [f"refused {score.name}: {reason}" for reason in score.refused]
        lines += [f"flagged {score.name}: {reason}{likely(reason)}" for reason in score.flags]
    return lines
