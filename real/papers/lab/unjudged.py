"""Any-subset decoding without verification: every draft is accepted.

Law.         The places of a round are independent given the decoded ones: with `slots=1` the model's law, else another.
Cost.        One pass a round.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from specsim.process import any_subset
from specsim.process.any_subset import State
from specsim.types import Array

EXACT = False
THEOREM = "open"
PAPER = "arXiv:2504.20456"

start, ask, uniforms = any_subset.start, any_subset.ask, any_subset.uniforms


def advance(state: State, rows: Array, rule: ModuleType, u: Array) -> State:
    """Draw the drafts of a round, and mark them as decoded."""
    after = any_subset.advance(state, rows, rule, u)
    filled = np.minimum(state.filled + state.slots, state.text.shape[-1])
    return after._replace(filled=filled, laws=None)
