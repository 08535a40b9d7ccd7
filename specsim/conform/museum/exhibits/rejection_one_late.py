"""What is emitted after a rejection belongs one position further on."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "A rejection is handled one position late: the rejected token is dropped, and what the target says after "
    "it is emitted in its place."
)
THREAD = "https://github.com/openvinotoolkit/openvino.genai/issues/4190"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; on rejection draw from the row after the rejected draft."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, p[i + 1])
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("rejection_one_late", "chain", run, sizes=SIZES)
