"""Hidden states after given layers: those of the library, cached as uncached, and beside the same logits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from helpers.replay import draw_tokens
from helpers.small_models import VOCAB, hf_model, wrapped

from real.models import llama
from real.models.model import LanguageModel, full_logits, full_states

FAST = ["llama", "llama-biased", "qwen2", "mistral", "qwen3"]
LAYERS = (2, 0, 1)  # in any order


@pytest.mark.parametrize("name", FAST)
def test_states_are_the_librarys(name: str) -> None:
    tokens = draw_tokens(VOCAB, 20, 3)
    with torch.no_grad():
        hidden = hf_model(name)(tokens[None], output_hidden_states=True).hidden_states
    logits, states = full_states(wrapped(name, True), tokens, LAYERS)
    expected = torch.stack([hidden[n][0] for n in LAYERS], 1)
    torch.testing.assert_close(states, expected, rtol=0, atol=5e-6)
    torch.testing.assert_close(logits, full_logits(wrapped(name, True), tokens), rtol=0, atol=1e-12)


def test_the_head_reads_the_last_state() -> None:
    model = wrapped("llama-biased", True)
    logits, states = full_states(model, draw_tokens(VOCAB, 9, 0), [2])
    assert model.weights is not None
    head = llama.linear(states[:, 0], model.weights.head, model.weights.head_bias)
    torch.testing.assert_close(head, logits, rtol=0, atol=1e-12)


def difference(model: LanguageModel, slip: int = 0) -> float:
    """Of two texts read in pieces and rolled back, from the same texts read anew; `slip` is a planted fault."""
    a, b = draw_tokens(VOCAB, 12, 1), draw_tokens(VOCAB, 12, 2)
    cache, most = model.cache(2), 0.0
    cache.forward(a[None, :5], 0, [0])
    cache.states(b[None, :3], [1], LAYERS)
    cache.rollback(0, 4)
    for m in (3, 1, 2):
        starts = list(cache.lengths)
        new = torch.stack([text[n + slip : n + slip + m] for text, n in zip((a, b), starts, strict=True)])
        logits, states = cache.states(new, [0, 1], LAYERS)
        for i, (text, n) in enumerate(zip((a, b), starts, strict=True)):
            whole = full_states(model, text, LAYERS)
            for found, expected in zip((logits[i], states[i]), whole, strict=True):
                most = max(most, float((found - expected[n : n + m]).abs().max()))
    return most


@pytest.mark.parametrize("name", FAST)
def test_cached_states_equal_uncached(name: str) -> None:
    assert difference(wrapped(name, True)) < 1e-10


def test_states_of_other_tokens_are_detected() -> None:
    assert difference(wrapped("llama", True), slip=1) > 0.01


def test_states_may_be_trained_on() -> None:
    """Tensors made in inference mode would refuse."""
    _, states = full_states(wrapped("llama", True), draw_tokens(VOCAB, 4, 0), (0, 1, 2))
    weight = torch.ones(states.shape[-1], dtype=states.dtype, requires_grad=True)
    (states @ weight).square().sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None


@pytest.mark.parametrize("layers", [(), (3,), (0, -1), (1.0,)])
def test_layers_that_are_not_there(layers: Any) -> None:
    with pytest.raises(ValueError, match=r"states after layers \(.*\): name some of 0 to 2"):
        full_states(wrapped("llama", True), draw_tokens(VOCAB, 4, 0), layers)


def test_states_need_the_fast_path() -> None:
    for model in (wrapped("gpt2", True), wrapped("llama", False), replace(wrapped("llama", True), weights=None)):
        with pytest.raises(ValueError, match="states of layers are known on the fast path only"):
            full_states(model, draw_tokens(VOCAB, 4, 0), (0,))


def test_states_past_the_context() -> None:
    with pytest.raises(ValueError, match="length 65 exceeds the model's context of 64 positions"):
        full_states(wrapped("llama", True), draw_tokens(VOCAB, 65, 0), (0,))
