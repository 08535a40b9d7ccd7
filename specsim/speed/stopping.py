"""When to stop drafting: the best that any controller which sees draft-side signals can do, exactly.

Model.       After draft i of a block its signal s_i is seen (a bin of confidence, entropy, ...). Signals form a Markov
             chain. Given them, drafts are accepted independently, draft i with probability r_i. Blocks are alike.
State.       (i, s_i, w), where w = r_1 ... r_i is the probability that all drafts so far are accepted: a policy needs
             nothing else (T25).
Optimum.     max E[N] / E[T] over policies, the root of max E[N] - theta E[T] = 0 by Dinkelbach's iteration; inside it a
             dynamic program over the states that can occur. Drafting goes on above a threshold of w.
Exact.       Fractions in, Fractions out.
Paper.       Dinkelbach 1967; Mamou et al. 2024, DISCO, arXiv:2405.04304 (a controller of this kind).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.speed.ratio import BestGamma, Curve, cycle_cost
from specsim.types import Array

# Most states of the dynamic program; in floats they take about 100 MB.
STATES = 200_000


class Threshold(NamedTuple):
    """The best rule that drafts on while the last draft's confidence is at least `confidence`, up to a length."""

    confidence: Any
    max_gamma: int
    speedup: Any


@result("speedup")
class Stopping(NamedTuple):
    """The best causal policy; the best threshold on one draft's confidence and the best length beside it.

    go_on[i, s]: least probability w, of those that can occur, at which drafting goes on after i drafts, the last with
    signal s (one column where signals do not depend on each other); infinite where it never does. `lengths` is the law
    of the number of drafts. `clairvoyant` knows beforehand which drafts will be kept: no controller reaches it.

    Examples
    --------
    >>> best = optimal_stopping([[0.05, 0.45], [0.1, 0.2], [0.15, 0.05]], max_gamma=10, cost_ratio=0.1)
    >>> [round(float(v), 4) for v in (best.static.speedup, best.threshold.speedup, best.speedup, best.clairvoyant)]
    [1.9808, 2.0813, 2.0929, 2.6635]
    """

    speedup: Any
    tau: Any
    cycle: Any
    lengths: Array
    go_on: Array
    threshold: Threshold
    static: BestGamma
    clairvoyant: Any


class _State(NamedTuple):
    """A state of the dynamic program after i drafts, one entry of level i.

    ``signal``: the last one (0 where signals do not depend on each other); ``w``: probability that all drafts so far
    are accepted; ``chance``: probability of the state if drafting never stops; ``then``: (probability, index in level
    i + 1) for each state that may follow.
    """

    signal: int
    w: Any
    chance: Any
    then: list[tuple[Any, int]]


