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
    # Validate; `gains` answers at one context.
    check.integer(batch, "batch", 1)
    if larger is not None and check.integer(larger, "larger", 1) <= batch:
        raise ValueError(f"larger is {larger}, not above batch {batch}")
    top = check.integer(max_context, "max_context", 0)

    tau = taus(acceptance, max_gamma)
    gains = _helps(latency, tau, batch) if larger is None else _faster(latency, tau, batch, larger)
    # From the longest context down: the first that does not gain brackets the boundary.
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
    helps = _helps(latency, taus(acceptance, max_gamma), check.integer(batch, "batch", 1))
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
    """The first context above low at which the answer differs from that at low."""
    was = helps(low)
    return low + bisect_left(range(low, high), True, key=lambda s: helps(s) != was)


def _tried(top: int) -> Sequence[int]:
    """At most TRIED + 1 contexts up to top, evenly spaced by ratio; all of them if they are so few."""
    return range(top + 1) if top <= TRIED else sorted({0, *(round(s) for s in np.geomspace(1, top, TRIED))})


def _helps(latency: LatencyModel, tau: Array, batch: int) -> Callable[[int], bool]:
    """A predicate: does some length help at a context? The last best length is tried first: it mostly helps again."""
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


def _faster(latency: LatencyModel, tau: Array, batch: int, larger: int) -> Callable[[int], bool]:
    """A predicate: is the best speedup at a context larger at the larger batch?"""
    if len(tau) < 2:
        raise ValueError("acceptance has no position; expected that of one draft at least")

    def gains(context: int) -> bool:
        """Return whether the larger batch has the better speedup at this context."""
        now, then = speedups(latency, tau, range(1, len(tau)), (batch, larger), (context,))[..., 0].max(axis=0)
        return bool(then > now)

    return gains
