"""The draft is greedy where the target is sampled."""

from typing import Any

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, rounds, warped
from specsim.conform.subject import Model, SamplingParams

WRONG = (
    "Drafts are the likeliest tokens of the draft model at every temperature; they are compared with target "
    "draws, which are emitted."
)
THREAD = "https://github.com/z-lab/dflash/issues/74"
EXPECTED = "lossless"
PROPERTY = ""


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft; whatever it is, only the target's own draws come out."""

    def block(text: tuple[int, ...]) -> tuple[int, ...]:
        x, y = int(draft(text).argmax()), draw(random, warped(target(text), sampling_params))
        return (x, draw(random, warped(target((*text, x)), sampling_params))) if x == y else (y,)

    return rounds(prompt, n, block)


subject = decoder(__name__, run)
