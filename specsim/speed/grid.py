"""Many predictions at once: speedups over a grid, the best length for every batch, the context from which it helps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.latency import LatencyModel
from specsim.lengths.acceptance import Acceptance, as_acceptance
from specsim.lengths.blocks import block_efficiency
from specsim.lengths.hazards import HazardEstimate
from specsim.types import Array

TRIED = 200  # contexts between which a boundary is looked for
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
    a = np.atleast_1d(np.asarray(check.real_values(alpha, "alpha", 0, 1), dtype=float))
    lengths = np.array([check.integer(g, "gammas", 0, limits.MAX_GAMMA) for g in gammas], dtype=int)
    found = costs(latency, lengths, list(batches), list(contexts))
    if cost_ratios is None:
        drafting = found.block[:, None]
    else:
        ratios = np.asarray(check.real_values(cost_ratios, "cost_ratios", 0, np.inf), dtype=float).reshape(-1, 1, 1)
        drafting = steps(latency, lengths)[:, None, None, None] * ratios
    tau = np.stack([block_efficiency(a, gamma=int(g)) for g in lengths], axis=1)
    cycle = drafting + found.rest[:, None]
    return tau[:, :, None, None, None] / cycle


class Costs(NamedTuple):
    """In plain steps of the same point: draft (B, S), one step; (G, B, S): block, what drafting adds, and the rest."""

    draft: Array
    block: Array
    rest: Array


def steps(latency: LatencyModel, gammas: Array) -> Array:
    """Draft steps of blocks of these lengths, one after the other; ValueError where they are beside a pass."""
    if latency.prepared is not None:
        raise ValueError("drafts are prepared beside a target pass: what they add is no number of draft steps")
    return np.minimum(gammas, 1) if latency.one_pass else np.asarray(gammas)


def costs(latency: LatencyModel, gammas: Array, batches: Sequence[int], contexts: Sequence[int]) -> Costs:
    """What cycles of these lengths cost, everywhere."""
    check.record(latency, "latency", LatencyModel)
    draft = np.empty((len(batches), len(contexts)))
    rest = np.empty((len(gammas), *draft.shape))
    block = np.zeros(rest.shape)
    for i, b in enumerate(batches):
        for j, s in enumerate(contexts):
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
    best = _speedups(latency, taus(acceptance, max_gamma), sizes, [context])[:, :, 0].argmax(axis=0)
    found = []
    for gamma, group in groupby(sizes, key=lambda b: int(best[b - 1])):
        members = list(group)
        found.append((members[0], members[-1], gamma))
    return found


@np.errstate(under="ignore")
def context_boundary(
    latency: LatencyModel,
    acceptance: Given,
    *,
    batch: int,
    larger: int | None = None,
    max_gamma: int = 16,
    max_context: int = 131_072,
) -> int | None:
    r"""The boundary S*(B): from which context on speculation helps at this batch, or gains from a larger one.

    .. math:: S^*(B) = \min \{S : \max_{\gamma \ge 1} \mathcal S(\gamma, B, S') > 1 \;\; \forall S' \in [S, S_\max]\}

    and with B' = `larger` the same with the best speedup at B' above the best at B. At short context passes over many
    sequences are bound by arithmetic, so verifying more tokens costs more; at long context by the caches, which are
    read once for all the tokens of a sequence.

    Parameters
    ----------
    latency : LatencyModel
        What passes and steps cost.
    acceptance : float, array_like, HazardEstimate, callable or Acceptance
        As in `plan`.
    batch : int
        B.
    larger : int, optional
        B', above B.
    max_gamma : int
        Longest draft tried; gamma = 0 is not.
    max_context : int
        S_max, at least 0.

    Returns
    -------
    int or None
        The boundary, exact for the model between two of 200 contexts that are tried (all of them if there are no more);
        a failure that lies between two of them and touches neither is not seen. None if max_context itself fails.

    Raises
    ------
    ValueError
        As in `plan`, or larger is not above batch.

    References
    ----------
    MagicDec, arXiv:2408.11049, section 3 (the inflection in the sequence length).

    Examples
    --------
    >>> from specsim import roofline
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> [context_boundary(times, 0.7, batch=b) for b in (1, 256)]
    [0, 554]
    """
    sizes = [check.integer(batch, "batch", 1)]
    if larger is not None:
        if check.integer(larger, "larger", 1) <= sizes[0]:
            raise ValueError(f"larger is {larger}, not above batch {batch}")
        sizes.append(larger)
    top = check.integer(max_context, "max_context", 0)

    tau = taus(acceptance, max_gamma)

    def gains(context: int) -> bool:
        best = _speedups(latency, tau, sizes, [context])[1:, :, 0].max(axis=0)
        return bool(best[-1] > (1 if larger is None else best[0]))

    if not gains(top):
        return None
    tried, good = _tried(top), top
    for context in reversed(tried[:-1]):
        if not gains(context):
            return context + 1 + bisect_left(range(context + 1, good), True, key=gains)
        good = context
    return 0


def helpful_contexts(
    latency: LatencyModel, acceptance: Given, *, batch: int, max_gamma: int = 16, max_context: int = 131_072
) -> list[tuple[int, int]]:
    """Ranges (first, last) of the contexts up to max_context at which some length helps; exact as `context_boundary`.

    Examples
    --------
    >>> from specsim import roofline
    >>> helpful_contexts(roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), 0.7, batch=256)
    [(554, 131072)]
    """
    sizes = [check.integer(batch, "batch", 1)]
    tau = taus(acceptance, max_gamma)

    def helps(context: int) -> bool:
        return bool(_speedups(latency, tau, sizes, [context])[1:, 0, 0].max() > 1)

    tried = _tried(check.integer(max_context, "max_context", 0))
    known = [helps(s) for s in tried]
    edges = [0] if known[0] else []
    for i, (before, after) in enumerate(pairwise(known)):
        if before != after:
            edges.append(_edge(helps, tried[i], tried[i + 1]))
    if known[-1]:
        edges.append(tried[-1] + 1)
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _edge(helps: Callable[[int], bool], low: int, high: int) -> int:
    """The first context above low at which the answer is another one."""
    was = helps(low)
    return low + bisect_left(range(low, high), True, key=lambda s: helps(s) != was)


def _tried(top: int) -> Sequence[int]:
    """Contexts between which a change is looked for; all of them if there are no more."""
    return range(top + 1) if top <= TRIED else sorted({0, *(round(s) for s in np.geomspace(1, top, TRIED))})


def _speedups(latency: LatencyModel, tau: Array, batches: Sequence[int], contexts: Sequence[int]) -> Array:
    """Speedups (gamma = 0, 1, ..., B, S) with these tokens per call."""
    gammas = np.arange(len(tau))
    found = costs(latency, gammas, batches, contexts)
    return tau[:, None, None] / (found.block + found.rest)


def taus(acceptance: Given, max_gamma: int) -> Array:
    """Tokens per target call at gamma = 0, 1, ..., as far as the acceptance speaks."""
    kept = as_acceptance(acceptance)
    return np.array([kept.tau(g).value for g in range(kept.most(max_gamma) + 1)])
