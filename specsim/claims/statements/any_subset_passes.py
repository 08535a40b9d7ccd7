"""The passes of any-subset decoding, against its tokens."""

from __future__ import annotations

from specsim.claims.statements._bank import DRAFT, TARGET
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.process_law import fill, text_law
from specsim.types import Array

SOURCE = "arXiv:2504.20456"
STATEMENT = "Any-subset speculative decoding keeps the law and never takes more passes than tokens."
LENGTH = 3


def model(text: tuple[int, ...]) -> Array:
    """The law after a text: one of two, by the parity of its tokens' sum."""
    return TARGET if sum(text) % 2 else DRAFT


def settle() -> Settled:
    """Compute the verdict on the statement."""
    runs = {k: fill(model, "any_subset", length=LENGTH, params={"slots": k, "bonus": False}) for k in (2, 3)}
    same_law = all(run.law == text_law(model, length=LENGTH) for run in runs.values())
    few_passes = all(run.passes <= LENGTH for run in runs.values())
    return Settled(
        HOLDS if same_law and few_passes else REFUTED,
        "exactly, over all that can happen; for one slot at a time it needs the bonus token, which the paper has not.",
        {f"passes for {LENGTH} tokens, {k} slots": str(run.passes) for k, run in runs.items()},
    )
