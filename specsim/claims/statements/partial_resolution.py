"""The optimal transport of several i.i.d. drafts at the cost of Partial Resolution."""

from __future__ import annotations

import math

import numpy as np

from specsim.bounds.optimum import optimal_acceptance
from specsim.claims.statements._bank import F
from specsim.claims.statements._verdict import UNDECIDED, Settled
from specsim.exact.step import acceptance_rate

# A workshop paper of the authors of Global Resolution, which has no number at arXiv that we know.
SOURCE = "arXiv:2511.15898"
STATEMENT = (
    "Partial Resolution (Thomas and Pal, NeurIPS 2025 workshop; abstract) verifies n i.i.d. drafts at their optimum in "
    "O(2^1.5n n^2 + 2^n V + V log V), the first with 97 % acceptance and under 2 ms a token."
)


VOCAB, DRAFTS = 32_000, (2, 8, 16)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    numbers = {}
    for n in DRAFTS:
        stated = 2 ** (1.5 * n) * n**2 + 2**n * VOCAB + VOCAB * math.log(VOCAB)
        sorting = VOCAB * math.log(VOCAB)
        numbers[f"stated cost over V log V, {n} drafts of {VOCAB:,} tokens"] = f"{stated / sorting:.3g}"
    # The rule's own acceptance is the bound on every rule, in rationals.
    p, q = np.array([F(1, 2), F(1, 2)]), np.array([F(1, 10), F(9, 10)])
    rate = acceptance_rate(p, q, rule="optimal", num_drafts=6)
    bound = optimal_acceptance(p, q, num_drafts=6)
    numbers |= {"optimal, 6 drafts": str(rate), "optimum": str(np.asarray(bound)[()])}
    return Settled(
        UNDECIDED,
        "its code is not run here, and acceptance depends on the models. No term in 2^n is needed: the rule `optimal` "
        "(T08) sorts a row once, in O(V log V), and then draws a label for each draft, in O(n log V).",
        numbers,
    )
