"""Every round of a text has the same coins."""

from collections.abc import Callable
from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "The coins of the tests are drawn when a text begins, and used again in every round: the law of each round by "
    "itself is right, and its rounds hang together."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "rounds"


def run() -> Callable[..., tuple[int, int]]:
    """Begin a text; its coins are drawn with the first round."""
    coins: list[Any] = []

    def rounds(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        """Test tokenwise."""
        coins.extend(random.random() for _ in drafts[len(coins) :])
        for i, x in enumerate(drafts):
            if coins[i] * q[i, x] > p[i, x]:
                return i, draw(random, residual(p[i], q[i]))
        return len(drafts), draw(random, p[-1])

    return rounds


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("coins_of_the_first_round", "chain", run, sizes=SIZES, stateful=True)
