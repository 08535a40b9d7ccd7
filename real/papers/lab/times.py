"""Times of the cycles of SmolLM2 and its draft, which predicted speeds rest on."""

from __future__ import annotations

import json

from real.papers.lab.texts import DATA
from real.studies.costs import Costs


def recorded(temperature: float) -> Costs:
    """Times of the cycles of SmolLM2 and its draft, as `specsim-real compare` measured them on a quiet machine.

    Parameters
    ----------
    temperature : float
        0 for greedy decoding; any other has the times of temperature 1.

    Returns
    -------
    Costs
        Batch 1, float32, two threads; up to 8 drafts were timed.

    Examples
    --------
    >>> [round(recorded(0.0).cycle(gamma) / recorded(0.0).cycle(0), 2) for gamma in (1, 3, 8)]
    [1.15, 1.12, 1.62]
    """
    held = json.loads((DATA / "smollm2_costs.json").read_text(encoding="utf-8"))
    return Costs(**held["0" if temperature == 0 else "1"])
