"""Own: the squared distance of the draft's row from the target's.

Value.       1/2 sum (p - q)^2; 0 iff p = q.
Gradient.    q (q - p - sum q (q - p)) in the logits of q.
Theorem.     The chain rule: d q_x / d z_y = q_x (1{x = y} - q_y).
Cost.        O(V).
Paper.       Brier, Monthly Weather Review 78 (1950) 1.
"""

from __future__ import annotations

from array_api_compat import array_namespace

from specsim.types import Array

SAMPLED = False  # True: it needs one token of the draft for each row
THEOREM = "open"  # or the note in proofs/, as "T35"
PAPER = "Brier 1950"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """Rows p, log q (..., V) -> (...): on NumPy, torch, JAX, and the checks' exact numbers alike."""
    xp = array_namespace(p, log_q)
    apart = xp.exp(log_q) - p
    return xp.sum(apart * apart, axis=-1) / 2


def gradient(p: Array, log_q: Array) -> Array:
    """Of the sum of rows, in the logits of q (..., V): what the checks hold the loss to."""
    xp = array_namespace(p, log_q)
    q = xp.exp(log_q)
    apart = q - p
    return q * (apart - xp.sum(q * apart, axis=-1, keepdims=True))
