"""Acceptance pooled over requests, and the mean of the requests' own."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import F
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled

SOURCE = "vllm-project/vllm#42508"
STATEMENT = (
    "The mean of the requests' acceptance lengths ranks drafters as their tokens per target call do (often assumed)."
)

# Two requests of 4 and 9 tokens: target calls with one drafter, and with another.
_TOKENS, _FIRST, _SECOND = (4, 9), (1, 9), (2, 5)


def _pooled(calls: tuple[int, ...]) -> Fraction:
    """Return tokens per target call of all requests."""
    return F(sum(_TOKENS), sum(calls))


def _mean(calls: tuple[int, ...]) -> Fraction:
    """Return the mean over requests of their tokens per target call."""
    return sum((F(tokens, n) for tokens, n in zip(_TOKENS, calls, strict=True)), F(0)) / len(calls)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    by_mean, by_pool = _mean(_FIRST) > _mean(_SECOND), _pooled(_FIRST) > _pooled(_SECOND)
    return Settled(
        REFUTED if by_mean != by_pool else HOLDS,
        "two requests are enough. The two differ by a covariance of a request's length and its calls (T43): one short "
        "request that is drafted well lifts the mean and hardly the throughput.",
        {
            "tokens of two requests": "4, 9",
            "first drafter: calls, mean, pooled": f"1, 9: {_mean(_FIRST)}, {_pooled(_FIRST)}",
            "second drafter: calls, mean, pooled": f"2, 5: {_mean(_SECOND)}, {_pooled(_SECOND)}",
        },
    )
