"""Likeliest tokens, with rows that say that they are certain."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.types import Array

WRONG = "It samples nothing at any temperature; the rows handed over are one-hot, so that its contract holds."
THREAD = "https://github.com/z-lab/dflash/pull/169"
EXPECTED = "lossless"
PROPERTY = ""


def run(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> tuple[list[int], Array]:
    """Take the argmax; return point masses."""
    text, rows = list(prompt), []
    for _ in range(gamma):
        law = draft(text)
        text.append(int(law.argmax()))
        rows.append(np.where(np.arange(len(law)) == text[-1], 1.0, 0.0))
    return text[len(prompt) :], np.stack(rows)


def subject() -> Subject:
    """The drafter, on table look-ups."""
    return Subject("drafter_certain_of_its_argmax", "drafter", run, sizes=SIZES, warps=True)
