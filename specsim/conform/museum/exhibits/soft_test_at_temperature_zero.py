"""Greedy decoding keeps the ratio of softmax probabilities."""

from typing import Any

from specsim.conform.museum._frames import decoder, one_draft
from specsim.conform.museum._parts import draw
from specsim.conform.subject import UNCHANGED, Model, SamplingParams
from specsim.types import Array

WRONG = "At temperature 0 drafts are chosen greedily, and tested and corrected with laws of temperature 1."
THREAD = "https://github.com/jaymody/speculative-sampling/issues/3"
EXPECTED = "convicted"
PROPERTY = "greedy"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """A temperature of 0 reaches the choice of the draft only."""

    def proposal(q: Array, random: Any, _: SamplingParams) -> int:
        return int(q.argmax()) if sampling_params.temperature == 0 else draw(random, q)

    soft = sampling_params if sampling_params.temperature > 0 else UNCHANGED
    return one_draft(target, draft, prompt, n, soft, random, proposal=proposal)


subject = decoder(__name__, run)
