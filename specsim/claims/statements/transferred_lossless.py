"""Probabilities that an alignment carries from the draft's tokens to the target's."""

from __future__ import annotations

from specsim.claims.statements._tokenizers import plain_pair
from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.exact.tokenizers.law import across_tokenizers

SOURCE = "arXiv:2510.15545"
STATEMENT = "Draft probabilities that are transferred to the target's tokens by an alignment keep sampling lossless."


def settle() -> Settled:
    """Compute the verdict on the statement."""
    transferred = across_tokenizers(*plain_pair(), "transferred", tokens=1)
    as_released = across_tokenizers(*plain_pair(), "exact_match", tokens=1)
    always = transferred.token_distance == 0 == as_released.token_distance
    return Settled(
        HOLDS if always else UNDER,
        "the released code tests each token against a law with all its mass on it, which is exact match and lossless; "
        "a token tested against the product of the draft tokens that it covers is not, since other drafts propose it, "
        "too (T47). The paper was read as its abstract and its code.",
        {
            "total variation, transferred": str(transferred.token_distance),
            "total variation, as released": str(as_released.token_distance),
        },
    )
