"""The draft model knows nothing of the grammar."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
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
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > held[i, x]:
            return i, draw(random, residual(held[i], q[i]))
    return len(drafts), draw(random, held[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("forbidden_drafts_offered", "chain", run, sizes=SIZES, masks=True)
