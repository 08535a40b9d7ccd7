"""The law that is returned is not the law that was drawn from."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "Drafts are drawn under the sampling parameters, and tested with the raw law of the draft."
THREAD = "https://github.com/huggingface/transformers/issues/47932"
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft; only the draw sees the warped q."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), draft(text)
        x = draw(random, warped(q, sampling_params))
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("raw_draft_law_returned", "decoder", run, sizes=(1,), warps=True)
