"""The draft ignores the request's sampling parameters."""

from typing import Any

from specsim.conform.museum._parts import draw, residual, rounds, warped
from specsim.conform.subject import Model, SamplingParams, Subject

WRONG = (
    "Drafts are drawn at a temperature of their own, without top-k or top-p; the test and the residual use that law."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft, at temperature 0.7 always."""
    own = SamplingParams(temperature=0.7)

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        p, q = warped(target(text), sampling_params), warped(draft(text), own)
        x = draw(random, q)
        if random.random() * q[x] <= p[x]:
            return x, draw(random, warped(target((*text, x)), sampling_params))
        return (draw(random, residual(p, q)),)

    return rounds(prompt, n, block)


def subject() -> Subject:
    """The decoder, on table look-ups."""
    return Subject("draft_at_its_own_temperature", "decoder", run, sizes=(1,), warps=True)
