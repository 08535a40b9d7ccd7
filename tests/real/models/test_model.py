"""Cached runs equal uncached ones on both paths, and what cannot run is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers import tiny_models as tiny
from helpers.replay import alone, draw_tokens, replay_error
from helpers.small_models import BUILD, CONTEXT, VOCAB, hf_model, wrapped
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertConfig, FalconConfig, JambaConfig, MambaConfig

from real.decode.loop import decode, keyed
from real.models import llama, memory, weights
from real.models.model import from_hf, full_logits

FAST = ["llama", "llama-biased", "qwen2", "mistral", "qwen3"]
# Hugging Face rounds norms to float32 even in float64 models, so its own path agrees only to that.
RUNS = [(name, True, 1e-10) for name in FAST] + [(name, False, 2e-6) for name in BUILD]

steps = st.lists(st.tuples(st.integers(1, 6), st.integers(0, 8)), min_size=1, max_size=8)


@pytest.mark.parametrize(("name", "fast", "tolerance"), RUNS)
@settings(max_examples=60, deadline=None)
@given(steps=steps, seed=st.integers(0, 10**6))
def test_cached_equals_uncached(
    name: str, fast: bool, tolerance: float, steps: list[tuple[int, int]], seed: int
) -> None:
    assert replay_error(wrapped(name, fast), alone(steps), seed) < tolerance


ragged = st.lists(
    st.tuples(st.sets(st.integers(0, 2), min_size=1).map(sorted), st.integers(1, 6), st.integers(0, 8)),
    min_size=1,
    max_size=10,
)


@pytest.mark.parametrize(("name", "fast", "tolerance"), RUNS)
@settings(max_examples=40, deadline=None)
@given(steps=ragged, seed=st.integers(0, 10**6))
def test_a_ragged_batch_equals_uncached(
    name: str, fast: bool, tolerance: float, steps: list[tuple[list[int], int, int]], seed: int
) -> None:
    assert replay_error(wrapped(name, fast), steps, seed, batch=3) < tolerance


@pytest.mark.parametrize(("name", "fast", "tolerance"), RUNS)
def test_one_by_one_up_to_the_context(name: str, fast: bool, tolerance: float) -> None:
    assert replay_error(wrapped(name, fast), alone([(1, 0)] * CONTEXT), 0) < tolerance


@pytest.mark.parametrize(("name", "fast", "tolerance"), RUNS)
def test_a_stale_row_is_detected(name: str, fast: bool, tolerance: float) -> None:
    steps = alone([(6, 3), (2, 1), (3, 0)])
    assert replay_error(wrapped(name, fast), steps, 0) < tolerance
    assert replay_error(wrapped(name, fast), steps, 0, slip=1) > 0.01


def test_store_grows_past_its_first_capacity() -> None:
    model = from_hf(tiny.tiny_llama(VOCAB, context=600, dtype=torch.float64))
    assert replay_error(model, alone([(200, 0), (60, 10), (1, 0), (300, 20), (50, 0)]), 0) < 1e-10


@pytest.mark.parametrize("name", BUILD)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 5e-6), (torch.float32, 2e-5)])
def test_both_paths_equal_the_plain_forward(name: str, dtype: torch.dtype, tolerance: float) -> None:
    tokens = draw_tokens(VOCAB, 40, 7)
    with torch.no_grad():
        expected = hf_model(name, dtype)(tokens[None]).logits[0]
    assert expected.std() > 1  # clearly non-uniform laws, or agreement would mean little
    for fast in (True, False):
        logits = full_logits(wrapped(name, fast, dtype), tokens)
        assert logits.dtype == dtype
        torch.testing.assert_close(logits, expected, rtol=0, atol=tolerance * float(expected.abs().max()))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2"])
def test_half_precision_stays_near(name: str, dtype: torch.dtype) -> None:
    tokens = draw_tokens(VOCAB, 20, 3)
    rough, exact = (full_logits(wrapped(name, True, d), tokens) for d in (dtype, torch.float64))
    assert rough.dtype == dtype
    assert (rough - exact).abs().mean() < (0.1 if dtype == torch.bfloat16 else 0.015)


@pytest.mark.cuda
@pytest.mark.parametrize(("name", "fast", "tolerance"), RUNS)
def test_cuda_equals_cpu(name: str, fast: bool, tolerance: float) -> None:
    model = from_hf(BUILD[name](seed=1, dtype=torch.float64).to("cuda"), fast=fast)
    tokens, cache = draw_tokens(VOCAB, 20, 0), model.cache()
    cache.forward(tokens[None, :12], 0)
    cache.rollback(0, 9)
    cached = cache.forward(tokens[None, 9:].cuda(), 11)[0].cpu()
    torch.testing.assert_close(cached, full_logits(model, tokens)[9:].cpu(), rtol=0, atol=tolerance)
    torch.testing.assert_close(cached, full_logits(wrapped(name, fast), tokens)[9:], rtol=0, atol=1e-5)


def test_rows_are_the_last_ones_and_free_to_change() -> None:
    tokens = draw_tokens(VOCAB, 9, 0)
    for name, fast in (("llama", True), ("gpt2", False)):
        model = wrapped(name, fast)
        expected = full_logits(model, tokens)
        for rows in (0, 1, 4):
            logits = model.cache().forward(tokens[None], rows)[0]
            assert logits.shape == (rows, VOCAB)
            torch.testing.assert_close(logits, expected[9 - rows :], rtol=0, atol=2e-6)
            logits.mul_(2)
            assert not logits.requires_grad


def test_a_cache_that_does_not_fit_says_what_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 (keys, values) x 2 layers x 3 texts x 2 heads x 64 positions x 4 numbers of 8 bytes: 49,152 bytes."""
    monkeypatch.setattr(memory, "available_bytes", lambda device: 20_000)
    cache = wrapped("llama", True).cache(3)
    refused = "49,152 bytes are needed on cpu, 20,000 are available; .* keys and values of 3 texts at 64 positions .*"
    with pytest.raises(ValueError, match=refused + "26 positions a text would fit, or 1 texts at a time"):
        cache.forward(draw_tokens(VOCAB, 3, 0)[:, None], 1)
    assert cache.lengths == [0, 0, 0]
    wrapped("llama", True).cache(1).forward(draw_tokens(VOCAB, 1, 0)[None], 1)


