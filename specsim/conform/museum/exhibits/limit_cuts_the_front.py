"""The wrong end of a block is cut."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = (
    "A block that passes the length limit loses its first tokens instead of its last: a bonus token takes the place of "
    "a draft."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "truncation"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x, y, room = draw(random, q), draw(random, residual(p, q)), len(prompt) + n - len(text)
        if random.random() * q[x] < p[x]:
            return (x, draw(random, warped(target((*text, x)), sampling_params)))[-room:]
        return (y,)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
