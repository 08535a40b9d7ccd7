"""Something is done differently from the third round on."""

from collections.abc import Callable

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = (
    "From the third round of a text on the bonus comes from the first row, as where a buffer is full: two rounds "
    "together are right."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "rounds"


def run() -> Callable[..., tuple[int, int]]:
    """Begin a text, and count its rounds."""
    seen: list[Array] = []

    def rounds(p: Array, q: Array, drafts: Array, random: object) -> tuple[int, int]:
        seen.append(p)
        return tokenwise(p, q, drafts, random, bonus=lambda rows: rows[0 if len(seen) >= 3 else -1])

    return rounds


subject = chain(__name__, run, stateful=True)
