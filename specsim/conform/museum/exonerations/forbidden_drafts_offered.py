"""The draft model knows nothing of the grammar."""

from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = (
    "Drafts are drawn without the grammar's mask, and many are forbidden; the masked target gives them probability 0, "
    "so that the test rejects every one."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any, *, mask: Array | None) -> tuple[int, int]:
    """Test tokenwise against the masked target."""
    held = p if mask is None else p * mask / (p * mask).sum(axis=1, keepdims=True)
    return tokenwise(held, q, drafts, random)


subject = chain(__name__, run, masks=True)
