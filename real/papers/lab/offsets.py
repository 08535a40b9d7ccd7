"""The hazard of draft k, by k, in blocks that start at every place of a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from real.decode.given_text import Along, windows
from specsim.types import Array


def hazard_sums(drafter: Sequence[Along]) -> tuple[Array, Array]:
    """Return sums of the hazards of draft k over the starts of each text, and the number of starts.

    Both have the shape (texts, gamma). The drafts before draft k are the text's tokens, so that its
    hazard, the probability that it is accepted if all before it were, is min(1, q/p).

    Examples
    --------
    >>> total, count = hazard_sums([Along(np.array([[0.5, 0.25], [0.25, 0.0]]), np.array([0.5, 0.5]))])
    >>> total.tolist(), count.tolist()
    ([[1.5, 0.5]], [[2.0, 1.0]])
    """
    gamma = drafter[0].q.shape[1]
    total, count = np.zeros((2, len(drafter), gamma))
    for i, text in enumerate(drafter):
        p = windows(text.p, gamma)
        ratios = np.divide(text.q, p, out=np.zeros_like(p), where=p > 0)
        total[i] = np.minimum(ratios, 1).sum(0)
        count[i] = len(text.p) - np.arange(gamma)
    return total, count
