"""Transferred probabilities: a target token is tested against those of the draft tokens that it covers.

A token that is aligned with one draft token has the draft's whole law there, on the strings that both have;
one that covers several has their product. Equal tokenizers give rejection sampling. With others, what a token
is tested against is not the probability of its being proposed: other paths propose it, too.

As the abstract of TokenTiming (Xiao et al. 2025, arXiv:2510.15545) describes it, with an alignment by
characters. The paper's equations could not be read here; its released code does something else, see
`exact_match`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod

from specsim.exact.tokenizers.proposals import Proposal, Row, reencoded_proposals
from specsim.exact.tokenizers.tokenizer import Tokenizer

LOSSLESS = False
# The draft's paths, each with its text encoded for the target.
propose = reencoded_proposals


def draft_row(
    proposal: Proposal,
    place: int,
    proposals: Sequence[Proposal],
    target: Tokenizer,
    draft: Tokenizer,
) -> Row:
    """Return the draft's law at the first draft token that a token overlaps, with the product at the token itself."""
    token = proposal.tokens[place]
    start, end = _spans(target, proposal.tokens)[place]
    covered = [i for i, (low, high) in enumerate(_spans(draft, proposal.path)) if low < end and high > start]
    probability = dict(zip(draft.tokens, proposal.rows[covered[0]], strict=True))
    row = [probability.get(word, 0) for word in target.tokens]
    row[token] = prod(proposal.rows[i][proposal.path[i]] for i in covered)
    return tuple(row)


def _spans(tokenizer: Tokenizer, ids: Sequence[int]) -> list[tuple[int, int]]:
    """Return where each token begins and ends in the text, in characters."""
    ends = list(accumulate(len(tokenizer.tokens[i]) for i in ids))
    return list(zip([0, *ends], ends, strict=False))
