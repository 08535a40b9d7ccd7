"""Medusa's typical acceptance, against the target's law."""

from __future__ import annotations

import numpy as np

from specsim.claims.statements._verdict import UNDECIDED, Settled
from specsim.exact.step import output_law

SOURCE = "arXiv:2401.10774"
STATEMENT = "Typical acceptance keeps the output's quality without rejection sampling."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    law = output_law(p, q, rule="typical")
    return Settled(
        UNDECIDED,
        "quality is not a law: the law itself is changed, exactly by so much, and an unlikely token that passes the "
        "threshold comes as often as the draft proposes it.",
        {"target": "0.5, 0.3, 0.2", "draft": "0.1, 0.3, 0.6"}
        | {"output": ", ".join(f"{x:.4f}" for x in law), "bias": f"{np.abs(law - p).sum() / 2:.4f}"},
    )
