"""A target and a draft of two tokenizers, on which statements about drafts of another tokenizer are settled."""

from __future__ import annotations

from specsim.claims.statements._bank import F
from specsim.exact.tokenizers.proposals import TokenModel
from specsim.exact.tokenizers.tokenizer import small_tokenizer

# The target writes ab in one token or in two; the draft in two.
_TARGET, _DRAFT = small_tokenizer(["a", "b", "ab"]), small_tokenizer(["a", "b"])


def plain_pair() -> tuple[TokenModel, TokenModel]:
    """Return a pair whose laws are the same after every text."""
    return (
        TokenModel(_TARGET, lambda ids: (F(1, 4), F(1, 4), F(1, 2))),
        TokenModel(_DRAFT, lambda ids: (F(1, 2), F(1, 2))),
    )


def pair_with_memory() -> tuple[TokenModel, TokenModel]:
    """Return a pair whose laws depend on the last token."""
    of_target = {(): (1, 2, 1), (0,): (2, 1, 1), (1,): (1, 1, 2), (2,): (0, 3, 1)}
    of_draft = {(): (1, 3), (0,): (3, 1), (1,): (2, 2)}
    return (
        TokenModel(_TARGET, lambda ids: tuple(F(part, 4) for part in of_target[ids[-1:]])),
        TokenModel(_DRAFT, lambda ids: tuple(F(part, 4) for part in of_draft[ids[-1:]])),
    )
