"""Rows and drafts are out of step."""

from typing import Any

from specsim.conform.museum._frames import drafter
from specsim.conform.museum._parts import draw, warped
from specsim.conform.subject import Model, SamplingParams
from specsim.types import Array

WRONG = "The rows handed over are those after the drafts, not those that the drafts were drawn from."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "contract"


def draw_one(draft: Model, text: list[int], params: SamplingParams, random: Any) -> tuple[int, Array]:
    """Draw, then look the row up."""
    x = draw(random, warped(draft(text), params))
    return x, warped(draft([*text, x]), params)


subject = drafter(__name__, draw_one)
