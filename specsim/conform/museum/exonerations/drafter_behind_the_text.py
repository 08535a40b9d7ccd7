"""The drafter does not know the last token."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = "The drafter's cache lacks the token before the draft: it drafts badly, from the law that it is tested with."
THREAD = "https://github.com/lablup/mlxcel/issues/994"
EXPECTED = "lossless"
PROPERTY = ""


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, from a text that is one token short."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text[:-1]), sampling_params)
        x = draw(random, q)
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("drafter_behind_the_text", "decoder", run, sizes=(1,), warps=True)
