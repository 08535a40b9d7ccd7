"""0 is taken for no temperature at all."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = "A temperature of 0 is read as not given, and the text is drawn at temperature 1."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "greedy"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Warp all rows, with 1 where the temperature is false."""
    sampling_params = sampling_params._replace(temperature=sampling_params.temperature or 1.0)
    p, q = warped(p, sampling_params), warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("zero_temperature_is_off", "chain", run, sizes=SIZES, warps=True)
