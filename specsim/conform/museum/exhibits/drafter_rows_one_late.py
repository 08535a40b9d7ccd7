"""Rows and drafts are out of step."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, warped
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.types import Array

WRONG = "The rows handed over are those after the drafts, not those that the drafts were drawn from."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "contract"


def run(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> tuple[list[int], Array]:
    """Draw, then look the row up."""
    text, rows = list(prompt), []
    for _ in range(gamma):
        text.append(draw(random, warped(draft(text), sampling_params)))
        rows.append(warped(draft(text), sampling_params))
    return text[len(prompt) :], np.stack(rows)


def subject() -> Subject:
    """The drafter, on table look-ups."""
    return Subject("drafter_rows_one_late", "drafter", run, sizes=SIZES, warps=True)