@np.errstate(under="ignore")
def optimal_stopping(
    table: Array,
    *,
    max_gamma: int | None = None,
    cost_ratio: float = 0,
    verify_cost: Curve = None,
    overhead: float = 0,
) -> Stopping:
    r"""Return the largest speedup of any policy that decides after each draft whether to draft on or to verify.

    .. math:: S^* = \max_\pi \frac{E[N_\pi]}{E[T_\pi]}, \qquad N = 1 + \sum_{i \le g} 1[\text{drafts } 1..i
        \text{ kept}], \quad T = g c + t(g + 1) + o, \quad T = 1 \text{ for } g = 0

    It is the ceiling of every controller with these signals, randomised ones and such that remember earlier blocks
    included (T25). If signals say nothing, it is the best static length.

    Parameters
    ----------
    table : array_like
        P(signal, kept), last axis (rejected, kept), given that the drafts before are kept. Shape (S, 2): the same at
        every position; (n, S, 2): one a position; (n, S, S, 2): rows [i, s] for draft i + 1 after a draft with
        signal s, row [0, 0] for the first draft. Each (S, 2) sums to 1.
    max_gamma : int, optional
        Longest draft; needed for (S, 2), where others give n.
    cost_ratio : float
        c, a draft step with its signal, in target steps.
    verify_cost : callable or sequence, optional
        t(m), as in `speedup`.
    overhead : float
        o, per cycle that drafts, in target steps.

    Returns
    -------
    Stopping
        speedup, tau and cycle of the optimum; its thresholds; what stands beside it.

    Raises
    ------
    ValueError
        A table of another shape, or that is no law (its place and sum), max_gamma missing or not n, a negative cost, a
        curve too short, or more than 200,000 states.

    References
    ----------
    Dinkelbach 1967, Management Science 13:492; Mamou et al. 2024, DISCO, arXiv:2405.04304 (thresholds).

    Examples
    --------
    >>> best = optimal_stopping([[0.0, 0.5], [0.5, 0.0]], max_gamma=6, cost_ratio=0.25)  # the signal tells all
    >>> round(float(best.speedup), 4), best.static.gamma, best.go_on.ravel().tolist()
    (1.3298, 1, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    """
    # Laws of the signals, and times of a cycle with 0, 1, ..., n drafts.
    law, keep = _laws(table, max_gamma)
    n = len(law)
    costs: Any = {"cost_ratio": cost_ratio, "verify_cost": verify_cost, "overhead": overhead}
    times = [Fraction(1) if law.dtype == object else 1.0, *(cycle_cost(g, **costs) for g in range(1, n + 1))]
    # The best fixed length, from which the iteration starts.
    levels = _levels(law, keep)
    survival = [sum(state.chance * state.w for state in level) for level in levels]
    curve = [sum(survival[: g + 1]) / times[g] for g in range(n + 1)]
    static = max(range(n + 1), key=lambda g: curve[g])
    speed = curve[static]
    # Dinkelbach: every round finds a better policy, and there are finitely many.
    tokens, time, choices = _solve(levels, times, speed)
    while tokens / time > speed:
        speed = tokens / time
        tokens, time, choices = _solve(levels, times, speed)
    # go_on: the least w at which drafting goes on, by number of drafts and signal.
    go_on = np.full((n, law.shape[1]), math.inf, dtype=law.dtype)
    for i, (level, chosen) in enumerate(zip(levels, choices, strict=False)):
        for state, go in zip(level, chosen, strict=True):
            if go:
                go_on[i, state.signal] = min(go_on[i, state.signal], state.w)
    return Stopping(
        speed,
        tokens,
        time,
        _lengths(levels, choices),
        go_on,
        _threshold(law, keep, times),
        BestGamma(static, curve[static], np.array(curve)),
        _clairvoyant(survival, times),
    )


def _laws(table: Array, max_gamma: int | None) -> tuple[Array, Array]:
    """Return P(signal) and P(accepted | signal), both (n, rows, S): one row, or one row for each signal before."""
    # Validate.
    w = np.asarray(check.array(table, "table"))
    if w.ndim not in (2, 3, 4) or w.shape[-1] != 2 or (w.ndim == 4 and w.shape[1] != w.shape[2]) or 0 in w.shape:
        raise ValueError(f"table must have shape (S, 2), (n, S, 2) or (n, S, S, 2), got {w.shape}")
    check.law(w.reshape((*w.shape[:-2], -1)), "table")
    if w.ndim == 2:
        if max_gamma is None:
            raise ValueError("give max_gamma with a table of shape (S, 2), the same at every position")
        w = np.broadcast_to(w, (check.integer(max_gamma, "max_gamma", 1, limits.MAX_SUMMED), *w.shape))
    elif max_gamma is not None and check.integer(max_gamma, "max_gamma", 1, limits.MAX_SUMMED) != len(w):
        raise ValueError(f"max_gamma is {max_gamma}, but table has {len(w)} positions")
    # One shape for all; integers among Fractions become Fractions, as they would divide to floats.
    w = w[:, None] if w.ndim == 3 else w
    w = w * Fraction(1) if w.dtype == object else w
    law = w.sum(axis=-1)
    return law, w[..., 1] / np.where(law > 0, law, 1)


def _levels(law: Array, keep: Array) -> list[list[_State]]:
    """Return the states after 0, 1, ..., n drafts, each level linked to the next by `then`.

    States with the same signal and the same w are one. They are compared by the sorted factors r of w, so that rounding
    does not tell equal products apart: drafts with r = 0.5, 0.9 and with 0.9, 0.5 lead to one state.
    """
    # For the last level: the index of each state by its signal and its factors.
    rows = law.shape[1]
    keys: dict[tuple[int, tuple[Any, ...]], int] = {(0, ()): 0}
    levels = [[_State(0, 1, 1, [])]]
    for i in range(len(law)):
        next_keys: dict[tuple[int, tuple[Any, ...]], int] = {}
        next_level: list[_State] = []
        for (signal, factors), index in keys.items():
            state = levels[-1][index]
            # One draft more, by its signal s.
            for s in range(law.shape[2]):
                chance, r = law[i, signal, s], keep[i, signal, s]
                if not chance:
                    continue
                # States after a draft that is surely rejected are merged; drafting on may still pay where t falls.
                next_factors = tuple(sorted((*factors, r))) if state.w and r else (0 * r,)
                key = (s if rows > 1 else 0, next_factors)
                # A state that is new, or one more way to reach it.
                if key not in next_keys:
                    next_keys[key] = len(next_level)
                    next_level.append(_State(key[0], math.prod(key[1]), 0, []))
                to = next_keys[key]
                next_level[to] = next_level[to]._replace(chance=next_level[to].chance + state.chance * chance)
                state.then.append((chance, to))
        if (count := sum(map(len, levels)) + len(next_level)) > STATES:
            raise ValueError(f"{i + 1} drafts give {count} states, more than {STATES}: fewer signals or positions fit")
        levels.append(next_level)
        keys = next_keys
    return levels


