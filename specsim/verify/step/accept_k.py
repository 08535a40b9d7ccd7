"""Top-k acceptance by likelihood: a draft passes if the target ranks it k-th or better, near the best; lossy.

Law.         A holds the `verifier_accept_k` likeliest tokens whose log-probability is at most
             `accept_tolerance` below the best one's. x ~ q is kept if it is in A; otherwise the
             token is argmax p (the first, on ties). A tolerance of 0 leaves argmax p alone in A.
Theorem.     T50, as `relaxed`: only A is another one.
Acceptance.  q(A).
Randomness.  None.
Cost.        O(V log V).
Paper.       speculators c05b95b, proposals/greedy.py, GreedyTokenProposalConfig, after Xia et al.,
             SpecDec, Findings of EMNLP 2023. The fields are documented there; neither that code nor
             vLLM's reader of such files (052316a) acts on them. No arXiv identifier.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from specsim.base import check
from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array
from specsim.verify.step import relaxed

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
# The level e^-tolerance is one double, worked out in `prepare`; all else is rational in p and q.
EXACT = True
BY_ID = True
THEOREM = "T50"
PAPER = ""

Plan = relaxed.Plan
transition, acceptance, bias = relaxed.transition, relaxed.acceptance, relaxed.bias
uniforms, verify = relaxed.uniforms, relaxed.verify


def prepare(p: Array, q: Array, num_drafts: int = 1, verifier_accept_k: int = 5, accept_tolerance: float = 1.0) -> Plan:
    """Plan of target and draft rows (..., V); verifier_accept_k at least 1, accept_tolerance in [0, inf)."""
    check.integer(verifier_accept_k, "verifier_accept_k", 1)
    check.scalar(accept_tolerance, "accept_tolerance", "[0, inf)")
    xp = array_namespace(p)
    # log max p - log p(x) <= tolerance, without logarithms of rows.
    level = math.exp(-float(accept_tolerance))
    best = xp.max(p, axis=-1, keepdims=True)
    near = (p > 0) & (p >= best * (Fraction(level) if is_exact(p) else level))
    # As its field says, a tolerance of 0 is the same as k = 1, also where several tokens are best.
    k = verifier_accept_k if accept_tolerance > 0 else 1
    return Plan(p, q, xp.argmax(p, axis=-1), (relaxed.ranks(p) < k) & near)
