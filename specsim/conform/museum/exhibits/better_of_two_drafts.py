"""A draft is chosen after looking at it."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "Two drafts are drawn, the likelier goes on, and it is tested as if it were the only draw."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, the better of two."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x = max(draw(random, q), draw(random, q), key=lambda token: q[token])
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("better_of_two_drafts", "decoder", run, sizes=(1,), warps=True)
