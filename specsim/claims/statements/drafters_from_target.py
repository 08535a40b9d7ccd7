"""The acceptance of drafters that did not draft, from the target's passes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from specsim.claims.statements._bank import F
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.process_law import fill, text_law
from specsim.types import Array, Model

SOURCE = "arXiv:2510.20064"
STATEMENT = "The acceptance of every drafter can be evaluated from the passes of the target, whichever drafter drafts."

_LENGTH = 3
_HALF = np.array([F(1, 2), F(1, 2)])


def _target(text: tuple[int, ...]) -> Array:
    """The target's law: it likes to repeat itself."""
    return np.array([F(3, 4), F(1, 4)]) if sum(text) % 2 == 0 else np.array([F(1, 4), F(3, 4)])


def _other(text: tuple[int, ...]) -> Array:
    """The law of the drafter that is evaluated: it repeats the last token."""
    return np.array([F(2, 3), F(1, 3)]) if not text or text[-1] == 0 else np.array([F(1, 3), F(2, 3)])


def _estimate(law: dict[tuple[int, ...], Fraction]) -> Fraction:
    """Return the mean over texts of a law, and over their places, of the other drafter's acceptance."""
    total = F(0)
    for text, weight in law.items():
        for place in range(len(text)):
            p, q = _target(text[:place]), _other(text[:place])
            total += weight * sum(map(min, p, q), F(0)) / len(text)
    return total


def _written(drafter: Model | Array, rule: str, lossy: str | None = None) -> Fraction:
    """Return the estimate from texts that the target writes with a drafter and a rule."""
    filled = fill(_target, "left_to_right", length=_LENGTH, rule=rule, draft=drafter, params={"gamma": 2}, lossy=lossy)
    return _estimate(filled.law)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    of_target_alone = _estimate(text_law(_target, length=_LENGTH))
    by_others = {"tokenwise": _written(_HALF, "tokenwise"), "block": _written(_HALF, "block")}
    by_lossy = _written(_HALF, "typical", lossy="typical")
    if set(by_others.values()) != {of_target_alone}:
        return Settled(REFUTED, "the estimate depends on the drafter.", {k: str(v) for k, v in by_others.items()})
    return Settled(
        UNDER,
        "texts must have the target's law, and a drafter's law must follow from the text. Then the rows of a pass over "
        "it give every drafter's acceptance without bias, which texts of a lossy rule do not. The paper was read as "
        "its abstract.",
        {"acceptance": str(of_target_alone)}
        | {f"estimated, {rule} verification of another drafter": str(value) for rule, value in by_others.items()}
        | {"estimated, typical acceptance of another drafter": str(by_lossy)},
    )
