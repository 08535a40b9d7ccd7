"""Decisions from predictions: the best length by batch and context, the acceptance that pays, claims that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import Acceptance, as_acceptance
from specsim.lengths.hazards import HazardEstimate
from specsim.lengths.measures import convert_acceptance
from specsim.speed.plan_plot import plot_plans
from specsim.speed.prediction import Prediction, predict
from specsim.types import Array


@result("gammas", "speedups", rows=lambda plans: plans.best)
@dataclass(frozen=True)
class Plans:
    """The best prediction for each batch size and context, which is what indexing, `len` and loops see.

    `tried` has, for each of them, the predictions of all lengths from 0 on.
    """

    best: tuple[Prediction, ...]
    tried: tuple[tuple[Prediction, ...], ...]

    @property
    def gammas(self) -> tuple[int, ...]:
        """Best length for each batch size and context."""
        return tuple(prediction.gamma for prediction in self.best)

    @property
    def speedups(self) -> tuple[float, ...]:
        """Speedup of each best length."""
        return tuple(prediction.speedup.value for prediction in self.best)

    def __len__(self) -> int:
        return len(self.best)

    def __iter__(self) -> Iterator[Prediction]:
        return iter(self.best)

    def __getitem__(self, index: int) -> Prediction:
        return self.best[index]

    def plot(self, axes: Any = None) -> Any:
        """Draw the speedup against length, or of the best lengths against batch; return matplotlib's Axes.

        With one batch size there is a line over the lengths for each context; with several, a line over them whose
        points name the best length. Needs the extra `plot`.
        """
        return plot_plans(self.best, self.tried, axes)


@np.errstate(under="ignore")
def plan(
    latency: LatencyModel,
    acceptance: Acceptance | Array | HazardEstimate | Callable[[int], Array | HazardEstimate],
    *,
    batches: Iterable[int] = (1,),
    contexts: Iterable[int] = (0,),
    max_gamma: int = 16,
    level: float = 0.95,
) -> Plans:
    r"""The best speculation length for every batch size and context; gamma = 0 says: switch speculation off.

    .. math:: \gamma^*(B, S) = \arg\max_{0 \le \gamma \le \gamma_\max} \frac{\tau(\gamma) \, T(1)}{T_c(\gamma)}

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `predict`; a curve bounds the lengths that are tried. A function gives it for each gamma, where the
        acceptance of a draft depends on how many are made.
    batches, contexts : iterable of int
        Points to answer for.
    max_gamma : int
        Longest draft tried, at least 1; a measured model has to cover max_gamma + 1 tokens.
    level : float
        Level of the intervals.

    Returns
    -------
    Plans
        A `Prediction` for each batch and context, contexts within batches. Ties go to the shorter draft.

    Raises
    ------
    ValueError
        As in `predict`, or max_gamma below 1 or above 4096.

    References
    ----------
    MagicDec, arXiv:2408.11049 (the batch and context plane).

    Examples
    --------
    >>> from specsim import roofline
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> [best.gamma for best in plan(times, 0.7, batches=[1, 256])]
    [3, 0]
    """
    curve = as_acceptance(acceptance)
    # Every length at every point, and the best of each point.
    lengths = range(curve.most(max_gamma) + 1)
    spots = list(contexts)
    tried = [
        tuple(predict(latency, curve, gamma=g, batch=b, context=s, level=level) for g in lengths)
        for b in batches
        for s in spots
    ]
    best = [max(predictions, key=lambda prediction: prediction.speedup.value) for predictions in tried]
    return Plans(tuple(best), tuple(tried))


@np.errstate(under="ignore")
def break_even_alpha(latency: LatencyModel, *, gamma: int, batch: int = 1, context: int = 0) -> float | None:
    r"""Acceptance above which speculation of this length helps, if every draft is as likely to be kept.

    .. math:: \tau(\alpha) = T_c(\gamma) / T(1); \qquad \alpha = c \text{ for } \gamma = 1 \text{ and } t = 1

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    gamma : int
        Speculation length, at least 1.
    batch, context : int
        Sequences decoded together, and tokens before the block.

    Returns
    -------
    float or None
        None if not even certain acceptance pays for the cycle.

    Raises
    ------
    ValueError
        gamma below 1, or whatever the latency model refuses.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, corollary 3.9.

    Examples
    --------
    >>> from specsim import latency
    >>> round(break_even_alpha(latency.constant(0.25), gamma=1), 6)
    0.25
    """
    g = check.integer(gamma, "gamma", 1, limits.MAX_GAMMA)
    check.record(latency, "latency", LatencyModel)
    needed = latency.cycle(g, batch, context).value / latency.target(1, batch, context).value
    if needed > g + 1:
        return None
    return convert_acceptance(max(needed, 1.0), kind="tau", to="alpha", gamma=g)
