"""A window that is shorter than the model's."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = "Once a text has five tokens, prompt included, the target sees the last two: short texts are right."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "rounds"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, corrected or kept."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p = warped(target(text if len(text) < 5 else text[-2:]), sampling_params)
        q = warped(draft(text), sampling_params)
        x = draw(random, q)
        return (x if random.random() * q[x] < p[x] else draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
