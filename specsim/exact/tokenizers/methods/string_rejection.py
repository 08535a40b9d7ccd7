"""String-level rejection (SLRS): a token is tested against the probability of its being proposed.

That is the sum over all draft paths whose text, encoded for the target, begins with the tokens kept and this
one. On a large vocabulary the sum is out of reach; here it is taken whole.

Timor et al. 2025, arXiv:2502.05202, algorithm 3.
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
    """Return the law of the proposed token at a place, given the tokens before it and that there is one."""
    before = proposal.tokens[:place]
    masses = [0 * proposal.weight] * len(target.tokens)
    for other in proposals:
        if len(other.tokens) > place and other.tokens[:place] == before:
            masses[other.tokens[place]] += other.weight
    total = sum(masses)
    return tuple(mass / total for mass in masses)