def test_memory_that_runs_out_in_a_pass_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    monkeypatch.setattr(llama, "forward", full)
    with pytest.raises(
        MemoryError, match="a pass over 4 tokens of 1 texts did not fit into memory; try a smaller gamma"
    ):
        decode(wrapped("llama", True), wrapped("llama", True), [1], max_tokens=9, gamma=3, uniforms=keyed(0, 0))


def test_caches_of_one_model_are_independent() -> None:
    model, tokens = wrapped("llama", True), draw_tokens(VOCAB, 8, 0)
    one, other = model.cache(), model.cache()
    one.forward(tokens[None], 0)
    other.forward(tokens.flip(0)[None], 0)
    torch.testing.assert_close(one.forward(tokens[None], 8)[0], full_logits(model, torch.cat([tokens, tokens]))[8:])


def test_fast_path_is_chosen_only_where_exact() -> None:
    assert all(weights.supports(hf_model(name)) == (name in FAST) for name in BUILD)
    dynamic = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}
    for extra in ({"hidden_act": "gelu"}, {"rope_parameters": dynamic}):
        assert not weights.supports(tiny.tiny_llama(VOCAB, **extra))
    adapted = tiny.tiny_llama(VOCAB)
    adapted.model.layers[0].mlp.up_proj = torch.nn.Sequential(adapted.model.layers[0].mlp.up_proj)
    assert not weights.supports(adapted)


@pytest.mark.parametrize("fast", [True, False])
def test_forward_refuses_before_computing(fast: bool) -> None:
    cache = wrapped("llama", fast).cache()
    tokens = draw_tokens(VOCAB, CONTEXT, 0)[None]
    cache.forward(tokens[:, :60], 0)
    with pytest.raises(ValueError, match=r"length 65 exceeds the model's context of 64 positions"):
        cache.forward(tokens[:, :5], 1)
    for bad in (VOCAB, -1):
        with pytest.raises(ValueError, match=rf"token {bad} at position 61 is out of range: ids are 0 to {VOCAB - 1}"):
            cache.forward(torch.tensor([[3, bad]]), 1)
    for m, rows in ((0, 0), (2, 3), (2, -1)):
        with pytest.raises(ValueError, match=rf"forward of {m} tokens cannot return logits of {rows}"):
            cache.forward(tokens[:, :m], rows)
    for length in (61, -1):
        with pytest.raises(ValueError, match=rf"cannot roll back to length {length}: the cache holds 60"):
            cache.rollback(0, length)
    with pytest.raises(ValueError, match="forward of 2 rows of tokens, but 1 sequences are to read them"):
        cache.forward(tokens[:, :2].view(2, 1), 1)
    assert cache.lengths == [60]
    logits = cache.forward(tokens[:, 60:], 4)[0]
    torch.testing.assert_close(logits, full_logits(wrapped("llama", fast), tokens[0])[60:], rtol=0, atol=2e-6)


def small(config: type[Any], **options: Any) -> Any:
    """Model of an architecture that is refused; only its kind matters."""
    sizes = {
        "vocab_size": VOCAB, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "intermediate_size": 16,
        "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
    }  # fmt: skip
    return tiny.from_config(config(**{**sizes, **options}), seed=0)


REFUSED: list[tuple[Any, str]] = [
    (lambda: small(MambaConfig), "MambaForCausalLM .* LinearAttentionLayer, a recurrent state, which every token"),
    (
        lambda: small(JambaConfig, attn_layer_period=2, attn_layer_offset=1, use_mamba_kernels=False),
        "JambaForCausalLM .* LinearAttentionLayer, a recurrent state, which every token overwrites",
    ),
    (lambda: small(BertConfig), "BertLMHeadModel is not causal"),
    (
        lambda: small(FalconConfig, max_position_embeddings=0),
        "FalconForCausalLM: its config states no",
    ),
    (lambda: tiny.tiny_llama(VOCAB).to(torch.float8_e5m2), "dtype torch.float8_e5m2; supported: float64"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED)
def test_models_that_cannot_run_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_hf(build())


@pytest.mark.parametrize("name", FAST)
def test_attention_whose_kernel_writes_positions_before_heads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The flash kernel of a GPU returns that order in memory; a view of it that joins heads fails or mixes them."""
    attention = llama.F.scaled_dot_product_attention

    def positions_first(*given: Any, **options: Any) -> torch.Tensor:
        return attention(*given, **options).transpose(1, 2).contiguous().transpose(1, 2)

    monkeypatch.setattr(llama.F, "scaled_dot_product_attention", positions_first)
    assert replay_error(wrapped(name, True), alone([(6, 3), (2, 1), (3, 0)]), 0) < 1e-10
