"""An end token among the drafts does not end the text."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = (
    "Whether a text has ended is asked of the last token of a block only: it goes on after an end token that was "
    "drafted and accepted before."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "truncation"


def run(p: Array, q: Array, drafts: Array, random: Any, *, end: int | None, limit: int | None) -> list[int]:
    """Test tokenwise; cut at the limit, and look for the end token in the last place."""
    out, law = [], p[-1]
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            law = residual(p[i], q[i])
            break
        out.append(int(x))
    return (out if out and out[-1] == end else [*out, draw(random, law)])[:limit]


subject = chain(__name__, run, returns="tokens", stops=True)
