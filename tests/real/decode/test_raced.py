"""Coupled rules in the decode loop: a text is that of its races, whoever drafts and however long blocks are."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny_models import tiny_llama

import real
from real import TINY
from real.decode.blocks import predict_blocks
from real.decode.loop import Decoded, at_tokens, decode_batch, keyed
from real.decode.score import score
from real.decode.warp import Warping
from real.models.model import LanguageModel, from_hf, full_logits
from specsim.base.uniforms import keyed_stream
from specsim.control import threshold
from specsim.verify.coupled._race import exponentials, first
from specsim.verify.lookup import decoding_rule

VOCAB, PROMPTS = 8, [[1, 2], [3], [5, 0, 4]]


@cache
def models() -> list[LanguageModel]:
    """A target and two drafts."""
    return [from_hf(tiny_llama(VOCAB, seed=i, layers=1 + (i == 0), dtype=torch.float64)) for i in range(3)]


def texts(gamma: int, draft: int = 1, rule: str = "race", tokens: int = 12, **more: Any) -> list[Decoded]:
    told: dict[str, Any] = {"max_tokens": tokens, "gamma": gamma, "rule": decoding_rule(rule), **more}
    uniforms = [keyed(7, i) for i in range(len(PROMPTS))]
    return decode_batch(models()[0], models()[draft] if gamma else None, PROMPTS, uniforms=uniforms, **told)


def test_a_text_is_that_of_its_races() -> None:
    """Token by token from the target's laws alone, each with the race of its place in the text."""
    plain = texts(0)
    for i, prompt in enumerate(PROMPTS):
        text, stream = list(prompt), keyed_stream(7, i)
        for _ in range(12):
            law = full_logits(models()[0], torch.tensor(text))[-1].softmax(-1).numpy()
            text.append(int(first(law, exponentials(stream(len(text), VOCAB)))))
        assert text[len(prompt) :] == plain[i].tokens


@pytest.mark.parametrize("warping", [Warping(), Warping(0.5, top_k=3, repetition_penalty=1.3), Warping(0)])
def test_nobody_who_drafts_changes_a_text(warping: Warping) -> None:
    wanted = [run.tokens for run in texts(0, warping=warping)]
    for gamma, draft, rule in ((1, 1, "race"), (2, 2, "list_race"), (5, 1, "ranked_race")):
        assert [run.tokens for run in texts(gamma, draft, rule, warping=warping)] == wanted
    own = texts(3, draft=0, warping=warping)  # the target drafts for itself, and is right each time
    assert [run.tokens for run in own] == wanted
    assert [len(run.blocks) for run in own] == [3, 3, 3]


def test_stops_and_controllers_change_no_token() -> None:
    wanted = [run.tokens for run in texts(0, stop=at_tokens([1, 6]))]
    assert [run.tokens for run in texts(4, stop=at_tokens([1, 6]))] == wanted
    free = [run.tokens for run in texts(0)]
    controlled = texts(4, controller=threshold)
    assert [run.tokens for run in controlled] == free
    assert len({block.drafted for run in controlled for block in run.blocks[:-1]}) > 1


def test_tau_is_predicted_from_texts_and_measured() -> None:
    """160 texts: blocks less those that their scores predict, 5 standard errors."""
    target, draft = models()[:2]
    rule = decoding_rule("race")
    off = []
    for start in range(0, 160, 40):
        uniforms = [keyed(3, start + i) for i in range(40)]
        runs = decode_batch(target, draft, [[1, 2]] * 40, max_tokens=10, gamma=3, uniforms=uniforms, rule=rule)
        for run in runs:
            found = predict_blocks(score(target, draft, [1, 2], run.tokens, Warping(), [rule]), 3, rule)
            off.append(len(run.blocks) - float(found.blocks))
    spread = float(np.std(off) / np.sqrt(len(off)))
    assert abs(np.mean(off)) < 5 * spread
    assert spread < 0.2


def test_what_cannot_race_is_refused() -> None:
    pair = real.load(TINY / "target", TINY / "draft")
    with pytest.raises(ValueError, match=r"^fixed: a coupled rule cannot run in fixed shapes"):
        texts(2, fixed=True)
    with pytest.raises(ValueError, match=r"^rule 'race' is a coupled rule, not a tree rule; "):
        pair.generate("x = 1\n", rule="race", parents=[-1, 0])
    with pytest.raises(ValueError, match=r"^rule 'race' is a coupled rule: its tau needs whole rows"):
        pair.score("x = 1\n", prompt="def f():\n").tau(2, rule="race")
