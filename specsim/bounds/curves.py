"""Acceptance against the number of drafts: every rule and scheme on the same rows, with the optimum of each scheme."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim import discover
from specsim.base import check
from specsim.bounds.optimum import optimum
from specsim.draft import distinct
from specsim.types import Array
from specsim.verify.lookup import takes

SCHEMES = ("iid", "distinct", "without_replacement", "greedy")  # whose optimum is known at any vocabulary
SPREAD = 2.5758  # standard errors each side: 99 %
DRAWS = 1024  # at most, for as many distinct drafts as asked for


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


def acceptance_curves(
    p: Array, q: Array, *, num_drafts: Sequence[int] = (1, 2, 4, 8), samples: int = 64, seed: int = 0
) -> list[Point]:  # fmt: skip
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
    samples : int
        Tuples of drafts for each row, where a rule has no closed form.
    seed : int
        Of these tuples.

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
    if isinstance(num_drafts, int):
        raise TypeError(f"num_drafts must be a sequence of integers, got {num_drafts}")
    counts = [check.integer(k, "num_drafts", 1) for k in num_drafts]
    samples = check.integer(samples, "samples", 2)
    points = []
    for name, rule in discover.rules("step").items():
        facts = discover.facts(rule)
        if facts.bias:  # lossy: its acceptance is bought
            continue
        for scheme in facts.schemes:
            for k in counts:
                found = _accepted(rule, p, q, k, scheme, samples, seed)
                points += [Point(name, scheme, k, *found)] if found else []
    for scheme in SCHEMES:
        for k in counts:
            count = distinct.draws(q, k, DRAWS) if scheme == "distinct" else k
            best = optimum(p, q, num_drafts=count, scheme=scheme)
            points.append(Point("", scheme, k, float(np.mean(best.value)), float(np.mean(best.error))))
    return points


def _accepted(
    rule: ModuleType, p: Array, q: Array, num_drafts: int, scheme: str, samples: int, seed: int
) -> tuple[float, float] | None:
    """(mean, error) over the rows; None if the rule does not take so many drafts."""
    scheme_module = discover.find("draft", scheme)
    if not takes(rule, num_drafts):
        return None
    law = distinct.draws(q, num_drafts, DRAWS) if scheme == "distinct" else num_drafts
    try:
        return float(np.mean(rule.acceptance(rule.prepare(p, q, law)))), 0.0
    except ValueError:  # a sum over drafts that would not fit
        return _sampled(rule, scheme_module, p, q, num_drafts, samples, np.random.default_rng(seed))


def _sampled(
    rule: ModuleType,
    scheme_module: ModuleType,
    p: Array,
    q: Array,
    num_drafts: int,
    samples: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Mean over rows of the hit probability, exact for each sampled tuple; with a 99 % half-width."""
    means, variance = [], 0.0
    for p_row, q_row in zip(p, q, strict=True):
        rows = np.broadcast_to(q_row, (samples, len(q_row)))
        x = scheme_module.draw(rows, rng.random((samples, scheme_module.uniforms(num_drafts))), num_drafts)
        law = rule.transition(rule.prepare(np.broadcast_to(p_row, rows.shape), rows, num_drafts), x)
        first = [(x[:, k : k + 1] != x[:, :k]).all(axis=-1) for k in range(num_drafts)]
        hit = (np.take_along_axis(law, x, axis=-1) * np.stack(first, axis=-1)).sum(axis=-1)
        means.append(hit.mean())
        variance += hit.var(ddof=1) / samples
    return float(np.mean(means)), SPREAD * variance**0.5 / len(means)
