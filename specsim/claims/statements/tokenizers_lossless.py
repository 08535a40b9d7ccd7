"""Three ways to verify drafts of another tokenizer."""

from __future__ import annotations

from specsim.claims.statements._tokenizers import pair_with_memory, plain_pair
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.tokenizers.law import across_tokenizers

SOURCE = "arXiv:2502.05202"
STATEMENT = (
    "Exact match of strings, rejection by strings and the intersection of two vocabularies keep the target's law "
    "where draft and target have different tokenizers."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    methods = ("exact_match", "string_rejection", "intersection")
    results = {
        name: [across_tokenizers(*pair, name, tokens=3) for pair in (plain_pair(), pair_with_memory())]
        for name in methods
    }
    holds = all(one.token_distance == 0 for made in results.values() for one in made)
    return Settled(
        HOLDS if holds else REFUTED,
        "the law of tokens is the target's with ==, on these two pairs and on 200 random ones (T47). They accept "
        "different numbers of drafts, and neither of the last two is always better. The paper was read as its "
        "abstract, its methods as T47 has them.",
        {f"tokens a call, {name}": str(made[0].tokens_per_call) for name, made in results.items()},
    )
