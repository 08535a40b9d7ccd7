"""The temperature is applied twice."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = "The target's logits are divided by the temperature by the sampler and again by the verifier."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp the target twice."""
    p, q = warped(warped(p, sampling_params), sampling_params), warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("temperature_squared", "chain", run, sizes=SIZES, warps=True)
