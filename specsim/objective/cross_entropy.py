"""Cross-entropy: the draft learns tokens of a text, as language models do, or the target's rows.

Value.       -log q(y) for the text's token y; without tokens -sum p log q, which is KL(p || q) and
             the entropy of p.
Gradient.    q - 1{y}, whose expectation is q - p where the target wrote the text; for rows it is q
             - p.
Theorem.     T35, part 1. On text that the target did not write it teaches the text's law, not the
             target's.
Cost.        O(V) with the draft's own normalisation.
Paper.       Kim and Rush, arXiv:1606.07947 (tokens that the target wrote); Zhou et al.,
             DistillSpec, arXiv:2310.08461.
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
    """The loss (...) of rows p and log q (..., V), with or without tokens (...) of the text."""
    if tokens is not None:
        return -drawn(log_q, tokens, "cross_entropy")
    return -array_namespace(p, log_q).sum(p * where_positive(p, log_q), axis=-1)


def gradient(p: Array, log_q: Array) -> Array:
    """The expected gradient (..., V) of the sum of rows in the logits of q.

    The target wrote the tokens.
    """
    return mass(log_q) - p
