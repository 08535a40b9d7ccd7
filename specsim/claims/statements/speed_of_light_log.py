"""The growth of the best deterministic tree with its nodes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.trees.limits import speed_of_light

SOURCE = "arXiv:2512.11718"
STATEMENT = (
    "Any deterministic speculation within a capacity of N tokens predicts at most (mu + mu2) log N / mu^2 + O(1) of "
    "them, mu and mu2 the target's mean entropy and second log-moment (abstract)."
)


SIZES = (4, 16, 64, 256, 1024)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    law = np.array([0.5, 0.3, 0.2])
    first, second = float(-(law * np.log(law)).sum()), float((law * np.log(law) ** 2).sum())
    slope = (first + second) / first**2
    values = [float(speed_of_light(law, nodes=n)) for n in SIZES]
    slopes = [(b - a) / math.log(4) for a, b in pairwise(values)]
    return Settled(
        UNDER if max(slopes) <= slope else REFUTED,
        "one law with 4 to 1,024 nodes, where the exact value grows by less than the bound for each unit of log N.",
        {"bound, tokens per unit of log N": f"{slope:.4f}", "most met": f"{max(slopes):.4f}"}
        | {f"exact, {n} nodes": f"{value:.4f}" for n, value in zip(SIZES, values, strict=True)},
    )
