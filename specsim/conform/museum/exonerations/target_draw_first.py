"""Draw from the target; the draft is kept if it is the token drawn."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.types import Array

WRONG = "It compares the draft with a fresh draw from the target, and never reads q."
THREAD = "https://github.com/lablup/mlxcel/pull/992"
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Emit the target's own draws for as long as they are the drafts."""
    for i, x in enumerate(drafts):
        y = random.choice(p.shape[1], p=p[i])
        if y != x:
            return i, y
    return len(drafts), random.choice(p.shape[1], p=p[-1])


subject = chain(__name__, run, sizes=(1, 2, 3))
