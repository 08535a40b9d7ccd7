"""From acceptance and cost to speedup, and to the best speculation length. Predictions, not measurements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.drawing import MUTED, Line, draw_lines, new_axes, whole_ticks
from specsim.base.results import result
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import bound
from specsim.lengths.blocks import block_efficiency
from specsim.types import Array

Curve = Callable[[int], float] | Sequence[float] | None
# Allowance for rounding in t(1), which is 1 by definition.
UNIT = 1e-9


@np.errstate(under="ignore")
def speedup(
    alpha: Array,
    *,
    gamma: int | None = None,
    cost_ratio: float = 0,
    verify_cost: Curve = None,
    overhead: float = 0,
) -> Array:
    r"""Predicted speedup over plain decoding.

    .. math:: S = \frac{\tau}{\gamma c + t(\gamma + 1) + o}

    Parameters
    ----------
    alpha : array_like
        With gamma: shape (...), one acceptance for every position. Without: shape (..., gamma), the hazard curve.
    gamma : int, optional
        Speculation length, at least 0; 0 is plain decoding through the same loop.
    cost_ratio : float
        c, time of one draft step over one target step.
    verify_cost : callable or sequence, optional
        t(m): time of a target pass over m tokens, in target steps, so that t(1) = 1. A sequence gives t(1), t(2), ...
        None: every pass costs one step (the usual assumption, and the largest single error in predictions).
    overhead : float
        o, everything else per cycle, in target steps.

    Returns
    -------
    array, shape (...)
        Predicted ratio of tokens per second; a Fraction if every number given is rational.

    Raises
    ------
    ValueError
        alpha outside [0, 1], gamma < 0, a negative cost, or a curve that is too short for gamma + 1 tokens or does not
        start at t(1) = 1.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8 (t = 1, o = 0); MagicDec, arXiv:2408.11049 (t(m)).

    Examples
    --------
    >>> float(speedup(0.8, gamma=5).round(2))  # Leviathan et al., table 1
    3.69
    >>> float(speedup(0.8, gamma=5, cost_ratio=0.05, verify_cost=[1, 1, 1, 1.1, 1.1, 1.2]).round(2))
    2.54
    """
    tau = block_efficiency(alpha, gamma=gamma)
    length = gamma if gamma is not None else np.shape(alpha)[-1]
    return tau / cycle_cost(length, cost_ratio=cost_ratio, verify_cost=verify_cost, overhead=overhead)


def cycle_cost(gamma: int, *, cost_ratio: float = 0, verify_cost: Curve = None, overhead: float = 0) -> Any:
    """Predicted time of one draft-verify cycle in target steps: gamma c + t(gamma + 1) + o."""
    c = check.scalar(cost_ratio, "cost_ratio", "[0, inf)")
    o = check.scalar(overhead, "overhead", "[0, inf)")
    return gamma * c + pass_time(verify_cost, gamma + 1) + o


def pass_time(curve: Curve, tokens: int) -> Any:
    """t(m) of a verify_cost at m = `tokens`, in target steps; 1 if there is none."""
    if curve is None:
        return 1
    # t(m) and t(1), from a function or from the row t(1), t(2), ...
    if callable(curve):
        value, first = curve(tokens), curve(1)
    elif isinstance(curve, Mapping | str | bytes) or not hasattr(curve, "__getitem__"):
        raise TypeError(f"verify_cost must be a function or a sequence, got {check.shown(curve)}")
    elif tokens > len(curve):
        raise ValueError(f"verify_cost has {len(curve)} entries; t({tokens}) is needed")
    else:
        value, first = curve[tokens - 1], curve[0]
    # Times are in target steps if t(1) = 1.
    value = check.scalar(value, f"verify_cost at {tokens} tokens", "(0, inf)")
    if not abs(first - 1) <= UNIT:
        raise ValueError(
            f"verify_cost at 1 token is {first}; it is in target steps, so 1: divide all of them by {first}"
        )
    return value


@np.errstate(under="ignore")
def operations_factor(alpha: Array, *, gamma: int | None = None, ops_ratio: float = 0) -> Array:
    r"""Operations per token over those of plain decoding: what speculation pays for its speed.

    .. math:: \frac{\gamma \hat c + \gamma + 1}{\tau} \ge 1

    Parameters
    ----------
    alpha : array_like
        As in `speedup`.
    gamma : int, optional
        Speculation length, at least 0.
    ops_ratio : float
        Operations per token of the draft over those of the target.

    Returns
    -------
    array, shape (...)
        At least 1. Reads of the target's weights fall by tau instead.

    Raises
    ------
    ValueError
        alpha outside [0, 1], gamma < 0, or a negative ratio.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.11.

    Examples
    --------
    >>> float(operations_factor(0.8, gamma=5).round(2))  # table 1
    1.63
    """
    ratio = check.scalar(ops_ratio, "ops_ratio", "[0, inf)")
    # `block_efficiency` validates alpha and gamma.
    tokens = block_efficiency(alpha, gamma=gamma)
    length = gamma if gamma is not None else np.shape(alpha)[-1]
    return (length * ratio + length + 1) / tokens


class RelativeCosts(NamedTuple):
    """c, t(m) and o in target steps at one batch size and context: arguments of `speedup` and its like.

    Examples
    --------
    >>> from specsim import memory_bound
    >>> relative_costs(memory_bound(8.0, 1.0)).cost_ratio
    0.125
    """

    cost_ratio: float
    verify_cost: Callable[[int], float]
    overhead: float


def relative_costs(latency: LatencyModel, *, batch: int = 1, context: int = 0) -> RelativeCosts:
    r"""The costs of a latency model in target steps.

    .. math:: c = T_D / T(1), \qquad t(m) = T(m) / T(1), \qquad o = T_o / T(1)

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    batch, context : int
        Sequences decoded together, and tokens before the block.

    Returns
    -------
    RelativeCosts
        t(m) is a function: the model is asked when a length is. A draft pass that makes a whole block is in o, c is 0.

    Raises
    ------
    ValueError
        batch below 1, context below 0, drafts prepared beside a pass, or whatever the latency model refuses.

    References
    ----------
    MagicDec, arXiv:2408.11049 (costs that depend on batch and context).

    Examples
    --------
    >>> from specsim import from_measurements, pearl
    >>> costs = relative_costs(from_measurements({1: 20.0, 9: 23.0}, {None: 2.5}, overhead=0.5))
    >>> round(pearl(0.8, gamma=8, **costs._asdict()).speedup, 2)
    2.34
    """
    check.record(latency, "latency", LatencyModel)
    b, s = check.integer(batch, "batch", 1), check.integer(context, "context", 0)
    step = latency.target(1, b, s).value
    if latency.prepared is not None:
        raise ValueError("drafts are prepared beside a target pass: what they add is no number of draft steps")
    draft, over = latency.draft(b, s).value / step, latency.overhead(b, s).value / step
    # A draft pass that makes a whole block costs the same at every length: it is overhead.
    if latency.one_pass:
        draft, over = 0.0, over + draft
    return RelativeCosts(draft, lambda tokens: latency.target(tokens, b, s).value / step, over)


@result("gamma", "speedup")
class BestGamma(NamedTuple):
    """The best speculation length, its predicted speedup, and the whole curve for gamma = 0, 1, ..."""

    gamma: int
    speedup: float
    curve: Array

    def plot(self, axes: Any = None) -> Any:
        """Draw the speedup against the length; return matplotlib's Axes (extra `plot`)."""
        # The curve, and the level of plain decoding.
        axes = new_axes(axes, "plot")
        line = Line("", list(range(len(self.curve))), [float(speedup) for speedup in self.curve])
        draw_lines(axes, [line])
        axes.axhline(1, color=MUTED, linewidth=1)
        # The best length.
        axes.plot(self.gamma, self.speedup, "o", color=line.colour, markersize=8, fillstyle="none")
        label = f"{self.speedup:.3g} times with {self.gamma} drafts"
        style = {"textcoords": "offset points", "ha": "center", "fontsize": 8, "color": line.colour}
        axes.annotate(label, (self.gamma, self.speedup), (0, 9), **style)
        axes.margins(y=0.15)
        whole_ticks(axes.xaxis)
        axes.set_xlabel("draft tokens in a block, gamma")
        axes.set_ylabel("speedup over plain decoding")
        return axes


