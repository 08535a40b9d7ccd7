"""The law of what FLy writes, which keeps a refused draft at an unsure place if the drafts after it pass."""

from __future__ import annotations

import numpy as np

from specsim.claims.statements._bank import TARGET, F, shown, smallest
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.types import Array
from specsim.verify.lossy import fly

SOURCE = "arXiv:2511.22972"
STATEMENT = (
    "Often concluded: FLy is lossless or nearly so, since with it 99 % of the target's accuracy is preserved, as its "
    "paper measures."
)

# Drafts of a block whose window is 6, the length that engines take by default.
_LONG = 7


def bias(p: Array, q: Array, gamma: int, greedy: bool = False) -> F:
    """Return the bias of the first token, one law each in every context."""
    plan = fly.prepare(np.array([p] * (gamma + 1)), np.array([q] * gamma), greedy=greedy)
    return F(fly.bias(plan).item())


def decided(greedy: bool) -> F:
    """Return the bias where the draft is sure of the unlikelier token, and the rest of its block is the target's."""
    sure = np.array([F(1), F(0)])
    target = np.array([TARGET, *[sure] * _LONG])
    return F(fly.bias(fly.prepare(target, np.array([sure] * _LONG), greedy=greedy)).item())


def settle() -> Settled:
    """Compute the verdict on the statement."""
    case = smallest(lambda p, q: (-bias(p, q, 2), F(0)), (2,), 4)
    if case is None:
        return Settled(UNDER, "the small laws that were tried, which have no counterexample.", {})
    return Settled(
        REFUTED,
        "a refused draft that is kept changes the law by as much as it gains (T52). A sure draft, followed by what "
        "the target would write, takes the place of its token, at temperature 0 always. Accuracy is not a law, and the "
        "paper's 99 % were not run here. vLLM's manual calls its FLy lossy. The paper was read as its abstract, its "
        "rule as vLLM has it, with the entropy of 0.3 that is its default.",
        {
            "target": shown(case.p),
            "draft": shown(case.q),
            "bias of the first token, 2 drafts": str(-case.value),
            "at temperature 0": str(bias(case.p, case.q, 2, greedy=True)),
            "1 likely, 0 drafted, then alike: bias, window 6": str(decided(False)),
            "the same at temperature 0": str(decided(True)),
        },
    )
