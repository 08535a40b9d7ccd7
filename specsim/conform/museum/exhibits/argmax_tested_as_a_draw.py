"""The draft model is greedy, and its softmax is taken for the law of its drafts."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "The draft is always the likeliest token, and is tested with its softmax probability."
THREAD = "https://github.com/huggingface/transformers/issues/32867"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, which is certain."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), sampling_params)
        x = int(q.argmax())
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("argmax_tested_as_a_draw", "decoder", run, sizes=(1,), warps=True)
