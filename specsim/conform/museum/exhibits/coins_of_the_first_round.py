"""Every round of a text has the same coins."""

from collections.abc import Callable
from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
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

    def accepts(p: Array, q: Array, i: int, x: int, random: Any) -> Any:
        return coins[i] * q[i, x] < p[i, x]

    def rounds(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
        coins.extend(random.random() for _ in drafts[len(coins) :])
        return tokenwise(p, q, drafts, random, accepts=accepts)

    return rounds


subject = chain(__name__, run, stateful=True)
