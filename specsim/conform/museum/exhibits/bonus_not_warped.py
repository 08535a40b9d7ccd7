"""The bonus token has sampling parameters of its own: none."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = "Drafts and corrections are warped, and the bonus token is drawn from the target's raw law."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp all rows, but draw the bonus from the raw last one."""
    bonus = p[-1]
    p, q = warped(p, sampling_params), warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, bonus)


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("bonus_not_warped", "chain", run, sizes=SIZES, warps=True)
