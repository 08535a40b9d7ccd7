"""Candidates are tested in another order than that of their drawing."""

from typing import Any

from specsim.conform.museum._frames import recursive, step, without
from specsim.types import Array

WRONG = "Candidates drawn without replacement are sorted by probability before they are tested one after the other."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection without replacement, the likeliest first."""
    return recursive(p, q, sorted((int(x) for x in drafts), key=lambda x: -q[x]), random, after=without)


subject = step(__name__, run, sizes=(2,), scheme="without_replacement")
