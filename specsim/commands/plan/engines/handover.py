"""The part of a plan that an engine is given: what drafts, how much at which batch, how drafts are accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from specsim.lengths.acceptance_record import Acceptance

# Kinds of drafters.
METHODS = ("model", "eagle", "eagle3", "mtp", "ngram", "suffix", "dflash", "peagle", "parallel")
# Drafters without a model of their own: heads that are part of the target, or text that is looked up.
WITHOUT_MODEL = ("mtp", "ngram", "suffix")
# Drafters as a message calls them, where a plan takes for granted that they make a block in one pass.
DESCRIBED = {
    **{"model": "a draft model", "parallel": "a draft model that fills masks (PARD)", "peagle": "a P-EAGLE head"},
    **{"eagle": "an EAGLE head of the first kind", "eagle3": "an EAGLE-3 head", "dflash": "a DFlash head"},
    "mtp": "a multi-token prediction module",
}


class Handover(NamedTuple):
    """A plan, for one engine.

    schedule: (first batch, last batch, drafts) of each range; a single one for engines that take one length.
    acceptance: of each draft. draft: the draft model's folder or hub id. method: one of `METHODS`. tree: parents of the
    nodes of a tree, instead of a chain.
    """

    schedule: Sequence[tuple[int, int, int]]
    acceptance: Acceptance
    draft: str
    method: str = "model"
    tree: Sequence[int] = ()

    @property
    def gamma(self) -> int:
        """Return the longest draft length of the schedule."""
        return max(gamma for _, _, gamma in self.schedule)

    @property
    def accepted(self) -> float:
        """Return the mean number of accepted drafts of a block of the longest length."""
        return float(self.acceptance.tau(self.gamma).value) - 1

    @property
    def survival(self) -> list[float]:
        """Return the probability that the first 1, 2, ... drafts of the longest block are all accepted."""
        return [rounded(probability) for probability in np.cumprod(self.acceptance.hazards(self.gamma))]


def rounded(rate: float) -> float:
    """Return a rate rounded to six digits: the sum of a few stays within 1e-5, and falling rates still fall."""
    return round(float(rate), 6)
