"""How requests of a load differ in the drafts that they accept: kinds fitted to a log by request, or none."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from specsim.lengths.acceptance_record import Acceptance
from specsim.lengths.blocks import accepted_length_law
from specsim.speed.load.ways import Kinds, alike
from specsim.speed.prediction import ALIKE


def kinds_of(acceptance: Acceptance, gammas: Iterable[int]) -> tuple[dict[int, Kinds], str]:
    """Return the kinds of requests at each block length, and what is assumed of them."""
    if acceptance.requests is None:
        laws = {gamma: accepted_length_law(np.array(acceptance.hazards(gamma))) for gamma in gammas}
        return {gamma: alike(law) for gamma, law in laws.items()}, ALIKE
    mixture = acceptance.requests()
    kinds = {
        gamma: Kinds(mixture.weights, np.array([accepted_length_law(row[:gamma]) for row in mixture.hazards]))
        for gamma in gammas
    }
    return kinds, f"{mixture.words}; answers are as long of every kind"
