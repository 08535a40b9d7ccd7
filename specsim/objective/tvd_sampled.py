"""Total variation distance from one token of the draft a row: REINFORCE with the reward 1{p > q}.

Value.       -1{p(x) > q(x)} log q(x) for x drawn from q. The value means nothing; no gradient goes
             through the reward.
Gradient.    Its expectation is that of `tvd`, -E_q[1{p > q} grad log q]: no bias, but noise.
Theorem.     T35, part 3.
Cost.        O(1) a row beyond the draft's own; no sum over the vocabulary.
Paper.       Goel et al., arXiv:2403.00858.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.objective._parts import drawn, mass, toward
from specsim.types import Array

SAMPLED = True
THEOREM = "T35"
PAPER = "arXiv:2403.00858"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """The loss (...) of rows p and log q (..., V) at tokens (...) that the draft drew."""
    log_q_drawn = drawn(log_q, tokens, "tvd_sampled")
    xp = array_namespace(p, log_q)
    is_rewarded = drawn(p, tokens, "tvd_sampled") > mass(log_q_drawn)
    return xp.where(is_rewarded, -log_q_drawn, xp.zeros_like(log_q_drawn))


def gradient(p: Array, log_q: Array) -> Array:
    """The expected gradient (..., V) of the sum of rows in the logits of q."""
    return toward(p, mass(log_q))
