"""Drafts of another tokenizer: how much is enumerated, and what is said where the tokenizers do not fit."""

from __future__ import annotations

import re
from fractions import Fraction as F
from typing import Any

import pytest

import specsim
from specsim.exact.tokenizers import law, methods
from specsim.exact.tokenizers.proposals import TokenModel
from specsim.exact.tokenizers.tokenizer import Tokenizer, small_tokenizer

SMALL = small_tokenizer(["a", "b"])


def fixed(tokenizer: Tokenizer, *weights: int) -> TokenModel:
    """The same law after every text."""
    return TokenModel(tokenizer, lambda ids: tuple(F(weight, sum(weights)) for weight in weights))


def refuse(ids: tuple[int, ...]) -> Any:
    raise AssertionError(f"asked after {ids}")


def test_as_many_sequences_as_the_limit_are_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(law, "MOST", 4)
    draft = fixed(SMALL, 1, 1)
    assert specsim.across_tokenizers(draft, draft, drafts=2, tokens=2).lossless
    with pytest.raises(ValueError, match="at most 4 are"):
        specsim.across_tokenizers(draft, draft, drafts=3)


def test_too_many_texts_are_refused_before_any_work() -> None:
    target, draft = TokenModel(small_tokenizer(["a", "b", "ab"]), refuse), TokenModel(SMALL, refuse)
    words = (
        r"^tokens is 8: calls may follow 3,280 texts, each with 256 drafts, and at most 65,536 drafts are enumerated"
    )
    with pytest.raises(ValueError, match=words):
        specsim.across_tokenizers(target, draft, drafts=8, tokens=8)


def test_as_many_drafts_as_the_limit_are_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three texts of at most one token, each with two drafts."""
    monkeypatch.setattr(law, "MOST_DRAFTS", 6)
    draft = fixed(SMALL, 1, 1)
    assert specsim.across_tokenizers(draft, draft, drafts=1, tokens=2).lossless
    with pytest.raises(ValueError, match=r"^tokens is 2: calls may follow 3 texts, each with 4 drafts, and at most 6"):
        specsim.across_tokenizers(draft, draft, drafts=2, tokens=2)


@pytest.mark.parametrize("name", methods.names())
def test_a_character_that_the_other_tokenizer_lacks_is_that_of_a_model(name: str) -> None:
    """The draft writes an x, or the target does and the draft goes on behind it."""
    plain, other = fixed(small_tokenizer("a"), 1), fixed(small_tokenizer("ax"), 1, 1)
    if name != "intersection":
        with pytest.raises(ValueError, match=r"^draft's text\[\d\] is 'x', which is no token of target.tokenizer; add"):
            specsim.across_tokenizers(plain, other, name)
    with pytest.raises(
        ValueError, match=r"^target's text\[0\] is 'x', which is no token of draft.tokenizer; add it to"
    ):
        specsim.across_tokenizers(other, plain, name, drafts=1)


def test_the_methods_are_those_that_the_docstring_lists() -> None:
    listed = specsim.across_tokenizers.__doc__.partition("method : str")[2].partition("drafts : int")[0]
    assert re.findall(r'"(\w+)"', listed) == methods.names()
