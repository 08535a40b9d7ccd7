"""Greedy decoding keeps the ratio of softmax probabilities."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "At temperature 0 drafts are chosen greedily, and tested and corrected with laws of temperature 1."
THREAD = "https://github.com/jaymody/speculative-sampling/issues/3"
EXPECTED = "convicted"
PROPERTY = "greedy"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft; a temperature of 0 reaches the choice of the draft only."""
    scheme = sampling_params if sampling_params.temperature > 0 else SamplingParams()

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), scheme), warped(draft(text), scheme)
        x = int(q.argmax()) if sampling_params.temperature == 0 else draw(random, q)
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), scheme))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("soft_test_at_temperature_zero", "decoder", run, sizes=(1,), warps=True)
