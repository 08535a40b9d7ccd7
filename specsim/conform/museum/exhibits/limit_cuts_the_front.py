"""The wrong end of a block is cut."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, warped
from specsim.conform.subject import Model, SamplingParams, Subject

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
    text = tuple(prompt)
    while len(text) < len(prompt) + n:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x, room = draw(random, q), len(prompt) + n - len(text)
        block: tuple[int, ...] = (draw(random, residual(p, q)),)
        if random.random() * q[x] <= p[x]:
            block = x, draw(random, warped(target((*text, x)), sampling_params))
        text += block[-room:]
    return text[len(prompt) :]


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("limit_cuts_the_front", "decoder", run, sizes=(1,), warps=True)
