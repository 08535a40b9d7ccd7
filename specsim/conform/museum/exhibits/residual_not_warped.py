"""Test and correction are of two targets."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = "The test uses the warped target, and the correction comes from the raw one."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp for the test, not for the correction."""
    raw = p
    p, q = warped(p, sampling_params), warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(raw[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_not_warped", "chain", run, sizes=SIZES, warps=True)
