"""What was left over in one round is kept for the next."""

from collections.abc import Callable
from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The residual is put into a buffer at the first rejection of a text, and later rejections find it there."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "rounds"


def run() -> Callable[..., tuple[int, int]]:
    """Begin a text, whose residual is not known yet."""
    held: list[Array] = []

    def rounds(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        """Test tokenwise."""
        for i, x in enumerate(drafts):
            if random.random() * q[i, x] > p[i, x]:
                held.append(residual(p[i], q[i]))
                return i, draw(random, held[0])
        return len(drafts), draw(random, p[-1])

    return rounds


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_of_the_first_round", "chain", run, sizes=SIZES, stateful=True)
