"""Trees that branch late, against as many drafts that branch at the root."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import Case, shown, smallest
from specsim.claims.statements._verdict import HOLDS, REFUTED, UNDER, Settled
from specsim.exact.tree import expected_kept
from specsim.types import Array

SOURCE = "arXiv:2602.16994"
STATEMENT = "A path whose end branches keeps more drafts than as many drafts that branch at the root."

# Two paths of two from the root; one path of two with two more below its end.
_FROM_ROOT, _DELAYED = (-1, -1, 0, 1), (-1, 0, 1, 1)


def _kept(p: Array, q: Array, parents: tuple[int, ...]) -> Fraction:
    """Return the expected drafts that a walk with the optimal step rule keeps of i.i.d. siblings."""
    kept: Fraction = expected_kept(p, q, rule="tokenwise", step="optimal", parents=parents)
    return kept


def _numbers(case: Case, where: str) -> dict[str, str]:
    """Return a pair of laws and what both trees keep there."""
    return {
        f"{where}: target": shown(case.p),
        f"{where}: draft": shown(case.q),
        f"{where}: delayed": str(_kept(case.p, case.q, _DELAYED)),
        f"{where}: from the root": str(_kept(case.p, case.q, _FROM_ROOT)),
    }


def settle() -> Settled:
    """Compute the verdict on the statement."""
    worse = smallest(lambda p, q: (_kept(p, q, _DELAYED), _kept(p, q, _FROM_ROOT)), (2,))
    better = smallest(lambda p, q: (_kept(p, q, _FROM_ROOT), _kept(p, q, _DELAYED)), (2,))
    if worse is None:
        return Settled(HOLDS, "in every small pair that was tried.", {})
    if better is None:
        return Settled(REFUTED, "no small pair that was tried is for it.", _numbers(worse, "worse"))
    return Settled(
        UNDER,
        "where most first drafts are kept, a longer tree is worth more than a second chance; where few are, the second "
        "chance at the root is. Either tree keeps the target's law (T19). The paper was read as its abstract.",
        _numbers(better, "better") | _numbers(worse, "worse"),
    )
