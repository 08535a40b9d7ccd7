"""Checks that texts fit the models that are to write them."""

from __future__ import annotations

from collections.abc import Sequence

from real.decode.proposer import Drafter
from real.models.model import LanguageModel
from specsim.base import check


def check_fit(model: LanguageModel, prompt: list[int], max_tokens: int, name: str) -> None:
    """ValueError for an empty prompt, foreign ids, or a text that would not fit into the context."""
    # A list of token ids that the model knows.
    check.integer(max_tokens, "max_tokens", 1)
    if not isinstance(prompt, list) or not all(isinstance(t, int) for t in prompt):
        other = [type(t).__name__ for t in prompt if not isinstance(t, int)] if isinstance(prompt, list) else []
        got = f"a list with {other[0]}" if other else type(prompt).__name__
        raise TypeError(f"the prompt must be a list of token ids (int), got {got}")
    if not prompt:
        raise ValueError("the prompt is empty: it must have at least one token")
    known = min(model.vocab_size, model.embeddings) if name == "target" else model.vocab_size
    bad = [(i, t) for i, t in enumerate(prompt) if not 0 <= t < known]
    if bad:
        raise ValueError(f"prompt[{bad[0][0]}] is token {bad[0][1]}, outside the vocabulary 0..{known - 1}")
    # Room for the whole text.
    if len(prompt) + max_tokens > model.context:
        raise ValueError(
            f"a prompt of {len(prompt)} tokens and max_tokens={max_tokens} need {len(prompt) + max_tokens} "
            f"positions; the {name} has a context of {model.context}"
        )


def check_batch(
    target: LanguageModel,
    draft: LanguageModel | None,
    prompts: Sequence[list[int]],
    max_tokens: int,
    gamma: int,
    sources: int,
    proposer: Drafter | None = None,
) -> None:
    """ValueError unless these texts can be drafted and verified, each with a source of uniforms."""
    # One source of uniforms for each prompt, and at most one drafter.
    if len(prompts) == 0 or sources != len(prompts):
        raise ValueError(f"got {len(prompts)} prompts and {sources} sources of uniforms: one each, at least one")
    if draft is not None and proposer is not None:
        raise ValueError("draft and proposer are both given: one of them drafts")
    if gamma and draft is None and proposer is None:
        raise ValueError(f"gamma={gamma} needs a draft model")
    # Texts that fit every model.
    for prompt in prompts:
        check_fit(target, prompt, max_tokens, "target")
        if gamma and draft is not None:
            check_fit(draft, prompt, max_tokens, "draft")
        longest, most = len(prompt) + max_tokens, None if proposer is None else proposer.context
        if gamma and most is not None and longest > most:
            raise ValueError(f"a text of {longest} positions is too long: the proposer has a context of {most}")
    if proposer is not None and proposer.longest is not None and gamma > proposer.longest:
        raise ValueError(f"gamma={gamma} is too long: the drafter makes {proposer.longest} drafts of a block at most")
    # Models that go together.
    if gamma and proposer is not None and proposer.layers and target.weights is None:
        raise ValueError(f"the proposer reads layers {proposer.layers} of the target, which is not on the fast path")
    if gamma and draft is not None and draft.vocab_size != target.vocab_size:
        raise ValueError(
            f"the target has {target.vocab_size} tokens and the draft {draft.vocab_size}: load them as a pair"
        )
