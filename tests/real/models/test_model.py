"""Cached runs equal uncached ones on both paths, and every refusal says what is wrong."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest
import torch
from helpers import tiny_models as tiny
from helpers.replay import alone, draw_tokens, replay_error
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    FalconConfig,
    JambaConfig,
    MambaConfig,
    PreTrainedTokenizerFast,
)
from transformers.utils.logging import is_progress_bar_enabled

import real
from real.decode.loop import decode, keyed
from real.models import llama, memory, weights
from real.models.loading import load_model, same_tokenizer
from real.models.model import LanguageModel, fit_logits, from_hf, full_logits
from real.pair import load

VOCAB, CONTEXT = 23, 64
GROUPED = {"layers": 2, "hidden": 16, "heads": 4, "kv_heads": 2, "context": CONTEXT}
PLAIN = {"layers": 2, "hidden": 16, "heads": 4, "context": CONTEXT}
LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
BUILD: dict[str, Any] = {
    "llama": lambda **kw: tiny.tiny_llama(VOCAB, **GROUPED, **kw),
    "llama-biased": lambda **kw: tiny.tiny_llama(
        VOCAB, **GROUPED, attention_bias=True, mlp_bias=True, rope_parameters=LLAMA3_ROPE, **kw
    ),
    "qwen2": lambda **kw: tiny.tiny_qwen2(VOCAB, **GROUPED, **kw),
    "mistral": lambda **kw: tiny.tiny_mistral(VOCAB, **GROUPED, **kw),
    "qwen3": lambda **kw: tiny.tiny_qwen3(VOCAB, **GROUPED, **kw),
    "gpt2": lambda **kw: tiny.tiny_gpt2(VOCAB, **PLAIN, **kw),
    "opt": lambda **kw: tiny.tiny_opt(VOCAB, **PLAIN, **kw),
}
FAST = ["llama", "llama-biased", "qwen2", "mistral", "qwen3"]
# Hugging Face rounds norms to float32 even in float64 models, so its own path agrees only to that.
RUNS = [(name, True, 1e-10) for name in FAST] + [(name, False, 2e-6) for name in BUILD]


@cache
def hf_model(name: str, dtype: torch.dtype = torch.float64) -> Any:
    return BUILD[name](seed=1, dtype=dtype)


@cache
def wrapped(name: str, fast: bool, dtype: torch.dtype = torch.float64) -> LanguageModel:
    return from_hf(hf_model(name, dtype), fast=fast)


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


@pytest.mark.parametrize("name", ["llama", "qwen2", "qwen3", "gpt2", "opt"])
def test_saved_model_loads_as_the_same_model(name: str, tmp_path: Path) -> None:
    hf_model(name).save_pretrained(tmp_path)
    model, tokens = load_model(tmp_path, dtype=torch.float64), draw_tokens(VOCAB, 20, 0)
    assert (model.vocab_size, model.context, model.dtype) == (VOCAB, CONTEXT, torch.float64)
    assert model.device == torch.device("cpu")
    assert torch.equal(full_logits(model, tokens), full_logits(wrapped(name, True), tokens))
    assert load_model(str(tmp_path), dtype=torch.bfloat16).dtype == torch.bfloat16


def test_load_model_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=rf"{tmp_path} is no model: .*config.json and .*, found nothing"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    with pytest.raises(ValueError, match=r"looked for .*, found config.json$"):
        load_model(tmp_path)
    (tmp_path / "pytorch_model.bin").touch()
    with pytest.raises(ValueError, match=r"pytorch_model.bin but no \*.safetensors; pickled weights are not"):
        load_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"not a tensor file")
    with pytest.raises(ValueError, match=rf"{tmp_path} could not be loaded: "):
        load_model(tmp_path)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ValueError, match=r"'nobody/none' is neither a local directory nor could") as caught:
        load_model("nobody/none")
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(ValueError, match=rf"{tmp_path}/absent is no directory; looked for one with config.json"):
        load_model(tmp_path / "absent")


def test_a_name_without_an_owner_is_no_directory_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.AutoModelForCausalLM.from_pretrained", None)  # the hub is not asked
    with pytest.raises(
        ValueError, match=r"^there is no directory 'nodir' here; an id of the hub is written owner/name$"
    ):
        load_model("nodir")


def test_loading_shows_no_bar(capfd: pytest.CaptureFixture[str]) -> None:
    before = is_progress_bar_enabled()
    load_model(real.TINY / "draft")
    assert capfd.readouterr() == ("", "")
    assert is_progress_bar_enabled() == before


def test_incomplete_weights_are_refused(tmp_path: Path) -> None:
    hf_model("llama").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(ValueError, match=r"lacks weights of its model .*: model.layers.2"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({**config, "intermediate_size": 8}))
    with pytest.raises(ValueError, match=r"in another shape: .*model.layers.0.mlp.down_proj.weight"):
        load_model(tmp_path)


def make_tokenizer(size: int, swap: bool = False, eos: str = "<eos>", split: bool = True) -> Any:
    """Word tokenizer with ids 0 to `size` - 1."""
    words = ["?", "<eos>", "<end>", *(f"w{i}" for i in range(3, size))]
    if swap:
        words[4], words[5] = words[5], words[4]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="?"))
    if split:
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?", eos_token=eos)


def save(path: Path, vocab: int, tokenizer: Any, seed: int = 0) -> Path:
    tiny.tiny_llama(vocab, seed=seed).save_pretrained(path)
    if tokenizer is not None:
        tokenizer.save_pretrained(path)
    return path


def test_pair_fits_padded_heads_to_the_tokenizer(tmp_path: Path) -> None:
    tokenizer = make_tokenizer(20)
    wide, narrow = save(tmp_path / "wide", 24, tokenizer), save(tmp_path / "narrow", 18, tokenizer, seed=5)
    pair = load(wide, narrow, dtype=torch.float64)
    tokens = torch.tensor(pair.tokenizer("w3 w17 nothing w12")["input_ids"])
    assert tokens.tolist() == [3, 17, 0, 12]
    assert (pair.target.vocab_size, pair.draft.vocab_size) == (20, 20)
    target, draft = full_logits(pair.target, tokens), full_logits(pair.draft, tokens)
    alone = full_logits(load_model(wide, dtype=torch.float64), tokens)
    assert torch.equal(target, alone[:, :20])
    assert torch.equal(draft[:, :18], full_logits(load_model(narrow, dtype=torch.float64), tokens))
    assert torch.all(draft.softmax(-1)[:, 18:] == 0)
    with pytest.raises(ValueError, match="token 19 at position 0 is out of range"):
        pair.draft.cache().forward(torch.tensor([[19]]), 1)


def test_fit_logits() -> None:
    logits = torch.arange(6.0).view(2, 3)
    assert fit_logits(logits, 3) is logits
    assert fit_logits(logits, 2).tolist() == [[0, 1], [3, 4]]
    assert fit_logits(logits, 4)[:, 3].tolist() == [-torch.inf] * 2


def test_pair_refuses_missing_or_different_tokenizers(tmp_path: Path) -> None:
    good, bare = save(tmp_path / "good", 20, make_tokenizer(20)), save(tmp_path / "bare", 20, None)
    for paths in ((good, bare), (bare, good)):
        with pytest.raises(ValueError, match=rf"{bare} holds no tokenizer: looked for tokenizer.json, "):
            load(*paths)
    swapped = save(tmp_path / "swapped", 20, make_tokenizer(20, swap=True))
    with pytest.raises(ValueError, match=r"tokenizers differ: token 'w4' is 4 in the first, 5 in the second"):
        load(good, swapped)


def test_same_tokenizer_names_the_difference() -> None:
    plain = make_tokenizer(20)
    same_tokenizer(plain, make_tokenizer(20))
    with pytest.raises(ValueError, match=r"token 'w20' is None in the first, 20 in the second"):
        same_tokenizer(plain, make_tokenizer(21))
    same_tokenizer(plain, make_tokenizer(20, eos="<end>"))  # a base draft for an instruct target
    with pytest.raises(ValueError, match=r"a probe text is \[0, .* in the first, \[0\] in the second"):
        same_tokenizer(plain, make_tokenizer(20, split=False))
