"""The residual of one round is kept for the next."""

from collections.abc import Callable
from functools import partial

from specsim.conform.museum._frames import chain, tokenwise
from specsim.conform.museum._parts import residual
from specsim.types import Array

WRONG = "The residual is put into a buffer at the first rejection of a text, and later rejections find it there."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "rounds"


def run() -> Callable[..., tuple[int, int]]:
    """Begin a text, whose residual is not known yet."""
    held: list[Array] = []

    def correction(p: Array, q: Array, i: int, x: int) -> Array:
        held.append(residual(p[i], q[i]))
        return held[0]

    return partial(tokenwise, correction=correction)


subject = chain(__name__, run, stateful=True)
