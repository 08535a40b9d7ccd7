"""Scores of predictions of published speedups.

A constant is fitted on listed rows only, and every other row is a test.
"""

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
# Columns of HEAD that fit 80 columns of a terminal.
NARROW = (0, 1, 3, 4, 5, 6, 7)


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
        Names of the rows that the overhead is fitted on; rows of the same source, table, machine
        and models share it, others have none. They are not scored. Of rows that print no cost, two
        lengths of one machine and pair give a line in the length, which the other lengths are
        tested on.
    at_rate : callable, optional
        The predicted speedup of a row that was measured at a request rate
        (`specsim.speed.load.published`), None where its models or device are not known. Without it
        such rows are left out.

    Returns
    -------
    Validation
        Rows without a printed verification time are predicted at one plain step for it. A row that
        prints neither draft nor verification time is predicted only where a fitted row shares its
        machine; where one of them is printed, an empty draft time counts as none, as for heads
        whose time is in the verification. Tables over the batch that print no costs are predicted
        row by row, each from the others: a cycle is a line in the batch, in plain steps, a + k b,
        fitted by least squares of the relative error on at least three other batch sizes.

    Raises
    ------
    ValueError
        fit names a row that does not exist, prints no tau or is refused, the fitted overhead leaves
        a row no time at all, or there is no row.

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
    by_name = {row.name: row for row in rows}
    if not by_name:
        raise ValueError("there is no row to validate on")

    # Fit an overhead for each machine: the time of a cycle beyond its printed costs.
    excess: dict[tuple[str, ...], list[float]] = {}
    for name in dict.fromkeys(fit):
        if name not in by_name:
            near = get_close_matches(str(name), list(by_name), 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"fit names {name!r}, which is no row of the file{hint}")
        row = by_name[name]
        if row.tau is None:
            raise ValueError(f"fit names {name!r}, which prints no tokens per target call")
        if refused := _bounds(row)[0]:
            raise ValueError(f"fit names {name!r}, which is refused: {refused[0]}")
        cycle = row.tau * row.plain / row.speedup
        excess.setdefault(row.machine, []).append(cycle - _printed(row))
    overheads = {machine: (fmean(values), len(values)) for machine, values in excess.items()}

    # Score each row.
    scores = []
    for row in rows:
        if row.load is not None:
            scores.append(_loaded(row, at_rate))
        else:
            line = None if row.machine in overheads else line_of(row, rows, fit)
            scores.append(_score(row, overheads, row.name in set(fit), line))
    return Validation(tuple(scores), overheads)


def _loaded(row: Row, at_rate: Callable[[Row], float | None] | None) -> Score:
    """The score of a row at a request rate."""
    predicted = None if at_rate is None or row.tau is None else at_rate(row)
    refused, flags = _bounds(row)
    error = None
    if row.tau is None:
        role = "no tau printed"
    elif predicted is None:
        role = "no model of its costs"
    else:
        role, error = "tested", predicted / row.speedup - 1
    return Score(row.name, row.source, row.speedup, predicted, None, error, role, refused, flags, row.iid)


def _printed(row: Row) -> float:
    """The cycle as printed, with verification at one plain step where none is printed."""
    return (row.draft or 0.0) + (row.plain if row.verify is None else row.verify)


def _score(row: Row, overheads: dict[tuple[str, ...], tuple[float, int]], fitted: bool, line: Line | None) -> Score:
    """The score of a row without a request rate; `line` replaces its printed costs."""
    # Rows without what a prediction needs.
    refused, flags = _bounds(row)
    if row.tau is None:
        return Score(row.name, row.source, row.speedup, None, None, None, "no tau printed", refused, flags, row.iid)
    if line is None and row.machine not in overheads and row.draft is None and row.verify is None:
        return Score(row.name, row.source, row.speedup, None, None, None, "no cost printed", refused, flags, row.iid)

    # The cycle: printed costs and the machine's overhead, or the line.
    overhead = overheads.get(row.machine, (0.0, 0))[0]
    cycle, others, along = Line(_printed(row) + overhead, 0, "") if line is None else line
    if cycle <= 0:
        raise ValueError(
            f"the fitted overhead {overhead:.4g} leaves row {row.name!r} a cycle of {cycle:.4g}; fit others"
        )

    # The predictions, and whether they count as tests.
    predicted = row.tau * row.plain / cycle
    textbook = None if row.draft is None else row.tau * row.plain / (row.draft + row.plain)
    role = "refused" if refused else "tested"
    if fitted:
        role = "fitted"
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
    """The refusals and flags of a row, by the bounds that what it prints allows.

    The first bound needs a length, the second costs, too.
    """
    gamma = row.levels or max(math.ceil(row.tau or 1), 1)
    # Where no costs are printed a pass may have been cheaper than a slow plain step: costs near 0
    # leave the second bound out.
    cost_ratio, verify_cost = 0.0, 1e-9
    if row.levels is not None and row.verify is not None and row.draft is not None:
        cost_ratio = (row.draft or 0.0) / row.plain / gamma
        verify_cost = (row.verify or row.plain) / row.plain
    claim = check_claim(
        row.speedup,
        gamma=gamma,
        tau=row.tau,
        rounding=min(row.slack, 0.5),
        cost_ratio=cost_ratio,
        verify_cost=verify_cost,
    )
    flags = [f"{flag} (tau as i.i.d. alpha gives it)" if row.iid else flag for flag in claim.flags]
    return claim.refused, (*flags, *implausible(row))


