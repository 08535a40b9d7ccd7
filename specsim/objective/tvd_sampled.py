"""Total variation distance from one token of the draft a row: REINFORCE with the reward 1{p > q}.

Value.       -1{p(x) > q(x)} log q(x) for x drawn from q. The value means nothing; nothing goes through the reward.
Gradient.    Expected to be that of `tvd`, -E_q[1{p > q} grad log q], without bias; its noise is the price.
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
    """Rows p, log q (..., V) and tokens of the draft (...) -> (...)."""
    said = drawn(log_q, tokens, "tvd_sampled")
    xp = array_namespace(p, log_q)
    return xp.where(drawn(p, tokens, "tvd_sampled") > mass(said), -said, xp.zeros_like(said))


def gradient(p: Array, log_q: Array) -> Array:
    """Expected of the sum of rows, in the logits of q: (..., V)."""
    return toward(p, mass(log_q))
