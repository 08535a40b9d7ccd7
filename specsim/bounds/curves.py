"""Acceptance against the number of drafts: every rule and scheme on the same rows, with the optimum of each scheme."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check, limits
from specsim.bounds.optimum import optimum
from specsim.discover import Rule
from specsim.draft import distinct
from specsim.types import Array, NoClosedForm
from specsim.verify.hits import MAX_ENUMERATED, accepted, sampled
from specsim.verify.lookup import takes

SCHEMES = ("iid", "distinct", "without_replacement", "greedy")  # whose optimum is known at any vocabulary
DRAWS = 1024  # at most, for as many distinct drafts as asked for

Progress = Callable[[float, list["Point"]], None]


class Point(NamedTuple):
    """Mean acceptance over the rows: of a rule, or the optimum of a scheme (rule "").

    `error` is 0 where every row is exact; else the half-width of a 99 % interval (sampled drafts), or a bound on what
    the quadrature may be off.
    """

    rule: str
    scheme: str
    num_drafts: int
    value: float
    error: float


@np.errstate(under="ignore")
def acceptance_curves(
    p: Array,
    q: Array,
    *,
    num_drafts: Sequence[int] = (1, 2, 4, 8),
    rules: Sequence[Rule] | None = None,
    samples: int = 64,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Point]:
    r"""Mean acceptance of every lossless rule and the optimum of every scheme, on the same rows.

    .. math:: \frac1n \sum_{\text{rows}} \Pr[y \in \{x_1, \dots, x_K\}]

    Closed forms where there are any. Else the drafts are sampled, `samples` tuples a row, and the hit probability of
    each tuple is exact.

    Parameters
    ----------
    p, q : array_like, shape (n, V)
        Target and draft laws at n positions.
    num_drafts : sequence of int
        Candidates K per position; for "distinct", expected distinct tokens, of at most 1024 draws.
    rules : sequence of str, path or module, optional
        Step rules, one's own by the paths of their files; by default every lossless rule of `algorithms`.
    samples : int
        Tuples of drafts for each row, where a rule has no closed form.
    seed : int
        Of these tuples.
    progress : callable, optional
        progress(share done, points so far), after each point and each row whose drafts are sampled: at 150,000 tokens
        such a row takes seconds.

    Returns
    -------
    list of Point
        Rules first, in the order of `algorithms`, then the optima (rule "").

    Raises
    ------
    ValueError
        A row is not a law, the vocabularies differ, or num_drafts < 1.

    References
    ----------
    The papers of the rules, see `algorithms`; Hu et al. 2025, arXiv:2502.18779 (the optimum).

    Examples
    --------
    >>> found = acceptance_curves([[.5, .3, .2]], [[.1, .3, .6]], num_drafts=[2])
    >>> {c.rule: round(c.value, 3) for c in found if c.scheme == "iid"}["recursive"]
    0.64
    """
    p, q = (np.atleast_2d(w) for w in check.pair(p, q))
    if p.ndim != 2:
        raise ValueError(f"p and q must be rows (n, V), got shape {p.shape}")
    if not len(p):
        raise ValueError("p and q have no row: there is no mean acceptance")
    if isinstance(num_drafts, int):
        raise TypeError(f"num_drafts must be a sequence of integers, got {num_drafts}")
    counts = [check.integer(k, "num_drafts", 1, limits.MAX_DRAFTS) for k in num_drafts]
    samples = check.integer(samples, "samples", 2)
    wanted = [
        (discover.name_of(rule), rule, scheme, k)
        for rule in _drawn(rules)
        for scheme in discover.facts(rule).schemes
        for k in counts
        if takes(rule, k)
    ]
    optima = [(scheme, k) for scheme in SCHEMES for k in counts]
    points: list[Point] = []

    def tell(rows: int) -> None:
        if progress is not None:
            progress((len(points) + rows / len(p)) / (len(wanted) + len(optima)), points)

    for name, rule, scheme, k in wanted:
        points.append(Point(name, scheme, k, *_accepted(rule, p, q, k, scheme, samples, seed, tell)))
        tell(0)
    for scheme, k in optima:
        count = distinct.draws(q, k, DRAWS) if scheme == "distinct" else k
        best = optimum(p, q, num_drafts=count, scheme=scheme)
        points.append(Point("", scheme, k, float(np.mean(best.value)), float(np.mean(best.error))))
        tell(0)
    return points


def _drawn(rules: Sequence[Rule] | None) -> list[ModuleType]:
    """The rules that have a curve: those asked for, or all that are not lossy, whose acceptance is bought."""
    if rules is None:
        return [rule for rule in discover.rules("step").values() if not discover.facts(rule).bias]
    if isinstance(rules, (str, Path, ModuleType)) or not isinstance(rules, Sequence):
        raise TypeError(f"rules must be a sequence of rules, got {check.shown(rules)}: write [...]")
    return [discover.find("step", rule) for rule in rules]


def _accepted(
    rule: ModuleType,
    p: Array,
    q: Array,
    num_drafts: int,
    scheme: str,
    samples: int,
    seed: int,
    tell: Callable[[int], None],
) -> tuple[float, float]:
    """(mean, error) over the rows."""
    law = distinct.draws(q, num_drafts, DRAWS) if scheme == "distinct" else num_drafts
    is_stated = discover.facts(rule).acceptance
    try:
        with warnings.catch_warnings():  # a rule below a single draft shows in the curve itself
            warnings.simplefilter("ignore", UserWarning)
            if is_stated or q.shape[-1] ** (num_drafts + 1) <= MAX_ENUMERATED:
                return float(np.mean(accepted(rule, p, q, law).value)), 0.0
    except NoClosedForm:
        if scheme == "distinct":  # rows of a fixed number of drafts are sampled
            raise
    found = sampled(rule, scheme, p, q, num_drafts, samples, seed, tell)
    return float(np.mean(found.value)), float(np.sqrt(np.sum(found.error**2)) / len(p))
