"""The optimal transport of several i.i.d. drafts at the sizes of Global Resolution."""

from __future__ import annotations

import numpy as np

from specsim.bounds.optimum import optimum
from specsim.claims.statements._verdict import UNDECIDED, Settled

SOURCE = "arXiv:2511.15898"
STATEMENT = (
    "Global Resolution is the first algorithm for several i.i.d. drafts with 90 % acceptance and under 100 ms of "
    "overhead a token, with negligible deviation from the target (abstract)."
)


SIZES = ((10, 2), (10, 5), (100, 2), (1000, 2))


def settle() -> Settled:
    """Compute the verdict on the statement."""
    numbers = {}
    for vocab, drafts in SIZES:
        p, q = np.random.default_rng(vocab).dirichlet(np.full(vocab, 0.1), 2)
        best = optimum(p, q, num_drafts=drafts)
        members = best.certificate
        # The bound on every lossless rule, by two sums.
        bound = 1 + p[members].sum() - q[members].sum() ** drafts
        numbers[f"{vocab} tokens, {drafts} drafts"] = f"{float(best.value):.9f}, bound {bound:.9f}"
    return Settled(
        UNDECIDED,
        "its code is not run here, and acceptance depends on the models. The optimum needs no convex program and no "
        "deviation: its value is a minimum over prefixes of the tokens ordered by p/q, one sort, exact, with a "
        "certificate (T03), at these sizes and at 256,000 tokens; the rule `optimal` reaches it (T08).",
        numbers,
    )
