"""The divergence that a rejection of a greedy draft needs."""

from __future__ import annotations

import math

from specsim.claims.statements._bank import laws, shown
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.types import Array

SOURCE = "arXiv:2606.30265"
STATEMENT = (
    "Under greedy verification a draft whose KL divergence is below a bound, which the target's two likeliest tokens "
    "decide, is accepted; of all targets with one margin, that with two tokens has the least bound."
)

# Probabilities of targets and of drafts are multiples of these.
_PARTS, _FINE = 6, 24
# What rounding leaves, in nats.
_ROUNDING = 1e-12


def _kl(p: Array, q: Array) -> float:
    """Return KL(p || q) in nats."""
    return sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))


def _bound(first: float, second: float) -> float:
    """Return the least KL(p || q) of a q in which the second token is as likely as the first.

    It halves the mass of both between them, and leaves all others as they are.
    """
    half = (first + second) / 2
    return first * math.log(first / half) + second * math.log(second / half)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    gaps, margins_of = [], []
    for p in laws(3, _PARTS):
        first, second = sorted(map(float, p), reverse=True)[:2]
        bound, margin = _bound(first, second), first - second
        # Drafts in which another token than the target's likeliest is as likely as that one.
        place = int(p.argmax())
        rejected = [_kl(p, q) for q in laws(3, _FINE) if q[place] <= max(x for i, x in enumerate(q) if i != place)]
        gaps.append(min(rejected) - bound)
        margins_of.append((bound, _bound((1 + margin) / 2, (1 - margin) / 2)))
    holds = min(gaps) >= -_ROUNDING and all(bound >= least - _ROUNDING for bound, least in margins_of)
    example = next(laws(3, _PARTS))
    bound, least = margins_of[0]
    return Settled(
        HOLDS if holds else REFUTED,
        "the least divergence moves the two likeliest tokens to their mean and nothing else; no rejected draft of a "
        "fine grid has less. The paper, which has bounds for relaxed rules and trees, too, was read as its abstract.",
        {
            "example of a target": shown(example),
            "its bound, and that of two tokens with its margin": f"{bound:.4f}, {least:.4f} nats",
            "targets, drafts tried": f"{len(list(laws(3, _PARTS)))}, {len(list(laws(3, _FINE)))}",
            "least divergence of a rejected draft, less the bound": f"{abs(min(gaps)):.4f} to {max(gaps):.4f} nats",
        },
    )
