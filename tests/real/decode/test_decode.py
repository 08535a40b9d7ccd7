"""`decode` itself, driven through every branch: drafts and decisions fork, the law of the text is summed exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers.decoding import models, run
from helpers.texts import TEXT, difference, forked_runs, forked_text_law, text_law
from helpers.tiny_models import tiny_llama
from hypothesis import given, settings
from hypothesis import strategies as st

from real.decode.blocks import predict_blocks
from real.decode.draft import LMDraft
from real.decode.loop import decode, decode_batch, keyed
from real.decode.score import score
from real.decode.warp import Warping
from real.models.cache import Cache
from real.models.model import from_hf, full_logits
from specsim.verify.chain import block, tokenwise

# Every run of the loop is followed, so the support must be small: 3^3 drafts, or a filter that leaves 2 of 8.
SETTINGS = st.one_of(
    st.tuples(st.just(2), st.integers(1, 3), st.builds(Warping, temperature=st.floats(0.3, 3))),
    st.tuples(st.just(3), st.integers(1, 2), st.builds(Warping, temperature=st.floats(0.3, 3))),
    st.tuples(
        st.integers(4, 8), st.integers(1, 2), st.builds(Warping, temperature=st.floats(0.3, 3), top_k=st.just(2))
    ),
    st.tuples(st.integers(4, 8), st.integers(1, 2), st.builds(Warping, top_p=st.floats(0.2, 0.5))),
)


@pytest.mark.parametrize("examples", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_law_of_decode_is_the_targets(examples: int) -> None:
    @settings(max_examples=examples)
    @given(SETTINGS, st.integers(0, 1000), st.lists(st.integers(0, 1), min_size=1, max_size=4))
    def check(case: tuple[int, int, Warping], seed: int, prompt: list[int]) -> None:
        assert_law_is_the_targets(case, seed, prompt)

    check()


def assert_law_is_the_targets(case: tuple[int, int, Warping], seed: int, prompt: list[int]) -> None:
    vocab, gamma, warping = case
    plain, target, draft = models(vocab, seed)
    law = forked_text_law(target, draft, prompt, gamma, warping)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    uncached = text_law(lambda x: full_logits(target, torch.tensor(x)), prompt, vocab, warping)
    assert difference(law, uncached) < 1e-10
    with torch.no_grad():
        huggingface = text_law(lambda x: plain(torch.tensor([x])).logits[0], prompt, vocab, warping)
    assert difference(law, huggingface) < 1e-6


@pytest.mark.parametrize("chain", [tokenwise, block], ids=["tokenwise", "block"])
@pytest.mark.parametrize("gamma", [1, pytest.param(3, marks=pytest.mark.slow)])  # of two tokens three drafts are asked
def test_eight_tokens(gamma: int, chain: Any) -> None:
    warping = Warping(top_k=2)
    _, target, draft = models(8, seed=3)
    law = forked_text_law(target, draft, [0, 1, 1], gamma, warping, chain=chain)
    assert len(law) == 8
    assert difference(law, text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1, 1], 8, warping)) < 1e-10


@pytest.mark.cuda
def test_law_and_tokens_on_a_gpu() -> None:
    """On the GPU the law is the CPU target's too, and the same uniforms give the same tokens."""
    (_, on_cpu, draft), (_, target, gpu_draft) = models(3, seed=3), models(3, seed=3, device="cuda")
    goal = text_law(lambda x: full_logits(on_cpu, torch.tensor(x)), [0, 1], 3, Warping())
    assert difference(forked_text_law(target, gpu_draft, [0, 1], 2, Warping()), goal) < 1e-10
    for gamma in (0, 3):
        assert run(target, gpu_draft, gamma).tokens == run(on_cpu, draft, gamma).tokens


def _keeps_one_row_too_many(cache: Cache, i: int, length: int) -> None:
    cache.lengths[i] = min(length + 1, cache.lengths[i])


def _forgets_one_row_too_many(cache: Cache, i: int, length: int) -> None:
    cache.lengths[i] = max(length - 1, 0)


def _leaves_a_stale_row(cache: Cache, i: int, length: int) -> None:
    """The pointer moves, but the last kept row is overwritten by the row of a rejected draft."""
    kv = cache.kv
    with torch.inference_mode():
        kv[:, :, i, :, length - 1] = kv[:, :, i, :, cache.lengths[i] - 1]
    cache.lengths[i] = length


