"""A repetition penalty and a bias in the decode loop and in scores: the law of the text, and every row that is told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.decoding import models, run
from helpers.texts import TEXT, Law, difference, forked_text_law
from transformers import RepetitionPenaltyLogitsProcessor

from real.decode.score import laws
from real.decode.warp import Warping, seen_rows
from real.models.model import LanguageModel, full_logits
from specsim.verify.chain import tokenwise


def test_law_with_a_repetition_penalty_and_a_bias() -> None:
    """Applied at every position of a block with what stands before it there, to both models: transformers' processor
    on the uncached target, step by step, gives the law."""
    _, target, draft = models(3, seed=4)
    warping = Warping(repetition_penalty=1.7, logit_bias=((2, 0.5),), temperature=0.9)
    prompt, law = [0, 0], {(): 1.0}
    penalty, bias = RepetitionPenaltyLogitsProcessor(1.7), torch.tensor([0.0, 0.0, 0.5], dtype=torch.float64)
    for _ in range(TEXT):
        longer: Law = {}
        for text, mass in law.items():
            context = torch.tensor([*prompt, *text])
            p = (penalty(context[None], full_logits(target, context)[-1:] + bias)[0] / 0.9).softmax(-1)
            longer |= {(*text, y): mass * float(p[y]) for y in range(3)}
        law = longer
    assert difference(forked_text_law(target, draft, prompt, 2, warping), law) < 1e-10
    assert difference(forked_text_law(target, draft, prompt, 2, Warping(temperature=0.9)), law) > 1e-2


def assert_rows_are_penalised() -> None:
    """Both models' rows, in the loop and in a score, are transformers' own at every position, with what is before it.

    The law of the text says nothing of the draft's rows: a draft that penalises other tokens costs only acceptance.
    """
    vocab, prompt, gamma = 6, [0, 0, 3], 4
    _, target, draft = models(vocab, seed=4)
    warping, penalty = Warping(repetition_penalty=1.7, temperature=0.9), RepetitionPenaltyLogitsProcessor(1.7)
    told: list[tuple[Any, ...]] = []

    def prepare(p: Any, q: Any) -> Any:
        told.append((p[0], q[0]))
        return tokenwise.prepare(p, q)

    def verify(plan: Any, drafts: Any, u: Any) -> Any:
        told[-1] += (drafts[0].tolist(),)
        return tokenwise.verify(plan, drafts, u)

    def row(model: LanguageModel, context: list[int]) -> np.ndarray:
        tokens = torch.tensor(context)
        return (penalty(tokens[None], full_logits(model, tokens)[-1:])[0] / 0.9).softmax(-1).numpy()

    rule: Any = SimpleNamespace(prepare=prepare, uniforms=tokenwise.uniforms, verify=verify)
    text = run(target, draft, gamma, prompt=prompt, warping=warping, rule=rule)
    for one, (p, q, drafts) in zip(text.blocks, told, strict=True):
        before = [*prompt, *text.tokens][: one.start]
        for i in range(one.drafted + 1):
            assert np.allclose(p[i], row(target, [*before, *drafts[:i]]), atol=1e-10)
            assert i == one.drafted or np.allclose(q[i], row(draft, [*before, *drafts[:i]]), atol=1e-10)
    for found, model in zip(laws(target, draft, prompt, text.tokens, warping), (target, draft), strict=True):
        wanted = [row(model, [*prompt, *text.tokens[:i]]) for i in range(len(text.tokens))]
        assert np.allclose(found, wanted, atol=1e-10)


def test_rows_under_a_repetition_penalty() -> None:
    assert_rows_are_penalised()


def _draft_forgets_its_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "scatter", lambda w, dim, index, value: w)


def _score_sees_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(seen: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return seen_rows(seen, tokens)[:, -1:].expand(-1, tokens.shape[1], -1)

    monkeypatch.setattr("real.decode.score.seen_rows", whole)


def _score_sees_one_token_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(seen: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        return torch.cat([seen[:, None], seen_rows(seen, tokens)[:, :-1]], 1)

    monkeypatch.setattr("real.decode.score.seen_rows", late)


@pytest.mark.parametrize("plant", [_draft_forgets_its_drafts, _score_sees_the_whole_text, _score_sees_one_token_late])
def test_rows_with_another_penalty_are_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError):
        assert_rows_are_penalised()