@np.errstate(under="ignore")
def optimal_gamma(
    alpha: Array,
    *,
    max_gamma: int = 64,
    cost_ratio: float = 0,
    verify_cost: Curve = None,
    overhead: float = 0,
) -> BestGamma:
    """Speculation length with the largest predicted speedup; 0 says: do not speculate.

    What is left out is taken to be free: drafts (cost_ratio 0), verifying (a pass over gamma + 1 tokens costs as much
    as one over 1) and the overhead. With free drafts and a flat pass a longer block is never slower, so the answer is
    the limit max_gamma and says nothing about a machine.

    Parameters
    ----------
    alpha : array_like
        A number (the i.i.d. model), or a hazard curve of shape (n,): then gamma is searched up to n.
    max_gamma : int
        Largest length considered for a number; also cut to what a verify_cost sequence covers.
    cost_ratio : float
        As in `speedup`.
    verify_cost : callable or sequence, optional
        As in `speedup`; gamma = 0 is plain decoding and costs exactly one target step.
    overhead : float
        As in `speedup`.

    Returns
    -------
    BestGamma
        gamma, speedup, and curve with the speedup of every gamma from 0. Where gamma is the last of the curve, a
        longer block may be faster.

    Raises
    ------
    ValueError
        As in `speedup`, or max_gamma below 1 or above 4096.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, section 3.5.

    Examples
    --------
    >>> best = optimal_gamma(0.8, cost_ratio=0.05)
    >>> best.gamma, round(best.speedup, 4)
    (8, 3.0921)
    >>> optimal_gamma(0.8).gamma  # free drafts: the limit
    64
    """
    # The longest length that the arguments allow.
    limit = bound(max_gamma)
    a = check.real_values(alpha, "alpha", 0, 1)
    if a.ndim > 1:
        raise ValueError(f"alpha must be a number or one hazard curve, got shape {tuple(a.shape)}")
    limit = min(limit, a.shape[0]) if a.ndim else limit
    if verify_cost is not None and not callable(verify_cost):
        limit = min(limit, len(verify_cost) - 1)
    # Speedup at every length; gamma = 0 is plain decoding.
    curve = [1.0]
    for gamma in range(1, limit + 1):
        tau = block_efficiency(a[:gamma]) if a.ndim else block_efficiency(a, gamma=gamma)
        curve.append(float(tau) / cycle_cost(gamma, cost_ratio=cost_ratio, verify_cost=verify_cost, overhead=overhead))
    best = int(np.argmax(curve))
    return BestGamma(best, curve[best], np.array(curve))
