"""Many predictions at once: speedups over a grid, and the best length for every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.latency import LatencyModel
from specsim.lengths.acceptance_record import Acceptance, as_acceptance
from specsim.lengths.blocks import block_efficiency
from specsim.lengths.hazards import HazardEstimate
from specsim.types import Array

Given = Acceptance | Array | HazardEstimate | Callable[[int], Array | HazardEstimate]


@np.errstate(under="ignore")
def sweep(
    latency: LatencyModel,
    alpha: Array,
    *,
    gammas: Iterable[int],
    cost_ratios: Array | None = None,
    batches: Iterable[int] = (1,),
    contexts: Iterable[int] = (0,),
) -> Array:
    r"""Predicted speedups over a whole grid, if every draft is as likely to be kept.

    .. math:: S = \frac{1 + \alpha + \dots + \alpha^\gamma}{\gamma c + t(\gamma + 1) + o}

    with the draft step c, the verification t and the overhead o in plain steps of the same batch and context.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    alpha : float or array_like, shape (A,)
        Acceptance of one draft.
    gammas : iterable of int
        Speculation lengths, at least 0.
    cost_ratios : array_like, shape (C,), optional
        c to try instead of the model's own draft step; not where drafts are prepared beside a pass.
    batches, contexts : iterable of int
        Sequences decoded together, and tokens before the block.

    Returns
    -------
    array, shape (A, gammas, C, batches, contexts)
        As `predict` gives them one by one; C is 1 where no cost_ratios are given. gamma = 0 is plain decoding: 1.

    Raises
    ------
    ValueError
        An acceptance outside [0, 1], a negative ratio, or whatever the latency model refuses.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192, theorem 3.8; MagicDec, arXiv:2408.11049 (batch and context).

    Examples
    --------
    >>> from specsim import latency
    >>> sweep(latency.constant(0.1), [0.5, 0.8], gammas=[0, 1, 4])[:, :, 0, 0, 0].round(2).tolist()
    [[1.0, 1.36, 1.38], [1.0, 1.64, 2.4]]
    """
    # The grid's costs, with other draft steps if some are given.
    a = np.atleast_1d(np.asarray(check.real_values(alpha, "alpha", 0, 1), dtype=float))
    lengths = np.array([check.integer(g, "gammas", 0, limits.MAX_GAMMA) for g in gammas], dtype=int)
    grid = costs(latency, lengths, list(batches), list(contexts))
    if cost_ratios is None:
        drafting = grid.block[:, None]
    else:
        ratios = np.asarray(check.real_values(cost_ratios, "cost_ratios", 0, np.inf), dtype=float).reshape(-1, 1, 1)
        drafting = steps(latency, lengths)[:, None, None, None] * ratios
    # (A, gammas) over (gammas, C, B, S).
    tau = np.stack([block_efficiency(a, gamma=int(g)) for g in lengths], axis=1)
    cycle = drafting + grid.rest[:, None]
    return tau[:, :, None, None, None] / cycle


class Costs(NamedTuple):
    """Costs in plain steps of each point: draft (B, S), one step; block and rest (G, B, S), drafting and all else."""

    draft: Array
    block: Array
    rest: Array


def steps(latency: LatencyModel, gammas: Array) -> Array:
    """Draft steps of blocks of these lengths, one after the other; ValueError where they are beside a pass."""
    if latency.prepared is not None:
        raise ValueError("drafts are prepared beside a target pass: what they add is no number of draft steps")
    return np.minimum(gammas, 1) if latency.one_pass else np.asarray(gammas)


def costs(latency: LatencyModel, gammas: Array, batches: Sequence[int], contexts: Sequence[int]) -> Costs:
    """The costs of cycles of these lengths at every batch and context."""
    check.record(latency, "latency", LatencyModel)
    draft = np.empty((len(batches), len(contexts)))
    rest = np.empty((len(gammas), *draft.shape))
    block = np.zeros(rest.shape)
    for i, b in enumerate(batches):
        for j, s in enumerate(contexts):
            # Each point in its own plain steps.
            plain = latency.target(1, check.integer(b, "batch", 1), check.integer(s, "context", 0)).value
            draft[i, j] = latency.draft(b, s).value / plain
            over = latency.overhead(b, s).value
            for k, g in enumerate(gammas):
                verify = latency.target(int(g) + 1, b, s)
                rest[k, i, j] = (verify.value + (over if g else 0.0)) / plain
                if g:
                    block[k, i, j] = latency.drafting(int(g), b, s, verify).value / plain
    return Costs(draft, block, rest)


@np.errstate(under="ignore")
def batch_schedule(
    latency: LatencyModel, acceptance: Given, *, max_batch: int, context: int = 0, max_gamma: int = 16
) -> list[tuple[int, int, int]]:
    r"""The best speculation length for every batch size, as ranges; 0 switches speculation off.

    .. math:: \gamma^*(B) = \arg\max_{0 \le \gamma \le \gamma_\max} S(\gamma, B)

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `plan`.
    max_batch : int
        Largest batch, at least 1.
    context : int
        Tokens before the block.
    max_gamma : int
        Longest draft tried.

    Returns
    -------
    list of (first, last, gamma)
        Batches first to last, both included, take gamma; the ranges cover 1..max_batch. Ties go to the shorter draft.

    Raises
    ------
    ValueError
        As in `plan`.

    References
    ----------
    SmartSpec, arXiv:2406.14066 (the length by load).

    Examples
    --------
    >>> from specsim import roofline
    >>> batch_schedule(roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), 0.7, max_batch=512)[-1]
    (164, 512, 0)
    """
    check.integer(max_batch, "max_batch", 1, limits.MAX_BATCH)
    sizes = range(1, max_batch + 1)
    tau = taus(acceptance, max_gamma)
    best = speedups(latency, tau, range(len(tau)), sizes, [context])[:, :, 0].argmax(axis=0)
    ranges = []
    for gamma, group in groupby(sizes, key=lambda b: int(best[b - 1])):
        members = list(group)
        ranges.append((members[0], members[-1], gamma))
    return ranges


def speedups(
    latency: LatencyModel, tau: Array, gammas: Sequence[int], batches: Sequence[int], contexts: Sequence[int]
) -> Array:
    """Speedups (gammas, B, S) with tau tokens per call, tau by gamma."""
    grid = costs(latency, np.asarray(gammas), batches, contexts)
    return tau[list(gammas), None, None] / (grid.block + grid.rest)


def taus(acceptance: Given, max_gamma: int) -> Array:
    """Tokens per target call at gamma = 0, 1, ..., as far as the acceptance is known."""
    curve = as_acceptance(acceptance)
    return np.array([curve.tau(g).value for g in range(curve.most(max_gamma) + 1)])
