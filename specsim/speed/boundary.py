"""From which context on speculation helps at a batch, or gains from a larger one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from specsim.base import check
from specsim.latency import LatencyModel
from specsim.speed.grid import Given, speedups, taus
from specsim.types import Array

# Contexts at which the answer is computed; between two that differ the boundary is bisected.
TRIED = 200


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
    # Validate.
    check.integer(batch, "batch", 1)
    if larger is not None and check.integer(larger, "larger", 1) <= batch:
        raise ValueError(f"larger is {larger}, not above batch {batch}")
    top = check.integer(max_context, "max_context", 0)

    # The question that is asked at each context.
    tau = taus(acceptance, max_gamma)
    if larger is None:
        gains = _help_predicate(latency, tau, batch)
    else:
        gains = _larger_batch_predicate(latency, tau, batch, larger)
    if not gains(top):
        return None
    # From the longest context down: the boundary is bisected above the first context without a gain.
    tried, shortest_gain = _tried_contexts(top), top
    for context in reversed(tried[:-1]):
        if not gains(context):
            return context + 1 + bisect_left(range(context + 1, shortest_gain), True, key=gains)
        shortest_gain = context
    return 0


def helpful_contexts(
    latency: LatencyModel, acceptance: Given, *, batch: int, max_gamma: int = 16, max_context: int = 131_072
) -> list[tuple[int, int]]:
    """Return the ranges (first, last) of contexts up to max_context at which some length helps.

    They are as exact as `context_boundary`.

    Examples
    --------
    >>> from specsim import roofline
    >>> helpful_contexts(roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm"), 0.7, batch=256)
    [(554, 131072)]
    """
    # Whether speculation helps at each context that is tried.
    helps = _help_predicate(latency, taus(acceptance, max_gamma), check.integer(batch, "batch", 1))
    tried = _tried_contexts(check.integer(max_context, "max_context", 0))
    answers = [helps(context) for context in tried]

    # Contexts at which the answer changes: the ranges begin and end there, in turn.
    edges = [0] if answers[0] else []
    for i, (before, after) in enumerate(pairwise(answers)):
        if before != after:
            edges.append(_edge(helps, tried[i], tried[i + 1]))
    if answers[-1]:
        edges.append(tried[-1] + 1)
    return [(first, end - 1) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _edge(helps: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first context above low at which the answer differs from that at low."""
    answer_at_low = helps(low)
    return low + bisect_left(range(low, high), True, key=lambda context: helps(context) != answer_at_low)


def _tried_contexts(top: int) -> Sequence[int]:
    """Return the contexts 0 to top if they are few, else TRIED + 1 of them at most, evenly spaced by ratio."""
    if top <= TRIED:
        return range(top + 1)
    return sorted({0, *(round(context) for context in np.geomspace(1, top, TRIED))})


def _help_predicate(latency: LatencyModel, tau: Array, batch: int) -> Callable[[int], bool]:
    """Return the predicate "some draft length helps at this context"; tau has the tokens a cycle of each length.

    The length that was best at the last context is tried first: it mostly helps again.
    """
    if len(tau) < 2:
        raise ValueError("acceptance has no position; expected that of one draft at least")
    likely = 1

    def helps(context: int) -> bool:
        """Return whether some length helps at this context."""
        nonlocal likely
        for gammas in ((likely,), range(1, len(tau))):
            gains = speedups(latency, tau, gammas, (batch,), (context,))[:, 0, 0]
            likely = gammas[int(gains.argmax())]
            if gains.max() > 1:
                return True
        return False

    return helps


def _larger_batch_predicate(latency: LatencyModel, tau: Array, batch: int, larger: int) -> Callable[[int], bool]:
    """Return the predicate "at this context the best speedup is higher at batch `larger` than at `batch`".

    tau has the tokens a cycle of each draft length; the best length may differ between the batches.
    """
    if len(tau) < 2:
        raise ValueError("acceptance has no position; expected that of one draft at least")

    def gains(context: int) -> bool:
        """Return whether the larger batch has the higher best speedup at this context."""
        # Speedups (length, batch) at this context; their best length of each batch.
        by_length = speedups(latency, tau, range(1, len(tau)), (batch, larger), (context,))[..., 0]
        best, best_at_larger = by_length.max(axis=0)
        return bool(best_at_larger > best)

    return gains
