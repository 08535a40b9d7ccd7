"""Hierarchical verification without caps, after which the target goes on as it is: full information, wrongly used.

Law.         The block of `greedy_block`, which the paper calls naive; but the tokens after it come
             from p at once, instead of from what the joint laws leave over for the rest of the
             gamma places.
Theorem.     T36, part 4: it keeps what full information would, and is lossy whenever that is more
             than `block` keeps.
Acceptance.  E[n] = sum_i 1 - TV(P_i, Q_i) over the laws of the first i tokens.
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V).
Paper.       Zhou et al., arXiv:2601.05724, naive hierarchical verification, in a loop that goes on
             from the target.
"""

from __future__ import annotations

from specsim.verify.chain import greedy_block

EXACT = True
THEOREM = "T36"
PAPER = "arXiv:2601.05724"

Plan = greedy_block.Plan
prepare, uniforms = greedy_block.prepare, greedy_block.uniforms
# The block itself; there is no `continuation`.
transition, verify = greedy_block.transition, greedy_block.verify
