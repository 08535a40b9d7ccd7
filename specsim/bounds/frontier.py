"""The frontier of lossy rules: the most acceptance of one draft at a given distance from the target (T44).

A rule of one draft with output o accepts at most sum min(q, o), and some rule accepts that often. So
the frontier is the output closest to p at each acceptance. One output is closest in every
f-divergence at once: p times the ratio q/p clipped to an interval [floor, cap].
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import is_exact, overlap, wide
from specsim.base.results import result
from specsim.laws.divergences import DIVERGENCES, divergence_of
from specsim.types import Array

# A tangent and a chord bracket the root; each pair of steps at least halves the distance to it, and
# twenty more settle it to rounding.
STEPS = 80


@result("acceptance", "bound")
class LossyOptimum(NamedTuple):
    """The most acceptance at a distance from the target, with the numbers that prove it.

    ``output`` is the law that is emitted, p times the ratio q/p clipped to [``floor``, ``cap``]; ``spent`` is its
    distance from p. ``bound`` is the value of the dual programme at (``cap``, ``floor``): no rule of one draft
    accepts more. What lies between ``acceptance`` and ``bound`` is rounding.
    """

    acceptance: Array
    bound: Array
    output: Array
    cap: Array
    floor: Array
    spent: Array


@result("output", "cap", "floor")
class NearestOutput(NamedTuple):
    """The law closest to p of all outputs with an acceptance, and the interval to which it clips q/p."""

    output: Array
    cap: Array
    floor: Array


class _Rows(NamedTuple):
    """Two laws, and their masses along the tokens in falling order of q/p, from either end."""

    p: Array
    q: Array
    p_top: Array
    q_top: Array
    p_bottom: Array
    q_bottom: Array
    stray: Array  # (...): the mass of q where p is 0


@np.errstate(under="ignore")
def nearest_output(p: Array, q: Array, *, acceptance: Array) -> NearestOutput:
    r"""The output closest to the target of all rules of one draft that accept with a given probability.

    .. math:: o = p \cdot \operatorname{clip}(q/p, B, A), \qquad \sum (q - A p)_+ = \sum (B p - q)_+ = 1 - \alpha

    It is closest in total variation, in KL of either direction and in every other f-divergence (T44). The law is
    Huber's clipped likelihood ratio; `specsim.verify.step.clipped` is a rule that emits it.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws; leading axes broadcast. Rows of floats are divided by their sums. Fractions stay exact.
    acceptance : array_like, shape (...)
        Probability that the draft is kept, at most 1. Below 1 - TV(p, q), which lossless rules reach, the output is p.

    Returns
    -------
    NearestOutput
        output, shape (..., V); cap A and floor B, shape (...). The cap is infinite where even tokens that the target
        never emits are kept.

    Raises
    ------
    ValueError
        A row is not a law, or the acceptance is above 1 or below 0.

    References
    ----------
    Huber 1965, Annals of Mathematical Statistics 36 (clipped ratios); Huber and Strassen 1973, Annals of Statistics 1.

    Examples
    --------
    >>> near = nearest_output([0.7, 0.2, 0.1], [0.2, 0.3, 0.5], acceptance=0.7)
    >>> near.output.round(3).tolist(), float(near.cap.round(3)), float(near.floor.round(3))
    ([0.5, 0.3, 0.2], 2.0, 0.714)
    """
    p, q = _laws(p, q)
    accepted = check.real_values(acceptance, "acceptance", 0, 1)
    check.leading("p, q and acceptance", p.shape[:-1], accepted.shape)
    refused = np.minimum(1 - accepted, 1 - overlap(p, q))
    rows = _rows(p, q)
    cap, floor = _interval(rows, refused)
    return NearestOutput(_output(rows, refused, cap, floor), cap, floor)


@np.errstate(under="ignore")
def lossy_optimum(p: Array, q: Array, *, limit: Array, divergence: str = "kl") -> LossyOptimum:
    r"""The most acceptance of any rule of one draft whose output is within a distance of the target, with a proof.

    .. math:: \max_o \sum \min(q, o) \quad \text{subject to} \quad D(o, p) \le \epsilon

    In total variation the value is min(1, 1 - TV(p, q) + limit), in closed form (T33). In other divergences one
    number is found by a tangent and a chord that bracket it, and everything else is in closed form (T44).

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Target and draft laws; leading axes broadcast. Fractions are taken with "tv" only: in the other divergences the
        optimum of rational laws is irrational in general, a square root in "chi2".
    limit : array_like, shape (...)
        Largest distance of the output from the target, at least 0.
    divergence : str
        "kl", KL(output || target), in nats; "reverse_kl", KL(target || output); "tv", total variation; "chi2".

    Returns
    -------
    LossyOptimum
        acceptance, which some rule reaches, and bound, which no rule exceeds; output, cap, floor and spent as they
        are described in the record.

    Raises
    ------
    ValueError
        A row is not a law, the limit is negative, the divergence is unknown, or it is not "tv" and p is exact.

    References
    ----------
    Yin et al. 2024, arXiv:2411.00841, theorem 5 (the line in total variation).

    Examples
    --------
    >>> p, q = [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]
    >>> for divergence in ("tv", "kl", "reverse_kl"):
    ...     best = lossy_optimum(p, q, limit=0.05, divergence=divergence)
    ...     print(divergence, float(best.acceptance.round(4)), bool(abs(best.bound - best.acceptance) < 1e-12))
    tv 0.55 True
    kl 0.6503 True
    reverse_kl 0.6545 True
    """
    p, q = _laws(p, q)
    if divergence not in tuple(DIVERGENCES):
        raise ValueError(f"divergence is {divergence!r}; known divergences: {', '.join(DIVERGENCES)}")
    if is_exact(p) and divergence != "tv":
        raise ValueError(
            f"divergence={divergence!r} has no exact optimum on Fractions, since it is irrational in general; give "
            "floats, or 'tv'"
        )
    allowed = check.real_values(limit, "limit", 0, np.inf)
    check.leading("p, q and limit", p.shape[:-1], allowed.shape)
    rows = _rows(p, q)
    # What has to be refused: in total variation what the limit leaves of TV(p, q).
    most = 1 - overlap(p, q)
    refused = np.maximum(most - allowed, 0) if divergence == "tv" else _root(rows, allowed, most, divergence)
    cap, floor = _interval(rows, refused)
    output = _output(rows, refused, cap, floor)
    bound = _dual(rows, cap, floor, allowed, divergence)
    return LossyOptimum(1 - refused, bound, output, cap, floor, divergence_of(output, p, divergence))


def _laws(p: Array, q: Array) -> tuple[Array, Array]:
    """Return two broadcast NumPy arrays of laws: float64 rows that sum to 1 to rounding, or Fractions."""
    p, q = (np.asarray(wide(w)) for w in check.pair(p, q))
    # Integers among Fractions would divide to floats.
    if is_exact(p):
        return p + Fraction(0), q + Fraction(0)
    return p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)


@np.errstate(divide="ignore", over="ignore")
def _rows(p: Array, q: Array) -> _Rows:
    """Sort the tokens by q/p, and sum both laws from the highest ratio down and from the lowest up."""
    has_mass = p > 0
    ratio = np.where(has_mass, q / np.where(has_mass, p, 1), np.inf)
    order = np.argsort(-ratio, axis=-1, kind="stable")
    p_sorted, q_sorted = (np.take_along_axis(w, order, axis=-1) for w in (p, q))
    p_top, q_top = np.cumsum(p_sorted, axis=-1), np.cumsum(q_sorted, axis=-1)
    p_bottom, q_bottom = (np.cumsum(w[..., ::-1], axis=-1) for w in (p_sorted, q_sorted))
    return _Rows(p, q, p_top, q_top, p_bottom, q_bottom, (q * ~has_mass).sum(axis=-1))


@np.errstate(over="ignore")
def _interval(rows: _Rows, refused: Array) -> tuple[Array, Array]:
    """Return (cap, floor) with sum (q - cap p)+ = sum (floor p - q)+ = the refused mass.

    sum (q - A p)+ is the largest q(S) - A p(S) of all sets S, so A is the largest (q(S) - refused) / p(S), and a
    prefix of the order of q/p attains it. The floor is the smallest (q(S) + refused) / p(S).
    """
    mass = np.asarray(refused)[..., None]
    one: Array = Fraction(1) if is_exact(rows.p) else 1.0
    quotients = (rows.q_top - mass) / np.where(rows.p_top > 0, rows.p_top, one)
    cap = np.where(rows.p_top > 0, quotients, one).max(axis=-1)
    quotients = (rows.q_bottom + mass) / np.where(rows.p_bottom > 0, rows.p_bottom, one)
    floor = np.where(rows.p_bottom > 0, quotients, one).min(axis=-1)
    # No cap holds where less is refused than the draft puts on tokens that the target never emits.
    cap = np.where(refused < rows.stray, np.inf, np.maximum(cap, one))
    return cap[()], np.minimum(floor, one)


@np.errstate(over="ignore", invalid="ignore")
def _output(rows: _Rows, refused: Array, cap: Array, floor: Array) -> Array:
    """Return p clip(q/p, floor, cap); tokens that the target never emits share what is kept of them."""
    p, q = rows.p, rows.q
    cap, floor = (np.asarray(w)[..., None] for w in (cap, floor))
    clipped = np.maximum(np.minimum(q, cap * p), floor * p)
    stray = np.where(rows.stray > 0, rows.stray, 1)
    kept = np.maximum(1 - refused / stray, 0)
    return np.where(p > 0, clipped, q * np.asarray(kept)[..., None])


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _root(rows: _Rows, allowed: Array, most: Array, divergence: str) -> Array:
    """Return the least refused mass at which the output is within `allowed` of the target.

    The distance falls with the refused mass and is convex in it, with slope f'(floor) - f'(cap): a tangent from the
    left stays left of the root, and a chord ends right of it.
    """

    def distance(refused: Array) -> tuple[Array, Array]:
        """The distance of the output at a refused mass, and its slope."""
        cap, floor = _interval(rows, refused)
        slope = _slope_at(floor, divergence) - _slope_at(cap, divergence)
        return divergence_of(_output(rows, refused, cap, floor), rows.p, divergence), slope

    least = np.zeros_like(most) if DIVERGENCES[divergence].stray else rows.stray
    most = np.maximum(most, least)
    low, high = (w + 0 * allowed for w in (least, most))
    start, _ = distance(low)
    for i in range(STEPS):
        at_low, slope = distance(low)
        at_high, _ = distance(high)
        middle = (low + high) / 2
        # The tangent at `low`; then by turns the chord and the middle, which halves the bracket.
        tangent = low - (at_low - allowed) / slope
        chord = low + (high - low) * ((at_low - allowed) / (at_low - at_high))
        for guess in (tangent, chord if i % 2 else middle):
            # The first guess may have overtaken the second; the middle of what is left is always inside.
            guess = np.where((guess > low) & (guess < high), guess, (low + high) / 2)
            is_left = distance(guess)[0] > allowed
            low, high = np.where(is_left, guess, low), np.where(is_left, high, guess)
        if np.all((high - low <= np.spacing(1.0)) | (start <= allowed)):
            break
    return np.where(start <= allowed, least, high)[()]


def _slope_at(ratio: Array, divergence: str) -> Array:
    """The slope of f at a ratio, which may be infinite."""
    _, slope, stray = DIVERGENCES[divergence]
    at_infinity = np.inf if stray is None else 1 / stray
    is_finite = np.asarray(ratio) < np.inf
    return np.where(is_finite, slope(np.where(is_finite, ratio, 1)), at_infinity)


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def _dual(rows: _Rows, cap: Array, floor: Array, allowed: Array, divergence: str) -> Array:
    """Return an upper bound on the acceptance of every rule: valid at any cap > 1 > floor, tight at the right ones.

    For multipliers u >= 0 and v it is the largest value, over all o >= 0, of sum min(q, o) - u (D(o, p) - allowed)
    - v (sum o - 1). With u = 1 / (f'(cap) - f'(floor)) and v = -u f'(floor) the clipped ratio attains that, token
    by token.
    """
    p, q = rows.p, rows.q
    f, _, stray = DIVERGENCES[divergence]
    # Where nothing may change, cap and floor are 1; a limit above 0 then needs some interval.
    some = np.where(np.asarray(cap) == floor, np.minimum(np.sqrt(np.asarray(allowed, float)), 0.5), 0)
    cap, floor = cap + _like(p, some), floor - _like(p, some)
    high, low = (_like(p, _slope_at(w, divergence)) for w in (cap, floor))
    u = 1 / np.where(high > low, high - low, 1)
    v = -u * low
    # The largest value of each token's term; on tokens that the target never emits it is 0.
    ratio = np.maximum(np.minimum(q / np.where(p > 0, p, 1), np.asarray(cap)[..., None]), np.asarray(floor)[..., None])
    u_row, v_row = (np.asarray(w)[..., None] for w in (u, v))
    terms = np.minimum(q, p * ratio) - u_row * p * f(ratio) - v_row * p * ratio
    dual = np.where(p > 0, terms, 0).sum(axis=-1) + u * allowed + v
    # Two bounds that need no multiplier: the mass of the draft that may be emitted at all, and what a
    # lossless rule accepts where no distance is allowed.
    reach = 1 - rows.stray if stray is None else 1 + 0 * rows.stray
    dual = np.where(np.asarray(allowed) == 0, overlap(p, q), dual)
    return np.where(dual < reach, dual, reach)[()]


def _like(p: Array, w: Array) -> Array:
    """Return w in Fractions if p is in Fractions: halves and zeros, which floats hold exactly."""
    return np.vectorize(Fraction, otypes=[object])(w) if is_exact(p) else w
