"""Exact match on a text that is encoded anew before every target call.

Each call keeps the law of its own tokens. But the target then reads its own words in other tokens than it
wrote: where it can write a text in a way in which it is not encoded, it goes on by another law.

Systems that pass text, and not tokens, from call to call do this, whatever drafts.
"""

from __future__ import annotations

from specsim.exact.tokenizers.methods.exact_match import draft_row, propose
from specsim.exact.tokenizers.tokenizer import Tokenizer, decode, encode

LOSSLESS = False

__all__ = ["LOSSLESS", "context", "draft_row", "propose"]


def context(target: Tokenizer, ids: tuple[int, ...]) -> tuple[int, ...]:
    """Return what the target reads before its next call: the text, encoded anew."""
    return encode(target, decode(target, ids))
