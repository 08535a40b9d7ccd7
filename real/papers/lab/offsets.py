"""How often draft k of a block is kept, by k, in blocks that start at every place of a text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from real.decode.given_text import Along, windows
from real.papers.lab.text_lab import by_prompt
from real.papers.lab.texts import Texts
from real.studies.intervals import Estimate, bootstrap
from specsim.types import Array


def kept(found: Sequence[Along]) -> tuple[Array, Array]:
    """Sums over the starts of each text of min(1, q/p) of draft k, and how many starts have one; both (texts, gamma).

    Drafts before it are the text's own: this is the chance that draft k is kept if those before it were.

    Examples
    --------
    >>> total, count = kept([Along(np.array([[0.5, 0.25], [0.25, 0.0]]), np.array([0.5, 0.5]))])
    >>> total.tolist(), count.tolist()
    ([[1.5, 0.5]], [[2.0, 1.0]])
    """
    gamma = found[0].q.shape[1]
    total, count = np.zeros((2, len(found), gamma))
    for i, one in enumerate(found):
        p = windows(one.p, gamma)
        total[i] = np.minimum(np.divide(one.q, p, out=np.zeros_like(p), where=p > 0), 1).sum(0)
        count[i] = len(one.p) - np.arange(gamma)
    return total, count


def acceptance(texts: Texts, found: Sequence[Along]) -> list[Estimate]:
    """Of each draft, with intervals over prompts."""
    total, count = kept(found)
    pairs = ((by_prompt(texts, total[:, k]), by_prompt(texts, count[:, k])) for k in range(total.shape[1]))
    return [bootstrap(pair, lambda a, b: a.sum(-1) / b.sum(-1)) for pair in pairs]


def difference(texts: Texts, new: Sequence[Along], old: Sequence[Along], k: int, less: int | None = None) -> Estimate:
    """Acceptance of draft k of the new less that of the old, paired by prompt; less the same of another draft."""
    (a, n), (b, _) = kept(new), kept(old)
    which = (k,) if less is None else (k, less)
    data = tuple(by_prompt(texts, w[:, i]) for i in which for w in (a, b, n))

    def told(*d: Array) -> Array:
        first = (d[0].sum(-1) - d[1].sum(-1)) / d[2].sum(-1)
        return first if less is None else first - (d[3].sum(-1) - d[4].sum(-1)) / d[5].sum(-1)

    return bootstrap(data, told)