@pytest.mark.parametrize("fault", [_keeps_one_row_too_many, _forgets_one_row_too_many, _leaves_a_stale_row])
def test_planted_rollback_faults_are_caught(fault: Callable[[Cache, int, int], None], monkeypatch: Any) -> None:
    warping = Warping()
    _, target, draft = models(3, seed=3)
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], 3, warping)
    assert difference(forked_text_law(target, draft, [0, 1], 2, warping), goal) < 1e-10
    honest = Cache.rollback
    on_target = lambda cache, i, n: (fault if cache._model is target else honest)(cache, i, n)  # noqa: E731
    monkeypatch.setattr(Cache, "rollback", on_target)
    assert difference(forked_text_law(target, draft, [0, 1], 2, warping), goal) > 1e-3


def test_a_drafter_that_reports_another_law_is_caught(monkeypatch: Any) -> None:
    """Drafts drawn at temperature 1, reported at 0.5: the commonest bug in the wild."""
    _, target, draft = models(3, seed=3)
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], 3, Warping())
    honest = LMDraft.propose

    def sharpened(self: LMDraft, *args: Any) -> tuple[torch.Tensor, ...]:
        tokens, laws, logits = honest(self, *args)
        return tokens, laws**2 / (laws**2).sum(-1, keepdim=True), logits

    monkeypatch.setattr(LMDraft, "propose", sharpened)
    assert difference(forked_text_law(target, draft, [0, 1], 1, Warping()), goal) > 1e-3


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(1, 6))
def test_greedy_speculative_text_is_the_greedy_text(seed: int, gamma: int) -> None:
    _, target, draft = models(8, seed)
    greedy = Warping(temperature=0)
    assert run(target, draft, gamma, warping=greedy).tokens == run(target, None, 0, warping=greedy).tokens


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(0, 5), st.integers(1, 12))
def test_blocks_account_for_every_token(seed: int, gamma: int, max_tokens: int) -> None:
    _, target, draft = models(8, seed)
    result = run(target, draft, gamma, max_tokens=max_tokens)
    assert len(result.tokens) == max_tokens
    starts = [2, *itertools.accumulate((b.accepted + 1 for b in result.blocks), initial=2)][1:]
    assert [b.start for b in result.blocks] == starts[:-1]
    assert starts[-1] == 2 + max_tokens
    assert all(0 <= b.accepted <= b.drafted <= gamma for b in result.blocks)
    assert run(target, draft, gamma, max_tokens=max_tokens).tokens == result.tokens  # same key, same text


@pytest.mark.parametrize(("vocab", "gamma"), [(2, 3), (3, 1), (3, 2)])
def test_law_with_a_stop_token(vocab: int, gamma: int) -> None:
    """A stop token may be a draft, a recovered token or the bonus; the text ends there, with the target's law."""
    _, target, draft = models(vocab, seed=5)
    stop = frozenset([1])
    law = forked_text_law(target, draft, [0, 1], gamma, Warping(), stop)
    assert any(len(text) < TEXT for text in law)
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], vocab, Warping(), stop)
    assert difference(law, goal) < 1e-10


