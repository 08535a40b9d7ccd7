"""Re-planning: the best length or tree now, from the live batch and context, measured passes and acceptance by rank.

State.       Drafts tried and kept by rank, fading with every cycle, beside a prior worth some trials. It is frozen.
Choice.      The largest tau T(1) / T_c over all chains and, if trees are allowed, all trees of so many nodes: an exact
             maximum for these numbers. The numbers are uncertain; the interval says by how much.
Off.         While nothing is drafted nothing is observed: counts fade, and the prior alone may start drafts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.latency import LatencyModel, Timing
from specsim.latency.model import total
from specsim.speed.prediction import Estimate, interval
from specsim.speed.shapes import fastest_shapes
from specsim.trees import chain
from specsim.trees import ranks as ranks_of
from specsim.trees.topology import depths
from specsim.types import Array

# Step of finite differences, in probability.
_STEP = 1e-6
# Normal quantile of a 95 % interval.
_Z = NormalDist().inv_cdf(0.975)


class Choice(NamedTuple):
    """The shape to draft in the next cycle: parents of a tree (a chain is one), () for plain decoding; gamma: levels.

    tau: tokens per target call. speedup: over plain decoding, now; its interval holds what is not known of acceptance
    and times.
    """

    parents: tuple[int, ...]
    gamma: int
    tau: float
    speedup: Estimate


class Replanner(NamedTuple):
    """The state of `replanner`: drafts `kept` and `tried` by rank, fading counts, and the planner's arguments.

    Examples
    --------
    >>> from specsim import from_measurements
    >>> times = from_measurements({1: 10.0, 5: 10.4, 9: 12.0}, {None: 0.5}, overhead=0.2)
    >>> state = replanner(times, [0.6], max_gamma=8)
    >>> state.choose(1, 1024).gamma, state.observed_blocks([4] * 64, 4).choose(1, 1024).gamma
    (4, 8)
    """

    latency: LatencyModel
    prior: tuple[float, ...]
    kept: tuple[float, ...]
    tried: tuple[float, ...]
    weight: float
    memory: float
    max_gamma: int
    nodes: int
    level: float

    @property
    def hazards(self) -> tuple[float, ...]:
        """Probability by rank that a child is accepted if it is tried, that is if none before it was accepted."""
        counts = zip(self.prior, self.kept, self.tried, strict=True)
        return tuple((self.weight * h + kept) / (self.weight + tried) for h, kept, tried in counts)

    @property
    def ranks(self) -> tuple[float, ...]:
        """Probability by rank that a child is the one accepted."""
        return tuple(_ranks(np.array(self.hazards)).tolist())

    def observed(self, kept: Sequence[float] = (), tried: Sequence[float] = ()) -> Replanner:
        """Return the state after a cycle that tried and kept these numbers of children by rank; () for a plain cycle.

        A child is tried where all drafts on its path are kept and no sibling before it is. ValueError for more kept
        than tried, more ranks than the prior has, or a negative number.
        """
        # Validate, and pad to all ranks.
        rows = []
        for name, counts in (("kept", kept), ("tried", tried)):
            row = np.atleast_1d(np.asarray(check.real_values(list(counts), name, 0, np.inf), dtype=float))
            if row.ndim != 1 or len(row) > len(self.prior):
                raise ValueError(f"{name} has shape {row.shape}; acceptance is known of {len(self.prior)} ranks")
            rows.append(np.pad(row, (0, len(self.prior) - len(row))))
        for k, (a, b) in enumerate(zip(*rows, strict=True)):
            if a > b:
                raise ValueError(f"kept[{k}] is {a:g}, more than the {b:g} that were tried")
        # Old counts fade by `memory`.
        old = (self.kept, self.tried)
        new = [tuple((self.memory * np.array(was) + row).tolist()) for was, row in zip(old, rows, strict=True)]
        return self._replace(kept=new[0], tried=new[1])

    def observed_blocks(self, accepted: Array, gamma: int) -> Replanner:
        """Return the state after a cycle of chains of gamma drafts, of which sequence i accepted accepted[i]."""
        g = check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
        n = np.asarray(check.real_values(accepted, "accepted", 0, g))
        return self.observed([float(n.sum())], [float(np.minimum(n + 1, g).sum())])

    def choose(self, batch: int, context: int) -> Choice:
        """Return the fastest chain or tree for `batch` sequences of this context.

        ValueError for a batch or a context below 1, a t(m) that decreases, and whatever the latency model refuses.
        """
        # Times at this batch and context, now.
        b, s = check.integer(batch, "batch", 1), check.integer(context, "context", 1)
        most = max(self.max_gamma, self.nodes)
        passes = _checked_rising([self.latency.target(m, b, s) for m in range(1, most + 2)], b, s)
        ranks = np.array(self.ranks)
        alpha, plain = ranks[0], passes[0].value
        overhead = self.latency.overhead(b, s).value
        drafting = [self.latency.drafting(g, b, s, passes[g]).value for g in range(1, self.max_gamma + 1)]
        # The best chain, by tau over the cycle; then the best tree, if it is faster.
        tau = np.cumsum(alpha ** np.arange(self.max_gamma + 1))
        cycles = np.array([plain, *(d + passes[g].value + overhead for g, d in enumerate(drafting, start=1))])
        best = int(np.argmax(tau / cycles))
        parents = tuple(chain(best).tolist())
        if self.nodes:
            tree = fastest_shapes(self.latency, ranks, nodes=self.nodes, depth=self.max_gamma, batch=b, context=s).tree
            if float(tree.speedup) > float(tau[best] * plain / cycles[best]) * (1 + 1e-12):
                parents = tuple(int(p) for p in tree.parents)
        return self._choice(parents, b, s)

    def _choice(self, parents: tuple[int, ...], batch: int, context: int) -> Choice:
        """Return a shape with its speedup and interval, by the delta method.

        Var tau = sum over ranks k of (d tau / d h_k)^2 Var h_k, with the hazards h; relative variances of tau and of
        the times add up to that of the speedup.
        """
        if not parents:
            return Choice((), 0, 1.0, Estimate(1.0, 1.0, 1.0))
        levels, hazards = int(max(depths(parents))), np.array(self.hazards)
        siblings = ranks_of(parents).tolist()
        tau = _value(parents, siblings, hazards)
        variance = 0.0
        for k, (h, tried) in enumerate(zip(hazards, self.tried, strict=True)):
            # The derivative by h_k, from hazards a small step below and above it.
            is_moved = np.arange(len(hazards)) == k
            below, above = (np.where(is_moved, np.clip(h + step, 0, 1), hazards) for step in (-_STEP, _STEP))
            low, high = (_value(parents, siblings, row) for row in (below, above))
            derivative = (high - low) / float(above[k] - below[k])
            # The variance of h_k over n trials. At 0 and 1 the binomial one is 0; that of Wilson's interval is not.
            n = self.weight + tried
            spread = h * (1 - h) / n if 0 < h < 1 else (_Z / (n + _Z**2)) ** 2
            variance += derivative**2 * spread
        # The cycle, and the relative variance of the ratio of times.
        plain = self.latency.target(1, batch, context)
        verify = self.latency.target(len(parents) + 1, batch, context)
        drafting = self.latency.drafting(levels, batch, context, verify)
        cycle = total(drafting, verify, self.latency.overhead(batch, context))
        of_time = _relative(cycle, plain)
        if of_time is None and (known := self.latency.error(batch * (len(parents) + 1))) is not None:
            of_time = known**2
        z = NormalDist().inv_cdf((1 + self.level) / 2)
        of_speedup = None if of_time is None else variance / tau**2 + of_time
        return Choice(parents, levels, tau, interval(tau * plain.value / cycle.value, of_speedup, z))


def replanner(
    latency: LatencyModel,
    ranks: Array,
    *,
    weight: float = 32.0,
    memory: float = 0.98,
    max_gamma: int = 16,
    nodes: int = 0,
    level: float = 0.95,
) -> Replanner:
    r"""Return a planner that plans every cycle anew from what it sees.

    .. math:: \hat h_k = \frac{w h_k + \sum_c \lambda^c \text{kept}_{k,c}}{w + \sum_c \lambda^c \text{tried}_{k,c}},
        \qquad \hat b_k = \hat h_k \prod_{i<k} (1 - \hat h_i), \qquad
        \max_T \frac{F_{\hat b}(T) \, T(1; B, S)}{T_c(T; B, S)}

    The state is a record that is replaced: `choose` asks it what to draft at this batch and context, `observed` and
    `observed_blocks` give the state after a cycle.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost at each batch and context, t(m) measured at best (`from_measurements`).
    ranks : float or array_like, shape (K,)
        b before anything is seen: probability that the k-th child tried is the one kept. A chain has the first.
    weight : float
        w, how many trials of each rank the prior is worth, above 0.
    memory : float
        lambda in (0, 1], what remains of the counts after a cycle; 1 forgets nothing.
    max_gamma : int
        Longest chain and deepest tree.
    nodes : int
        Of the largest tree; 0 for chains alone.
    level : float
        Of the intervals.

    Returns
    -------
    Replanner
        The state before the first cycle.

    Raises
    ------
    ValueError
        An acceptance outside [0, 1], or a sum above 1; another number outside its range; trees of prepared drafts.

    References
    ----------
    SmartSpec, arXiv:2406.14066 (the length by load, from a moving acceptance); Chen et al. 2024, Sequoia,
    arXiv:2402.12374 (the best tree).

    Examples
    --------
    >>> from specsim import roofline
    >>> state = replanner(roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), [0.7, 0.12], nodes=8)
    >>> [(len(best.parents), best.gamma) for best in (state.choose(b, 2048) for b in (1, 64, 512))]
    [(8, 3), (2, 2), (1, 1)]
    """
    check.record(latency, "latency", LatencyModel)
    row = np.atleast_1d(np.asarray(check.real_values(ranks, "ranks", 0, 1), dtype=float))
    if row.ndim != 1 or not len(row):
        raise ValueError(f"ranks must be a number or one row of them, got shape {np.shape(ranks)}")
    if row.sum() > 1 + check.TOLERANCE:
        raise ValueError(f"ranks sum to {row.sum():g}; entry k is the probability that the k-th child is the one kept")
    most = check.integer(nodes, "nodes", 0, limits.MAX_NODES)
    if most and latency.prepared is not None:
        raise ValueError("drafts are prepared beside a target pass: only chains of such drafts are planned, no trees")
    # Hazards: the probability of each rank, given that no rank before it was kept.
    before = 1 - np.concatenate([[0.0], np.cumsum(row)[:-1]])
    prior = np.clip(np.where(before > 0, row / np.where(before > 0, before, 1), 0), 0, 1)
    none = (0.0,) * len(row)
    return Replanner(
        latency,
        tuple(prior.tolist()),
        none,
        none,
        float(check.scalar(weight, "weight", "(0, inf)")),
        float(check.scalar(memory, "memory", "(0, 1]")),
        check.integer(max_gamma, "max_gamma", 1, limits.MAX_GAMMA),
        most,
        float(check.scalar(level, "level", "(0, 1)")),
    )


def _value(parents: Sequence[int], siblings: Sequence[int], hazards: Array) -> float:
    """Return tau of a tree: `tree_value` without its checks, as it is needed in every cycle."""
    b, reach = _ranks(hazards).tolist(), list[float]()
    for parent, k in zip(parents, siblings, strict=True):
        reach.append(b[k] * (reach[parent] if parent >= 0 else 1.0))
    return 1 + sum(reach)


def _ranks(hazards: Array) -> Array:
    """Return b_k = h_k prod_{i<k} (1 - h_i) of the hazards h by rank; sums to 1 at most, rounding aside."""
    return hazards * np.concatenate([[1.0], np.cumprod(1 - hazards)[:-1]])


def _checked_rising(passes: list[Timing], batch: int, context: int) -> list[Timing]:
    """Return the times of passes over 1, 2, ... tokens as they are, if none is shorter than the one before.

    Raise ValueError for one that is shorter by more than twice the standard error of the difference.
    """
    for m in range(1, len(passes)):
        (less, error), (more, next_error) = passes[m - 1], passes[m]
        slack = 2 * ((error or 0.0) ** 2 + (next_error or 0.0) ** 2) ** 0.5 + 1e-9 * less
        if more < less - slack:
            raise ValueError(
                f"t(m) decreases: at batch {batch}, context {context} a pass over {m + 1} tokens takes {more:g}, one "
                f"over {m} takes {less:g}"
            )
    return passes


def _relative(*times: Timing) -> float | None:
    """Return the sum of squared relative errors; None if one is not known."""
    squares: Any = [None if time.error is None else (time.error / time.value) ** 2 for time in times]
    return None if None in squares else sum(squares)
