"""The exact gradient of TVD++, against that of the total variation."""

from __future__ import annotations

import numpy as np

from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.discover import find

SOURCE = "arXiv:2403.00858"
STATEMENT = "The variance-reduced loss TVD++ trains a better draft than the total variation distance."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    p = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]])
    q = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]])
    of_tvd, of_tvdpp = (find("objective", name).gradient(p, np.log(q)) for name in ("tvd", "tvdpp"))
    ratio = of_tvdpp[of_tvd != 0] / of_tvd[of_tvd != 0]
    if not np.allclose(ratio, ratio[0], rtol=1e-12):
        return Settled(HOLDS, "the exact gradients differ in more than a factor.", {})
    return Settled(
        UNDER,
        "sampled drafts: with the expectation over the vocabulary its gradient is that of TVD over one number (T35), "
        "so only the learning rate differs; sampled, the recorded run on SmolLM2 shows no gain.",
        {"ratio of the exact gradients, every entry": f"{ratio[0]:.6f}"},
    )
