"""Top-k comes between the row and the draw."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, warped
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.types import Array

WRONG = "Rows are taken down before top-k and top-p, and drafts are drawn after them."
THREAD = "https://github.com/mlx-node/mlx-node/pull/11"
EXPECTED = "convicted"
PROPERTY = "contract"


def run(draft: Model, prompt: Any, gamma: int, sampling_params: SamplingParams, random: Any) -> tuple[list[int], Array]:
    """Scale by the temperature, keep the row, then filter and draw."""
    text, rows = list(prompt), []
    for _ in range(gamma):
        law = draft(text)
        rows.append(warped(law, SamplingParams(temperature=sampling_params.temperature)))
        text.append(draw(random, warped(law, sampling_params)))
    return text[len(prompt) :], np.stack(rows)


def subject() -> Subject:
    """The drafter, on table look-ups."""
    return Subject("drafter_filters_after_its_rows", "drafter", run, sizes=SIZES, warps=True)
