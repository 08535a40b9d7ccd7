"""Drafts are drawn in a shorter type than they are tested in."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "Drafts come from probabilities rounded to a few bits, and the test and the residual use those before rounding."
THREAD = "https://github.com/deepseek-ai/DeepSpec/issues/31"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, from a law of five bits."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x = draw(random, np.round(q * 32))
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("drafts_of_low_precision", "decoder", run, sizes=(1,), warps=True)
