"""The table of ways to verify drafts of another tokenizer, computed on one pair."""

from __future__ import annotations

from specsim.claims.statements._tokenizers import pair_with_memory
from specsim.exact.tokenizers import methods
from specsim.exact.tokenizers.law import across_tokenizers
from specsim.report.text import markdown


def table() -> str:
    """Return one row for each method: what a call gives, and how far the laws are from the target's."""
    rows = [["method", "drafts kept a call", "tokens a call", "distance of tokens", "distance of texts", "lossless"]]
    for name in sorted(methods.names(), key=lambda name: not methods.find(name).LOSSLESS):
        made = across_tokenizers(*pair_with_memory(), name, drafts=2, tokens=4)
        numbers = (made.accepted, made.tokens_per_call, made.token_distance, made.text_distance)
        verdict = "yes" if made.lossless else "**no**"
        rows.append([f"`{name}`", *(f"{float(number):.4f}" for number in numbers), verdict])
    return markdown(rows)