@pytest.mark.parametrize("stop", [frozenset(), frozenset([1])], ids=["no stop", "stop"])
@pytest.mark.parametrize("chain", [tokenwise, block], ids=["tokenwise", "block"])
@pytest.mark.parametrize(("vocab", "gamma", "seed"), [(2, 1, 0), (2, 2, 1), (3, 2, 2)])
def test_predicted_target_calls_are_exact(vocab: int, gamma: int, seed: int, chain: Any, stop: frozenset[int]) -> None:
    """Target calls of `decode`, summed over every run, equal the renewal law averaged over target texts (T06)."""
    _, target, draft = models(vocab, seed)
    prompt, warping = [1, 0], Warping(temperature=0.8)
    runs = list(forked_runs(target, draft, prompt, gamma, warping, TEXT, stop, chain))
    measured = sum(weight * len(run.blocks) for run, weight in runs)
    texts = text_law(lambda x: full_logits(target, torch.tensor(x)), prompt, vocab, warping, stop)
    found = [
        (mass, predict_blocks(score(target, draft, prompt, list(y), warping), gamma, chain, ended=len(y) < TEXT))
        for y, mass in texts.items()
    ]
    assert sum(mass * one.blocks for mass, one in found) == pytest.approx(measured, abs=1e-9)
    for n in range(1, gamma + 1):  # and so do the blocks that keep n drafts or more
        kept = sum(weight * sum(one.accepted >= n for one in run.blocks) for run, weight in runs)
        expected = sum(mass * one.hazards[n - 1] * one.tried[n - 1] for mass, one in found)
        assert expected == pytest.approx(kept, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": []}, "prompt is empty"),
        ({"prompt": [0, 8]}, r"prompt\[1\] is token 8, outside the vocabulary 0..7"),
        ({"prompt": [0] * 60}, "60 tokens and max_tokens=12 need 72 positions; the target has a context of 64"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
        ({"gamma": -1}, "gamma must be at least 0, got -1"),
        ({"draft": None}, "gamma=2 needs a draft model"),
        ({"draft": from_hf(tiny_llama(5, seed=1))}, "the target has 8 tokens and the draft 5: load them as a pair"),
    ],
)
def test_bad_values(changes: dict[str, Any], message: str) -> None:
    _, target, draft = models(8, seed=0)
    arguments = {"draft": draft, "gamma": 2, **changes}
    with pytest.raises(ValueError, match=message):
        run(target, arguments.pop("draft"), arguments.pop("gamma"), **arguments)


@pytest.mark.parametrize("prompt", [torch.tensor([1, 2]), [1.5], "text"], ids=["tensor", "float", "text"])
def test_a_prompt_is_a_list_of_ids(prompt: Any) -> None:
    _, target, draft = models(8, seed=0)
    with pytest.raises(TypeError, match="the prompt must be a list of token ids"):
        run(target, draft, 2, prompt=prompt)


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("temperature", [0, 1])
@pytest.mark.parametrize(("side", "gamma"), [("target", 0), ("target", 2), ("draft", 2)])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_logits_without_a_law_stop_the_run(bad: float, side: str, gamma: int, temperature: float, fixed: bool) -> None:
    plain = {"target": tiny_llama(8, seed=0, dtype=torch.float64), "draft": tiny_llama(8, seed=1, dtype=torch.float64)}
    with torch.no_grad():
        plain[side].lm_head.weight[3] = bad
    target, draft = (from_hf(plain[name]) for name in ("target", "draft"))
    with pytest.raises(ValueError, match=rf"block 0: the {side}'s logits at position 2 are not finite .*float64"):
        decode_batch(
            target,
            draft,
            [[1, 2]],
            max_tokens=12,
            gamma=gamma,
            uniforms=[keyed(7, 0)],
            warping=Warping(temperature=temperature),
            fixed=fixed,
        )


@pytest.mark.parametrize("fixed", [False, True])
def test_a_target_that_cannot_read_every_draft(fixed: bool) -> None:
    """The draft proposes tokens that the target has no embedding for; they are rejected, and the run goes on."""
    target = replace(from_hf(tiny_llama(3, seed=6, dtype=torch.float64)), vocab_size=5)
    draft = from_hf(tiny_llama(5, seed=7, dtype=torch.float64))
    for seed in range(10):
        run = decode_batch(
            target, draft, [[1, 2]], max_tokens=12, gamma=3, uniforms=[keyed(seed, 0)], fixed=fixed
        )[0]  # fmt: skip
        assert max(run.tokens) < 3
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [0, 1], 3, Warping())
    assert difference(forked_text_law(target, draft, [0, 1], 1, Warping()), goal) < 1e-10
    with pytest.raises(ValueError, match=r"prompt\[0\] is token 4, outside the vocabulary 0..2"):
        decode(target, draft, [4], max_tokens=3, gamma=1, uniforms=keyed(0, 0))


def test_a_draft_that_cannot_read_every_token_changes_nothing() -> None:
    """Its head is padded with probability 0, what it cannot read is read as 0: the law is still the target's."""
    target = from_hf(tiny_llama(3, seed=6, dtype=torch.float64))
    narrow = replace(from_hf(tiny_llama(2, seed=7, dtype=torch.float64)), vocab_size=3)
    goal = text_law(lambda x: full_logits(target, torch.tensor(x)), [2, 1], 3, Warping())
    assert difference(forked_text_law(target, narrow, [2, 1], 2, Warping()), goal) < 1e-10
    assert score(target, narrow, [2], [2, 1], Warping()).q[0] == 0
