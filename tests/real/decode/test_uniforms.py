"""The decode loop's own randomness, in whose place forked runs put theirs: texts of `Pair.generate` follow the target's
law with the uniforms that it draws, and no number serves twice, whatever the seed, the text, the position and the use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny_models import tiny_llama
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor
from transformers import PreTrainedTokenizerFast

import real.decode.verifier
import real.pair
from real.decode.draft import LMDraft
from real.decode.loop import Uniforms, decode_batch, keyed
from real.models.model import from_hf, full_logits
from specsim import keyed_uniforms
from specsim.base.arrays import pick
from specsim.testing import assert_law
from specsim.verify.chain import tokenwise

WORDS, PROMPT, LENGTH = ("a", "b"), "a b", 4
Source = Callable[[int, int], Uniforms]  # seed, sequence -> uniforms of a text


@cache
def pair() -> real.pair.Pair:
    """A pair of two words whose texts are far from certain, and far from each other's."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="a"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    target, draft = (from_hf(tiny_llama(len(WORDS), seed=seed, dtype=torch.float64)) for seed in (26, 3))
    return real.pair.Pair(target, draft, PreTrainedTokenizerFast(tokenizer_object=words))


@cache
def goal() -> np.ndarray:
    """Law of the LENGTH tokens after the prompt, by ancestral sampling from an uncached forward."""
    law = []
    for text in product(range(len(WORDS)), repeat=LENGTH):
        rows = full_logits(pair().target, torch.tensor([0, 1, *text])).softmax(-1)[1:-1]
        law.append(float(rows[range(LENGTH), list(text)].prod()))
    return np.array(law)


def assert_generated_law(rule: str, gamma: int, texts: int = 1000, false_alarm: float = 1e-9) -> None:
    """1,000 texts: a false alarm has probability 1e-9 at most, a TV of .32 is missed no more often."""
    runs: Any = pair().generate([PROMPT] * texts, rule=rule, gamma=gamma, max_tokens=LENGTH, seed=5)
    assert_law(np.array([run.tokens for run in runs]) @ [8, 4, 2, 1], goal(), false_alarm=false_alarm)


def assert_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every uniform that reaches the draw or the rule in the blocks of four texts and two seeds is another number."""
    used: Counter[float] = Counter()

    def draw(law: Tensor, u: Tensor) -> Tensor:
        used.update(u.ravel().tolist())
        return pick(law, u)

    def verify(plan: Any, drafts: Any, u: Any) -> Any:
        used.update(u.ravel().tolist())
        return tokenwise.verify(plan, drafts, u)

    rule = SimpleNamespace(prepare=tokenwise.prepare, uniforms=tokenwise.uniforms, verify=verify)
    monkeypatch.setattr(real.writing, "decode_batch", partial(decode_batch, draw=draw))
    monkeypatch.setattr(real.decode.verifier, "decoding_rule", lambda name, params: rule)
    blocks = 0
    for seed, first in product((0, 1), (0, 2)):
        runs: Any = pair().generate([PROMPT] * 2, gamma=3, max_tokens=9, seed=seed, first_key=first)
        blocks += sum(len(run.blocks) for run in runs)
    assert used.total() > 4 * blocks > 80
    assert max(used.values()) == 1, f"{used.total()} uniforms were used, {len(used)} of them different"


@pytest.mark.parametrize(("rule", "gamma"), [("tokenwise", 2), ("block", 2)])
def test_generated_texts_follow_the_targets_law(rule: str, gamma: int) -> None:
    assert_generated_law(rule, gamma)


def test_a_few_texts_follow_the_targets_law() -> None:
    """A third of a second; wrong lines of the uniforms move the law by .24 and more, of which .19 would be seen."""
    assert_generated_law("tokenwise", 2, texts=500, false_alarm=1e-6)


def test_no_uniform_is_used_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_used_once(monkeypatch)


def _used_twice_in_a_block(seed: int, sequence: int) -> Uniforms:
    def source(position: int, count: int) -> Tensor:
        u, gamma = keyed(seed, sequence)(position, count), (count - 1) // 2
        u[gamma : 2 * gamma] = u[:gamma]  # a draft is tested with the number that drew it
        return u

    return source


FAULTS: dict[str, Source] = {
    "one seed": lambda seed, sequence: keyed(0, sequence),
    "one sequence": lambda seed, sequence: keyed(seed, 0),
    "one position": lambda seed, sequence: lambda position, count: keyed(seed, sequence)(0, count),
    "draft and test": _used_twice_in_a_block,
}


@pytest.mark.parametrize("name", FAULTS)
def test_uniforms_used_twice_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real.writing, "keyed", FAULTS[name])
    with pytest.raises(AssertionError, match="of them different"):
        assert_used_once(monkeypatch)


@pytest.mark.parametrize("name", ["one position", "draft and test"])
def test_texts_of_uniforms_used_twice_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real.writing, "keyed", FAULTS[name])
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_generated_law("tokenwise", 2)


def test_drafts_that_share_a_uniform_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = LMDraft.propose

    def shared(self: LMDraft, texts: Any, gamma: int, u: Tensor, *rest: Any) -> tuple[Tensor, ...]:
        return honest(self, texts, gamma, u[:, :1].expand(-1, gamma), *rest)

    monkeypatch.setattr(LMDraft, "propose", shared)
    with pytest.raises(AssertionError, match="from the claimed law"):
        assert_generated_law("tokenwise", 2)
    with pytest.raises(AssertionError, match="of them different"):
        assert_used_once(monkeypatch)


def test_uniforms_of_different_keys_are_different() -> None:
    """Seed, sequence and position each count, whole: 2^40 is not 0, nor is a seed a sequence."""
    keys = list(product((0, 1, 2, 2**40), repeat=3))
    table = np.array([keyed_uniforms(*key, 5) for key in keys])
    assert len(np.unique(table)) == table.size
    again = np.array([keyed_uniforms(*key, 3) for key in reversed(keys)])
    assert (again[::-1] == table[:, :3]).all()  # the first are the same, whenever and however many are asked for
    assert (table >= 0).all()
    assert (table < 1).all()
