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
    return TARGET if sum(text) % 2 else DRAFT


def settle() -> Settled:
    found = {k: fill(model, "any_subset", length=LENGTH, params={"slots": k, "bonus": False}) for k in (2, 3)}
    kept = all(one.law == text_law(model, length=LENGTH) for one in found.values())
    few = all(one.passes <= LENGTH for one in found.values())
    return Settled(
        HOLDS if kept and few else REFUTED,
        "exactly, over all that can happen; for one slot at a time it needs the bonus token, which the paper has not.",
        {f"passes for {LENGTH} tokens, {k} slots": str(one.passes) for k, one in found.items()},
    )
