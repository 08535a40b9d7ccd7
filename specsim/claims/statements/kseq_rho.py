"""K-SEQ's parameter beyond its root: fewer drafts pass their test, more tokens are drafts."""

from __future__ import annotations

from fractions import Fraction

from specsim.claims.statements._bank import Case, F, pairs, shown, smallest
from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.exact.step import acceptance_rate
from specsim.types import Array

SOURCE = "arXiv:2310.15141"
STATEMENT = "The smallest valid gamma, the root, is the best for K-SEQ."
# Slack for the root, which is known to the last bit only.
SLACK = F(1, 10**9)
# Number K of drafts; gamma = K is valid for all laws.
DRAFTS = 2


def passes(p: Array, q: Array, rho: Fraction) -> Fraction:
    """Probability that a draft passes its test."""
    return F(1 - (1 - sum(min(b, a / rho) for a, b in zip(p, q, strict=True))) ** DRAFTS)


def hits(p: Array, q: Array, rho: Fraction | None) -> Fraction:
    """Probability that the token is a draft; `rho` None stands for the root."""
    params = None if rho is None else {"rho": rho}
    return F(acceptance_rate(p, q, rule="kseq", num_drafts=DRAFTS, params=params))


def settle() -> Settled:
    """Compute the verdict on the statement."""
    more = [passes(p, q, F(DRAFTS)) - passes(p, q, F(5, 4)) for p, q in pairs(parts=4)]
    case = smallest(lambda p, q: (hits(p, q, None) + SLACK, hits(p, q, F(DRAFTS))))
    if max(more) > 0 or min(more) == 0 or case is None:
        return Settled(REFUTED, "passes do not fall with gamma, or hits do not rise.", {})
    return Settled(
        UNDER,
        "passes are meant, which fall with gamma. Of the hits, which a transport plan maximises and a tree follows, "
        "gamma = K can have more: the residual then gives mass to drafts that failed (T11).",
        {"target": shown(case.p), "draft": shown(case.q)} | _at(case),
    )


def _at(case: Case) -> dict[str, str]:
    """The hits at both parameters, in words."""
    return {"hits, gamma = 2": str(case.stated), "hits, root": f"{float(case.value - SLACK):.6f}"}