def summary(validation: Validation) -> dict[str, dict[str, Any]]:
    """The errors of each source: median, mean and worst, the textbook's median, and counts of rows.

    Errors are absolute and relative to the measured speedup.
    """
    table: dict[str, dict[str, Any]] = {}
    for source in dict.fromkeys(score.source for score in validation.scores):
        # The rows of this source, and the errors of those that are tested.
        source_scores = [score for score in validation.scores if score.source == source]
        tested = [score for score in source_scores if score.role == "tested"]
        errors = [abs(score.error) for score in tested if score.error is not None]
        textbook_errors = [abs(score.textbook / score.measured - 1) for score in tested if score.textbook is not None]
        statistics: dict[str, float | None] = dict.fromkeys(("median", "mean", "worst"))
        if errors:
            statistics = {"median": median(errors), "mean": fmean(errors), "worst": max(errors)}
        table[source] = {
            "rows": len(source_scores),
            "fitted": sum(score.role == "fitted" for score in source_scores),
            "tested": len(tested),
            **statistics,
            "textbook_median": median(textbook_errors) if textbook_errors else None,
            "refused": [score.name for score in source_scores if score.refused],
            "flagged": [score.name for score in source_scores if score.flags],
            "left_out": sum(score.role.startswith("no ") for score in source_scores),
        }
    return table


def report_rows(validation: Validation, whole: bool = True) -> list[list[str | float | None]]:
    """The summary as a table: head, then a row for each source, with shares as floats.

    Unless `whole`, it has the columns that fit 80 characters.
    """
    rows: list[list[str | float | None]] = [[*HEAD]]
    for source, s in summary(validation).items():
        counts = [str(s[key]) for key in ("rows", "fitted", "tested")]
        shares = [s[key] for key in ("median", "mean", "worst", "textbook_median")]
        left_out = [str(len(s["refused"])), str(len(s["flagged"])), str(s["left_out"])]
        rows.append([source, *counts, *shares, *left_out])
    return rows if whole else [[row[i] for i in NARROW] for row in rows]


def remarks(validation: Validation) -> list[str]:
    """Sentences on fitted overheads, rows that were not tested, and refused or flagged rows."""
    # What was fitted or assumed.
    lines = []
    for machine, (overhead, used) in validation.overheads.items():
        where = ", ".join(part for part in machine if part)
        lines.append(
            f"fitted overhead {overhead:.4g} a cycle, in the unit of its rows' times, on {used} of them: {where}"
        )
    lines += [
        f"note {source}: prints alpha, not tau; predicted as if every draft were as likely to be kept, which text that "
        "is easy here and hard there is not"
        for source in dict.fromkeys(score.source for score in validation.scores if score.iid)
    ]
    lines += [
        f"held out, one by one, {source}: a cycle is a line in the batch, fitted on the other batches of its table"
        for source in dict.fromkeys(score.source for score in validation.scores if score.along == "batch")
    ]
    lines += [
        f"held out, {source}: a cycle is a line in the length, fitted on the lengths that --fit names"
        for source in dict.fromkeys(score.source for score in validation.scores if score.along == "length")
    ]

    # What was not tested, and the objections to rows.
    lines += untested(validation.scores)
    for score in validation.scores:
        lines += [f"refused {score.name}: {reason}" for reason in score.refused]
        lines += [f"flagged {score.name}: {reason}{likely(reason)}" for reason in score.flags]
    return lines
