"""An end token in the prompt ends the answer."""

from typing import Any

from specsim.conform.museum._frames import decoder, one_draft
from specsim.conform.subject import Model, SamplingParams

WRONG = "The end token is looked for in the whole text: one in the prompt, as after a turn, ends the answer at once."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "truncation"


def run(
    target: Model,
    draft: Model,
    prompt: Any,
    n: int,
    sampling_params: SamplingParams,
    random: Any,
    *,
    end: int | None,
) -> tuple[int, ...]:
    """Blocks of one draft, cut after the end token."""
    text = (*prompt, *one_draft(target, draft, prompt, n, sampling_params, random))
    return text[len(prompt) : text.index(end) + 1] if end in text else text[len(prompt) :]


subject = decoder(__name__, run, stops=True)
