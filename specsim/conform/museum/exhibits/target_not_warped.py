"""The target is verified at temperature 1."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = "Sampling parameters reach the draft only; the target's law stays raw in test, correction and bonus."
THREAD = "https://github.com/vllm-project/vllm/pull/10198"
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp the draft's rows only."""
    q = warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("target_not_warped", "chain", run, sizes=SIZES, warps=True)
