"""Likeliest tokens, with the probabilities that they would have had as draws."""

from typing import Any

from specsim.conform.museum._frames import drafter
from specsim.conform.museum._parts import warped
from specsim.conform.subject import Model, SamplingParams
from specsim.types import Array

WRONG = "Drafts are the likeliest tokens, and the rows handed over with them are softmax laws."
THREAD = "https://github.com/huggingface/transformers/pull/47961"
EXPECTED = "convicted"
PROPERTY = "contract"


def draw_one(draft: Model, text: list[int], params: SamplingParams, random: Any) -> tuple[int, Array]:
    """Take the argmax; return what it was taken of."""
    row = warped(draft(text), params)
    return int(row.argmax()), row


subject = drafter(__name__, draw_one)
