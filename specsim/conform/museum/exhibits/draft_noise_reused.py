"""Draft and correction are drawn with the same noise."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, place, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = "The random number that chose the draft chooses the correction, too, given that the draft was rejected."
THREAD = "https://github.com/vllm-project/vllm/pull/54282"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, placed by the number that places its correction."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        noise = random.random()
        x = place(noise, q)
        if random.random() * q[x] < p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (place(noise, residual(p, q)),)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
