"""Steps without a draft: costs and tokens of looked-up drafts (n-grams, suffixes), which some steps do not find.

With s the share of steps that have a draft, tau and t(m) those of steps that have one, in plain steps:

    S = (1 + s (tau - 1)) / (1 - s + s t(gamma + 1) + overhead)
"""

from __future__ import annotations

from specsim.base import check
from specsim.latency import LatencyModel, Timing
from specsim.lengths.acceptance_record import Acceptance, Tau

LOOKED_UP = ("ngram", "suffix")


def drafted_share(method: str, share: float | None) -> float:
    """Return the share of steps that have a draft; ValueError if looked-up drafts lack it, or others have one.

    method "": costs are declared for an unnamed drafter.
    """
    if share is None and method in LOOKED_UP:
        raise ValueError(
            f"--draft {method} needs --drafted-share, the share of the target calls that had drafts: an acceptance "
            "says nothing of the others. `specsim log` prints it under this name; `specsim log LOG --out FILE` "
            "writes the acceptance for --hazards FILE"
        )
    if share is None:
        return 1.0
    if method and method not in LOOKED_UP and share != 1:
        raise ValueError(
            f"--drafted-share below 1 goes with drafts that are looked up: --draft {' or '.join(LOOKED_UP)}"
        )
    return float(check.scalar(share, "drafted_share", "(0, 1]"))


def mixed_costs(latency: LatencyModel, share: float) -> LatencyModel:
    """Return the costs of a mean step, of which a share has a draft and the others are plain."""
    if share == 1:
        return latency

    # A mean pass is a plain step or one over all tokens; drafting is in the drafted share alone.
    def target(tokens: int, batch: int, context: int) -> Timing:
        """Return the mean of a plain step and a pass over all tokens."""
        plain = latency.target(1, batch, context)
        if tokens == 1:
            return plain
        full = latency.target(tokens, batch, context)
        error = None
        if plain.error is not None and full.error is not None:
            error = (1 - share) * plain.error + share * full.error
        return Timing((1 - share) * plain.value + share * full.value, error)

    def draft(batch: int, context: int) -> Timing:
        """Return the mean time of drafting."""
        step = latency.draft(batch, context)
        return Timing(share * step.value, None if step.error is None else share * step.error)

    words = (
        f"a draft is found in {share:g} of the steps, whatever came before, and the others cost a plain step; where "
        "several texts are decoded together this counts rather too much time"
    )
    return latency._replace(target=target, draft=draft, assumptions=(*latency.assumptions, words))


def mixed_acceptance(acceptance: Acceptance, share: float) -> Acceptance:
    """Return acceptance of a mean step: tau is 1 + s (tau - 1), as if the first draft were both there and accepted."""
    if share == 1:
        return acceptance

    def tau(gamma: int) -> Tau:
        """Return the tokens of a mean step, with their error."""
        mean, error = acceptance.tau(gamma)
        return Tau(1 + share * (mean - 1), share * error)

    def hazards(gamma: int) -> list[float]:
        """Return the hazards with the share as a factor of the first."""
        first, *later = acceptance.hazards(gamma) or [0.0]
        return [share * first, *later][:gamma]

    words = f"{acceptance.words}; where there is a draft, {share:g} of all steps (--drafted-share)"
    return acceptance._replace(tau=tau, hazards=hazards, words=words)
