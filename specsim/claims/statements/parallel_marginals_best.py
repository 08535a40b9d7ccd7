"""The target's own marginals as the drafts of one pass, against the best that a drafter of one pass can be."""

from __future__ import annotations

from itertools import product
from typing import Any

from specsim.bounds.one_pass import one_pass_ceiling
from specsim.claims.statements._bank import laws, shown
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.chain import expected_tokens
from specsim.exact.one_pass import one_pass_draft
from specsim.types import Array

SOURCE = "arXiv:2602.06036, arXiv:2504.18583"
STATEMENT = (
    "Often concluded: a drafter of one pass that cross-entropy has made the target's law at each position keeps the "
    "most drafts that a drafter of one pass can."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # Targets that copy the first of two tokens: smallest denominator first.
    for size in (2, 3, 4):
        for first in laws(2, size):
            target = _copied(first)
            trained = expected_tokens(target, one_pass_draft(target, gamma=2), gamma=2)
            best = one_pass_ceiling(target, gamma=2)
            if trained < best.tau:
                return Settled(
                    REFUTED,
                    "tokens that copy each other are drafted better by a bet than by the mean: at each place a median "
                    "of the target's laws is best (T60). Longer blocks lose any share. The papers were read as their "
                    "abstracts, which do not say this.",
                    {
                        "first token, then copied": shown(first),
                        "marginals, 2 drafts": str(trained),
                        "best, 2 drafts": str(best.tau),
                        "best second law": shown(best.rows[1]),
                    },
                )
    return Settled(UNDER, "the small targets that were tried, which have no counterexample.", {})


def _copied(first: Array) -> Any:
    """Return the model whose first token has this law and whose other tokens are the same again."""
    certain = {a: first * 0 + [int(a == b) for b in (0, 1)] for (a,) in product((0, 1))}
    return lambda text: certain[text[0]] if text else first
