"""Gumbel noise: draws without replacement as the largest of perturbed log-probabilities.

Noise.       -log(-log(u)) of a uniform u. log q plus noise, sorted, is an order of draws without
             replacement from q.
Condition.   Noise of siblings, given that their maximum Z is the score s of their parent: each
             perturbed g becomes -log(exp(-s) - exp(-Z) + exp(-g)), which leaves s where g = Z and
             -inf where g = -inf.
Paper.       Kool, van Hoof and Welling, arXiv:1903.06059, appendix B for the stable form of the
             conditioning.
"""

from __future__ import annotations

import numpy as np
from array_api_compat import device

from specsim.base import check, limits
from specsim.base.arrays import array_namespace
from specsim.types import Array

# Lower limit of a uniform: half of the smallest positive one, so that the noise of u = 0 is finite.
LEAST = 2.0**-54


@np.errstate(under="ignore")
def gumbel_top_k(q: Array, u: Array, num_drafts: int) -> Array:
    """K candidates (..., K), drawn without replacement from q (..., V).

    u (..., V) becomes Gumbel noise; the candidates are the K tokens of largest log q + noise.

    The same law as `specsim.draft.without_replacement`, with which RSD-C draws the children of a
    node; beyond the support the last token repeats there and here.

    Parameters
    ----------
    q : array_like, shape (..., V)
        Laws.
    u : array_like, shape (..., V)
        Uniforms in [0, 1).
    num_drafts : int
        K, at least 1.

    Returns
    -------
    array of int, shape (..., K)
        In the order drawn.

    Raises
    ------
    ValueError
        A row that is no law, uniforms of another shape, or K below 1.

    Examples
    --------
    >>> gumbel_top_k(np.array([0.5, 0.3, 0.2]), np.array([0.5, 0.5, 0.9]), 2).tolist()
    [2, 0]
    """
    q = check.law(q, "q")
    xp = array_namespace(q)
    num_drafts = check.integer(num_drafts, "num_drafts", 1, limits.MAX_DRAFTS)
    u = check.array(u, "u")
    u = check.uniforms(u, q.shape[-1], u.shape[:-1], q)

    # Places beyond the support repeat the last token that has a probability.
    order = xp.argsort(-(safe_log(q) + gumbel_noise(u)), axis=-1, stable=True)
    support = xp.sum(xp.astype(q > 0, xp.int64), axis=-1, keepdims=True)
    place = xp.arange(num_drafts, device=device(order)) + 0 * order[..., :1]
    return xp.take_along_axis(order, xp.where(place < support, place, support - 1), axis=-1)


def gumbel_noise(u: Array) -> Array:
    """Return standard Gumbel noise in the shape of the uniforms."""
    xp = array_namespace(u)
    return -xp.log(-xp.log(xp.where(u > LEAST, u, LEAST)))


def safe_log(q: Array) -> Array:
    """Return log q, -inf at 0 without a warning."""
    xp = array_namespace(q)
    return xp.where(q > 0, xp.log(xp.where(q > 0, q, 1)), -xp.inf)


def condition_maximum(perturbed: Array, score: Array) -> Array:
    """Move perturbed log-probabilities (..., V) of siblings so that their maximum is score (..., 1).

    Computes -log(exp(-score) - exp(-Z) + exp(-perturbed)), Z their maximum, without the
    exponentials that overflow. With lag = score - perturbed + log(1 - exp(perturbed - Z)) it is
    score - max(lag, 0) - log(1 + exp(-|lag|)). At the maximiser lag is -inf, so what is left is
    score itself; the formula's two equal terms would leave a NaN.
    """
    xp = array_namespace(perturbed)
    top = xp.max(perturbed, axis=-1, keepdims=True)
    is_possible = top > -xp.inf

    # log(1 - exp(perturbed - Z)), -inf at the maximiser.
    below_top = perturbed - xp.where(is_possible, top, 0)
    is_less = below_top < 0
    log_rest = xp.where(is_less, xp.log(-xp.expm1(xp.where(is_less, below_top, -1))), -xp.inf)

    # Siblings of a parent without a score stay impossible.
    bound = xp.where(is_possible, score, 0)
    lag = bound - perturbed + log_rest
    moved = bound - xp.where(lag > 0, lag, 0) - xp.log1p(xp.exp(-xp.abs(lag)))
    return xp.where(is_possible, moved, -xp.inf)
