"""Coins are drawn once, and used in every round."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, place, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = (
    "Coins are allocated with the prompt and read again in every round: each token's law is right, and the "
    "joint law is not."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, all with the same two coins."""
    test, choice = random.random(), random.random()

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x = draw(random, q)
        return (x,) if test * q[x] < p[x] else (place(choice, residual(p, q)),)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
