"""Acceptance against the number of drafts: every rule and scheme on the same rows, with the optimum of each scheme."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from specsim import discover
from specsim.base import arrays, check, limits
from specsim.bounds.optimum import optimum
from specsim.draft import distinct
from specsim.types import Array, NoClosedForm
from specsim.verify.lookup import takes

SCHEMES = ("iid", "distinct", "without_replacement", "greedy")  # whose optimum is known at any vocabulary
SPREAD = 2.5758  # standard errors each side: 99 %
DRAWS = 1024  # at most, for as many distinct drafts as asked for
CELLS = 2**20  # samples x tokens worked on at a time: beyond that the temporaries cost five times the time

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
        (name, rule, scheme, k)
        for name, rule in discover.rules("step").items()
        if not discover.facts(rule).bias  # lossy: its acceptance is bought
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
    try:
        with warnings.catch_warnings():  # a rule below a single draft shows in the curve itself
            warnings.simplefilter("ignore", UserWarning)
            return float(np.mean(arrays.at_most(rule.acceptance(rule.prepare(p, q, law)), 1))), 0.0
    except NoClosedForm:
        if scheme == "distinct":  # `_sampled` knows rows of a fixed number of drafts
            raise
    scheme_module = discover.find("draft", scheme)
    return _sampled(rule, scheme_module, p, q, num_drafts, samples, np.random.default_rng(seed), tell)


def _sampled(
    rule: ModuleType,
    scheme_module: ModuleType,
    p: Array,
    q: Array,
    num_drafts: int,
    samples: int,
    rng: np.random.Generator,
    tell: Callable[[int], None],
) -> tuple[float, float]:
    """Mean over rows of the hit probability, exact for each sampled tuple; with a 99 % half-width."""
    means, variance = [], 0.0
    for done, (p_row, q_row) in enumerate(zip(p, q, strict=True), start=1):
        u = rng.random((samples, scheme_module.uniforms(num_drafts)))
        size = max(1, CELLS // len(q_row))
        pieces = [u[start : start + size] for start in range(0, samples, size)]
        hit = np.concatenate([_hits(rule, scheme_module, p_row, q_row, num_drafts, piece) for piece in pieces])
        means.append(hit.mean())
        variance += hit.var(ddof=1) / samples
        tell(done)
    return float(np.mean(means)), float(SPREAD * variance**0.5 / len(means))


def _hits(rule: ModuleType, scheme_module: ModuleType, p: Array, q: Array, num_drafts: int, u: Array) -> Array:
    """Probability (n,) that the token is a draft, given the drafts of each row of uniforms (n, ...)."""
    p, q = (np.broadcast_to(w, (len(u), len(w))) for w in (p, q))
    x = scheme_module.draw(q, u, num_drafts)
    law = rule.transition(rule.prepare(p, q, num_drafts), x)
    first = [(x[:, k : k + 1] != x[:, :k]).all(axis=-1) for k in range(num_drafts)]
    return (np.take_along_axis(law, x, axis=-1) * np.stack(first, axis=-1)).sum(axis=-1)
