"""Likeliest tokens, with the probabilities that they would have had as draws."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, warped
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.types import Array

WRONG = "Drafts are the likeliest tokens, and the rows handed over with them are softmax laws."
THREAD = "https://github.com/huggingface/transformers/pull/47961"
EXPECTED = "convicted"
PROPERTY = "contract"


def run(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> tuple[list[int], Array]:
    """Take the argmax; return what it was taken of."""
    text, rows = list(prompt), []
    for _ in range(gamma):
        rows.append(warped(draft(text), sampling_params))
        text.append(int(rows[-1].argmax()))
    return text[len(prompt) :], np.stack(rows)


def subject() -> Subject:
    """The drafter, on table look-ups."""
    return Subject("drafter_argmax_with_softmax", "drafter", run, sizes=SIZES, warps=True)
