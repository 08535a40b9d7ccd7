"""Drafting ends after a token that turned out to be unlikely."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = (
    "A draft of low probability is withdrawn after it was drawn, and the target is drawn from instead: what is"
    " tested is no draw from q."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of at most one draft."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x = draw(random, q)
        if q[x] < 0.4:
            return (draw(random, p),)
        if random.random() * q[x] < p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
