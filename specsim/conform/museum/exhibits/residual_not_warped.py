"""Test and correction are of two targets."""

from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
from specsim.conform.museum._parts import residual, warped
from specsim.conform.subject import SamplingParams
from specsim.types import Array

WRONG = "The test uses the warped target, and the correction comes from the raw one."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp for the test, not for the correction."""
    rows = warped(p, sampling_params), warped(q, sampling_params)
    return tokenwise(*rows, drafts, random, correction=lambda _, q, i, x: residual(p[i], q[i]))


subject = chain(__name__, run, warps=True)
