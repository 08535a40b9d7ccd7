"""The rows of a pass are counted from the wrong end of the prompt."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = "A draft is tested against the row of the tokens that were written, counted from the beginning of the prompt."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, from one pass over the whole text."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        q = warped(draft(text), sampling_params)
        x = draw(random, q)
        p = warped(target.rows((*text, x)), sampling_params)[len(text) - len(prompt) :]
        if random.random() * q[x] < p[0, x]:
            return x, draw(random, p[1])
        return (draw(random, residual(p[0], q)),)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
