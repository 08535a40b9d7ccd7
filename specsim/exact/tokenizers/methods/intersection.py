"""Token-level intersection (TLI): only tokens that both tokenizers have are drafted.

The draft's law is restricted to them, and that restricted law is what a token is tested against
(`specsim.translated_draft`). No token outside is ever drafted (`specsim.vocabulary_bound`).

Timor et al. 2025, arXiv:2502.05202, algorithm 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from specsim.exact.tokenizers.proposals import Proposal, Row, TokenModel, paths
from specsim.exact.tokenizers.tokenizer import Tokenizer

LOSSLESS = True


def propose(target: Tokenizer, draft: TokenModel, text: str, drafts: int) -> list[Proposal]:
    """Return the paths of shared tokens, each with the target's ids of the same strings."""
    place_of = {word: i for i, word in enumerate(target.tokens)}
    shared = [i for i, word in enumerate(draft.tokenizer.tokens) if word in place_of]
    words = draft.tokenizer.tokens
    return [
        proposal._replace(tokens=tuple(place_of[words[token]] for token in proposal.path))
        for proposal in paths(draft, text, drafts, shared)
    ]


def draft_row(
    proposal: Proposal,
    place: int,
    proposals: Sequence[Proposal],
    target: Tokenizer,
    draft: Tokenizer,
) -> Row:
    """Return the draft's law at a place, among shared tokens, in the target's ids."""
    probability = dict(zip(draft.tokens, proposal.rows[place], strict=True))
    return tuple(probability.get(word, 0) for word in target.tokens)