def _solve(levels: list[list[_State]], times: list[Any], theta: Any) -> tuple[Any, Any, list[list[bool]]]:
    """Return E[N], E[T] and the choices of the policy with the largest E[N] - theta E[T]; ties stop.

    The choice of a state is True where drafting goes on.
    """
    # Further tokens and time by state, from the last level up.
    choices: list[list[bool]] = []
    more: list[tuple[Any, Any]] = [(0, 0)] * len(levels[-1])
    for i in range(len(levels) - 2, -1, -1):
        best, chosen = [], []
        for state in levels[i]:
            tokens = sum(p * (levels[i + 1][to].w + more[to][0]) for p, to in state.then)
            time = times[i + 1] - times[i] + sum(p * more[to][1] for p, to in state.then)
            chosen.append(bool(tokens > theta * time))
            best.append((tokens, time) if chosen[-1] else (0, 0))
        choices.append(chosen)
        more = best
    return 1 + more[0][0], times[0] + more[0][1], choices[::-1]


def _lengths(levels: list[list[_State]], choices: list[list[bool]]) -> Array:
    """Return the law of the number of drafts under these choices."""
    law, reach = [], [1]
    for i, chosen in enumerate([*choices, [False] * len(levels[-1])]):
        law.append(sum(p for p, go in zip(reach, chosen, strict=True) if not go))
        then: list[Any] = [0] * (len(levels[i + 1]) if i < len(choices) else 0)
        for state, p, go in zip(levels[i], reach, chosen, strict=True):
            for chance, to in state.then if go else ():
                then[to] += p * chance
        reach = then
    return np.array(law)


def _threshold(law: Array, keep: Array, times: list[Any]) -> Threshold:
    """Return the best rule of all thresholds that tell two signals apart, with all greatest lengths."""
    # Plain decoding to start with.
    best = Threshold(1, 0, 1)
    for least in sorted(set(keep.ravel().tolist())):
        # drafting: probability by last signal that drafting goes on; surviving: and that all drafts are accepted.
        drafting = np.zeros(law.shape[1], dtype=law.dtype)
        drafting[0] = 1
        surviving, tokens, stopped = drafting, 1, 0
        for i in range(len(law)):
            # One draft more for all that go on; E[N] and E[T] if every block ends here at the latest.
            after, alive = drafting[:, None] * law[i], surviving[:, None] * law[i] * keep[i]
            tokens = tokens + alive.sum()
            speed = tokens / (stopped + after.sum() * times[i + 1])
            if speed > best.speedup:
                best = Threshold(least, i + 1, speed)
            # Blocks below the threshold stop.
            go = keep[i] >= least
            stopped = stopped + np.where(go, 0, after).sum() * times[i + 1]
            drafting, surviving = (np.where(go, v, 0).sum(axis=0) for v in (after, alive))
            if law.shape[1] == 1:
                drafting, surviving = drafting.sum(keepdims=True), surviving.sum(keepdims=True)
    return best


def _clairvoyant(survival: list[Any], times: list[Any]) -> Any:
    """Return the best speedup if the number of accepted drafts were known before drafting; no policy beats it."""
    # P(exactly n drafts are accepted), n = 0, 1, ...
    law = [a - b for a, b in zip(survival, [*survival[1:], 0], strict=True)]
    # Dinkelbach: at a speed the best length for each n, then the speed with these lengths, until it does not grow.
    speed: Any = 1
    while True:
        chosen = [max(range(n + 1), key=lambda g: g - speed * times[g]) for n in range(len(law))]
        tokens = sum(p * (g + 1) for p, g in zip(law, chosen, strict=True))
        time = sum(p * times[g] for p, g in zip(law, chosen, strict=True))
        better = tokens / time
        if not better > speed:
            return speed
        speed = better
