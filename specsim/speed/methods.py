"""Cost algebras: tokens and time of one round of each way to speculate, so that they can be compared.

Times are in target steps (t(1) = 1), as in `speedup`; all numbers are predictions. Each function states its
assumptions, and the bound that no acceptance can exceed. Fractions in, Fractions out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim import trees
from specsim.base import check as _check
from specsim.base.results import result
from specsim.claims.check import Claim, judge
from specsim.lengths.blocks import block_efficiency
from specsim.speed.ratio import Curve, cycle_cost, pass_time
from specsim.types import Array


@result("speedup")
class Speed(NamedTuple):
    """Mean tokens and time of a round, their ratio, the most that they can be, and the assumptions.

    `most` is the most tokens of a round (None: no limit); `bound` the largest speedup over all acceptances.

    Examples
    --------
    >>> speed = draft_then_verify(0.8, gamma=3, cost_ratio=0.05)
    >>> round(speed.tokens_per_s(0.02), 1), speed.check(4.2).refused
    (128.3, ('speedup 4.2 is above 3.478, what this algebra allows at any acceptance',))
    """

    tokens: Any
    time: Any
    speedup: Any
    most: int | None
    bound: Any
    assumptions: tuple[str, ...]

    def tokens_per_s(self, step_s: float) -> float:
        """Tokens per second if a plain target step takes `step_s` seconds."""
        return float(self.speedup) / float(_check.scalar(step_s, "step_s", "(0, inf)"))

    def check(self, speedup: float, *, tau: float | None = None, rounding: float = 0.0) -> Claim:
        """Judge a reported speedup, and tokens per target call, by these costs; see `check_claim`."""
        if self.most is None and tau is not None:
            raise ValueError("tau does not bound this algebra: its target calls overlap")
        return judge(
            float(_check.scalar(speedup, "speedup", "(0, inf)")),
            tau,
            top=float(self.bound),
            limit="what this algebra allows at any acceptance",
            most=self.most,
            tokens=f"the {self.most} tokens that a target call can emit",
            slack=1 + float(_check.scalar(rounding, "rounding", "[0, 1)")),
        )


@np.errstate(under="ignore")
def draft_then_verify(
    alpha: Array, *, gamma: int | None = None, cost_ratio: float = 0, verify_cost: Curve = None, overhead: float = 0
) -> Speed:
    r"""The standard cycle, to stand beside the others: draft a chain, then verify it.

    .. math:: S = \frac{\tau}{\gamma c + t(\gamma + 1) + o} \le \frac{\gamma + 1}{\gamma c + t(\gamma + 1) + o}

    Parameters
    ----------
    alpha : float or array_like, shape (gamma,)
        With gamma: one acceptance for every position. Without: the hazard curve.
    gamma : int, optional
        Speculation length, at least 0.
    cost_ratio : float
        c, a draft step in target steps.
    verify_cost : callable or sequence, optional
        t(m), as in `speedup`.
    overhead : float
        o per cycle, in target steps.

    Returns
    -------
    Speed
        A round is a cycle: one target call.

    Raises
    ------
    ValueError
        As in `speedup`, or more than one hazard curve.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8.

    Examples
    --------
    >>> speed = draft_then_verify([0.9, 0.5], cost_ratio=0.1)
    >>> round(float(speed.speedup), 4), round(speed.bound, 4)
    (1.9583, 2.5)
    """
    tau, g = _tokens(alpha, gamma)
    cycle = cycle_cost(g, cost_ratio=cost_ratio, verify_cost=verify_cost, overhead=overhead)
    return _serial(tau, g + 1, cycle, "the target waits for the draft, and the draft for the target")


@np.errstate(under="ignore")
def early_exit(
    alpha: Array,
    *,
    shared: float,
    adapter: float = 0,
    gamma: int | None = None,
    verify_cost: Curve = None,
    overhead: float = 0,
) -> Speed:
    r"""The target's first layers draft; verification goes on from their states and caches.

    .. math:: S = \frac{\tau}{(\gamma + 1) f + \gamma a + (1 - f) \, t(\gamma + 1) + o}

    The last draft goes through the shared layers too, hence gamma + 1 of these steps.

    Parameters
    ----------
    alpha : float or array_like, shape (gamma,)
        As in `draft_then_verify`.
    shared : float
        f, the shared layers' share of a target step, in [0, 1).
    adapter : float
        a, what a draft step needs besides them (adapter, head), in target steps.
    gamma : int, optional
        Speculation length, at least 0.
    verify_cost : callable or sequence, optional
        t(m) of the whole target; the remaining layers are taken to follow it.
    overhead : float
        o per cycle, in target steps.

    Returns
    -------
    Speed
        A round is a cycle: one pass of the remaining layers.

    Raises
    ------
    ValueError
        shared outside [0, 1), a negative cost, or as in `speedup`.

    References
    ----------
    Liu et al. 2024, Kangaroo, arXiv:2404.18911; Elhoushi et al. 2024, LayerSkip, arXiv:2404.16710.

    Examples
    --------
    >>> speed = early_exit(0.7, gamma=3, shared=0.1, adapter=0.05)
    >>> round(float(speed.speedup), 4), round(speed.bound, 4)
    (1.7469, 2.7586)
    """
    tau, g = _tokens(alpha, gamma)
    f, a = _check.scalar(shared, "shared", "[0, 1)"), _check.scalar(adapter, "adapter", "[0, inf)")
    rest = (1 - f) * pass_time(verify_cost, g + 1) + _check.scalar(overhead, "overhead", "[0, inf)")
    return _serial(tau, g + 1, (g + 1) * f + g * a + rest, "states and caches of the shared layers are kept")


@np.errstate(under="ignore")
def multi_token_heads(
    acceptance: Array,
    parents: Array = None,
    *,
    head_cost: float,
    verify_cost: Curve = None,
    overhead: float = 0,
) -> Speed:
    r"""Heads of the target draft all positions at once, and the tree of their candidates is verified in one pass.

    .. math:: S = \frac{1 + \sum_{x} \prod_{\text{path}} b_{\text{level}, \text{rank}}}{t(n + 1) + h + o}

    Modules that run one after the other, as DeepSeek's, are draft steps: `draft_then_verify`.

    Parameters
    ----------
    acceptance : array_like, shape (D,) or (D, K)
        b: probability that the k-th candidate of head d is the one kept, given that the path to it was; rows sum to at
        most 1.
    parents : array_like of int, shape (n,), optional
        The tree, as in `tree_value`; a chain through all heads by default.
    head_cost : float
        h, all heads together, in target steps.
    verify_cost : callable or sequence, optional
        t(m), the pass over the tree and its root.
    overhead : float
        o per cycle, in target steps.

    Returns
    -------
    Speed
        A round is a cycle: one target call.

    Raises
    ------
    ValueError
        The tree is deeper than there are heads, or wider than the candidates; acceptance that is negative or sums to
        more than 1; a negative cost.

    References
    ----------
    Cai et al. 2024, Medusa, arXiv:2401.10774; Gloeckle et al. 2024, arXiv:2404.19737.

    Examples
    --------
    >>> speed = multi_token_heads([[0.7, 0.1], [0.5, 0.1]], [-1, -1, 0, 0], head_cost=0.05)
    >>> round(float(speed.speedup), 4), round(speed.bound, 4)
    (2.1143, 2.8571)
    """
    # b has shape (D, K); the tree must have at most D levels and K children at each node.
    b = np.asarray(_check.real_values(acceptance, "acceptance", 0, 1))
    b = b[:, None] if b.ndim == 1 else b
    if b.ndim != 2:
        raise ValueError(f"acceptance must have shape (D,) or (D, K), got {b.shape}")
    for level, total in enumerate(b.sum(axis=1)):
        if total > 1 + _check.TOLERANCE:
            raise ValueError(f"acceptance[{level}] sums to {total}; entry k is the probability that k is the one kept")
    shape = trees.chain(len(b)) if parents is None else trees.topology.shape(parents)
    levels, ranks = trees.depths(shape), trees.ranks(shape)
    if len(shape) and (levels.max() > len(b) or ranks.max() >= b.shape[1]):
        raise ValueError(
            f"the tree has {levels.max()} levels and up to {ranks.max() + 1} children; acceptance has shape {b.shape}"
        )
    # A node is reached with the product of b along its path; tau is 1 and the sum of these.
    reach: list[Any] = []
    for parent, level, rank in zip(shape, levels, ranks, strict=True):
        reach.append(b[level - 1, rank] * (reach[parent] if parent >= 0 else 1))
    h, o = (_check.scalar(v, n, "[0, inf)") for v, n in ((head_cost, "head_cost"), (overhead, "overhead")))
    cycle = pass_time(verify_cost, len(shape) + 1) + h + o
    return _serial(1 + sum(reach), int(levels.max(initial=0)) + 1, cycle, "all heads run in one pass of the target")


def _tokens(alpha: Array | Sequence[Any], gamma: int | None) -> tuple[Any, int]:
    """tau and gamma of one chain, checked."""
    tau = block_efficiency(alpha, gamma=gamma)
    if np.ndim(tau):
        raise ValueError(f"alpha must be a number or one hazard curve, got shape {np.shape(alpha)}")
    return tau, gamma if gamma is not None else np.shape(alpha)[0]


def _serial(tau: Any, most: int, cycle: Any, words: str) -> Speed:
    """The speed of rounds with one target call each, one after the other."""
    return Speed(tau, cycle, tau / cycle, most, most / cycle, (words,))
