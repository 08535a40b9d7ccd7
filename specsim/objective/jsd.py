"""Generalised Jensen-Shannon divergence: both laws against their mixture.

Value.       beta KL(p || m) + (1 - beta) KL(q || m), m = beta p + (1 - beta) q; 0 iff p = q. It is
             never infinite, since m has mass wherever one of the laws has.
Gradient.    (1 - beta) q (log(q / m) - KL(q || m)) in the logits of q.
Theorem.     T35, part 1. Divided by beta or 1 - beta it tends to `fkl` or `rkl` as that tends to 0.
Cost.        O(V).
Paper.       Agarwal et al., arXiv:2306.13649; Zhou et al., DistillSpec, arXiv:2310.08461.
"""

from __future__ import annotations

from fractions import Fraction

from specsim.base import check
from specsim.base.arrays import array_namespace, is_exact
from specsim.objective._parts import log_or, mass, where_positive
from specsim.types import Array

SAMPLED = False
THEOREM = "T35"
PAPER = "arXiv:2310.08461"
CASES = ({"beta": Fraction(1, 2)}, {"beta": Fraction(1, 10)})


def loss(p: Array, log_q: Array, tokens: Array | None = None, *, beta: Fraction | float = 0.5) -> Array:
    """The loss (...) of rows p and log q (..., V); beta is p's share in the mixture, in (0, 1)."""
    xp, q, share = array_namespace(p, log_q), mass(log_q), _share(p, beta)
    log_mixture = log_or(share * p + (1 - share) * q, 1)
    kl_p = xp.sum(p * (log_or(p, 1) - log_mixture), axis=-1)
    kl_q = xp.sum(q * (where_positive(q, log_q) - log_mixture), axis=-1)
    return share * kl_p + (1 - share) * kl_q


def gradient(p: Array, log_q: Array, *, beta: Fraction | float = 0.5) -> Array:
    """The gradient (..., V) of the sum of rows in the logits of q."""
    xp, q, share = array_namespace(p, log_q), mass(log_q), _share(p, beta)
    log_ratio = where_positive(q, log_q) - log_or(share * p + (1 - share) * q, 1)
    return (1 - share) * q * (log_ratio - xp.sum(q * log_ratio, axis=-1, keepdims=True))


def _share(p: Array, beta: Fraction | float) -> Fraction | float:
    """The checked share beta, exact beside rows of Fractions."""
    check.scalar(beta, "beta", "(0, 1)")
    return Fraction(beta) if is_exact(p) else float(beta)
