"""String-level exact match (SLEM): a token is kept if it is the one that the target draws.

That is rejection against a law with all its mass on the proposed token, whatever law it came from: it is kept
with probability p(x), and replaced by one of the others otherwise. The released code of TokenTiming does the
same: its draft logits are finite at the proposed token alone.

Timor et al. 2025, arXiv:2502.05202, algorithm 2; Xiao et al. 2025, arXiv:2510.15545, repository
SeabirdShore/TokenTiming at 904b301, `transformers/generation/candidate_generator.py`, lines 868 to 907.
"""

from __future__ import annotations

from collections.abc import Sequence

from specsim.exact.tokenizers.proposals import Proposal, Row, reencoded_proposals
from specsim.exact.tokenizers.tokenizer import Tokenizer

LOSSLESS = True
# The draft's paths, each with its text encoded for the target.
propose = reencoded_proposals


def draft_row(
    proposal: Proposal,
    place: int,
    proposals: Sequence[Proposal],
    target: Tokenizer,
    draft: Tokenizer,
) -> Row:
    """Return the law with all its mass on the proposed token."""
    return tuple(int(token == proposal.tokens[place]) for token in range(len(target.tokens)))
