"""The tokens of the prompt count as written."""

from typing import Any

from specsim.conform.museum._frames import decoder, one_draft
from specsim.conform.subject import Model, SamplingParams

WRONG = "The limit of new tokens is compared with the length of the whole text: a prompt shortens the answer."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "truncation"


def run(
    target: Model, draft: Model, prompt: Any, n: int, sampling_params: SamplingParams, random: Any
) -> tuple[int, ...]:
    """Blocks of one draft."""
    return one_draft(target, draft, prompt, max(n - len(prompt), 0), sampling_params, random)


subject = decoder(__name__, run)
