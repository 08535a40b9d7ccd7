"""Cross-entropy: the draft learns tokens of a text, as a language model does, or the target's whole rows.

Value.       -log q(y) for the text's token y; without tokens -sum p log q, which is KL(p || q) and the entropy of p.
Gradient.    q - 1{y}, expected to be q - p where the target wrote the text; for rows that is what it is.
Theorem.     T35, part 1. On text that the target did not write it teaches the text's law, not the target's.
Cost.        O(V) with the draft's own normalisation.
Paper.       Kim and Rush, arXiv:1606.07947 (tokens that the target wrote); Zhou et al., DistillSpec, arXiv:2310.08461.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.objective._parts import drawn, mass, where_positive
from specsim.types import Array

SAMPLED = True
TOKENS = "target"
THEOREM = "T35"
PAPER = "arXiv:2310.08461"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """Rows p, log q (..., V), and tokens (...) of the text or none -> (...)."""
    if tokens is not None:
        return -drawn(log_q, tokens, "cross_entropy")
    return -array_namespace(p, log_q).sum(p * where_positive(p, log_q), axis=-1)


def gradient(p: Array, log_q: Array) -> Array:
    """Expected of the sum of rows where the target wrote the tokens, in the logits of q: (..., V)."""
    return mass(log_q) - p
