"""Total variation distance: one minus the draft's acceptance by rejection.

Value.       1/2 sum |p - q| = sum (p - q)+; 0 iff p = q.
Gradient.    -E_q[1{p > q} grad log q] = -q (1{p > q} - q(p > q)) in the logits of q.
Theorem.     T35, part 2. T01: the acceptance of the best rule of one draft is 1 less this.
Cost.        O(V).
Paper.       Zhou et al., DistillSpec, arXiv:2310.08461.
"""

from __future__ import annotations

from specsim.objective._parts import excess, mass, toward
from specsim.types import Array

SAMPLED = False
THEOREM = "T35"
PAPER = "arXiv:2310.08461"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """The loss (...) of rows p and log q (..., V)."""
    return excess(p, mass(log_q))


def gradient(p: Array, log_q: Array) -> Array:
    """The gradient (..., V) of the sum of rows in the logits of q."""
    return toward(p, mass(log_q))
