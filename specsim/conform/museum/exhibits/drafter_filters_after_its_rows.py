"""Top-k comes between the row and the draw."""

from typing import Any

from specsim.conform.museum._frames import drafter
from specsim.conform.museum._parts import draw, warped
from specsim.conform.subject import Model, SamplingParams
from specsim.types import Array

WRONG = "Rows are taken down before top-k and top-p, and drafts are drawn after them."
THREAD = "https://github.com/mlx-node/mlx-node/pull/11"
EXPECTED = "convicted"
PROPERTY = "contract"


def draw_one(draft: Model, text: list[int], params: SamplingParams, random: Any) -> tuple[int, Array]:
    """Scale by the temperature, keep the row, then filter and draw."""
    law = draft(text)
    row = warped(law, SamplingParams(temperature=params.temperature))
    return draw(random, warped(law, params)), row


subject = drafter(__name__, draw_one)
