"""Likeliest tokens, with rows that say that they are certain."""

from typing import Any

import numpy as np

from specsim.conform.museum._frames import drafter
from specsim.conform.subject import Model, SamplingParams
from specsim.types import Array

WRONG = "It samples nothing at any temperature; the rows handed over are one-hot, so that its contract holds."
THREAD = "https://github.com/z-lab/dflash/pull/169"
EXPECTED = "lossless"
PROPERTY = ""


def draw_one(draft: Model, text: list[int], params: SamplingParams, random: Any) -> tuple[int, Array]:
    """Take the argmax; return a point mass."""
    law = draft(text)
    return int(law.argmax()), np.where(np.arange(len(law)) == law.argmax(), 1.0, 0.0)


subject = drafter(__name__, draw_one)
