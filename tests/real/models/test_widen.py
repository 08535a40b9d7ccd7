"""Widening changes the cost and not the function, on both paths; planted faults are seen."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.tiny_models import tiny_llama, tiny_mistral
from torch import Tensor
from transformers import AutoModelForCausalLM

import real
import real.models.memory
import real.models.widen
from real.models.loading import load_hf
from real.models.model import from_hf, full_logits
from real.models.widen import wide_shape, widen

VOCAB, LARGER = 23, 500_000
TOKENS = torch.randint(VOCAB, (40,), generator=torch.Generator().manual_seed(5))
LLAMA3_ROPE = {
    "rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 16,
}  # fmt: skip
SMALL = {"layers": 2, "hidden": 16, "heads": 4, "rms_norm_eps": 0.02}  # an eps that matters
KINDS: dict[str, dict[str, Any]] = {
    "plain": SMALL,
    "tied": {**SMALL, "tie_word_embeddings": True},
    "grouped": {**SMALL, "kv_heads": 2},
    "one group": {**SMALL, "kv_heads": 1},
    "wide heads": {**SMALL, "kv_heads": 2, "head_dim": 8},
    "narrow heads": {**SMALL, "head_dim": 2, "ffn": 96},
    "biased": {**SMALL, "attention_bias": True, "mlp_bias": True, "rope_parameters": LLAMA3_ROPE},
    "24 wide": {**SMALL, "hidden": 24, "heads": 3, "layers": 3},  # H / h is no power of 4
}


@cache
def small(kind: str, dtype: torch.dtype = torch.float64) -> Any:
    return tiny_llama(VOCAB, seed=3, dtype=dtype, **KINDS[kind])


def logits(model: Any, tokens: Tensor, fast: bool = True) -> Tensor:
    return full_logits(from_hf(model, fast=fast), tokens).double()


def difference(a: Any, b: Any, tokens: Tensor = TOKENS, fast: bool = True) -> float:
    return float((logits(a, tokens, fast) - logits(b, tokens, fast)).abs().max())


@pytest.mark.parametrize("kind", KINDS)
def test_function_is_preserved(kind: str) -> None:
    source = small(kind)
    before = {name: weight.clone() for name, weight in source.state_dict().items()}
    wide = widen(source, LARGER, dtype=torch.float64)
    assert difference(source, wide) < 1e-11
    assert difference(source, wide, fast=False) < 2e-5  # Hugging Face rounds norms to float32
    assert wide.num_parameters() == pytest.approx(LARGER, rel=0.05)
    assert wide.config.num_hidden_layers >= source.config.num_hidden_layers
    assert wide.lm_head.weight.data_ptr() != wide.model.embed_tokens.weight.data_ptr()
    assert all(torch.equal(before[name], weight) for name, weight in source.state_dict().items())


def unscaled_norms(wide: Any, h: int) -> None:
    for name, weight in wide.named_parameters():
        if "norm" in name:
            weight.mul_((wide.config.hidden_size / h) ** 0.5)


def unscaled_eps(wide: Any, h: int) -> None:
    wide.config.rms_norm_eps *= wide.config.hidden_size / h


def _real_layer(wide: Any) -> Any:
    return next(layer for layer in wide.model.layers if layer.mlp.down_proj.weight.any())


def random_column(wide: Any, h: int) -> None:
    _real_layer(wide).self_attn.o_proj.weight[:h, -1] = torch.linspace(-1, 1, h)


def random_row(wide: Any, h: int) -> None:
    weight = _real_layer(wide).mlp.down_proj.weight
    weight[-1, :h] = torch.linspace(-1, 1, h)


def extra_layer_that_writes(wide: Any, h: int) -> None:
    extra = next(layer for layer in wide.model.layers if not layer.mlp.down_proj.weight.any())
    extra.mlp.down_proj.weight[0] = 0.1


def swapped_layers(wide: Any, h: int) -> None:
    layers = wide.model.layers
    first, last = (i for i, layer in enumerate(layers) if layer.mlp.down_proj.weight.any())
    layers[first], layers[last] = layers[last], layers[first]


FAULTS = [unscaled_norms, unscaled_eps, random_column, random_row, extra_layer_that_writes, swapped_layers]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.__name__)
def test_planted_faults_are_seen(fault: Callable[[Any, int], None]) -> None:
    wide = widen(small("plain"), LARGER, dtype=torch.float64)
    with torch.no_grad():
        fault(wide, 16)
    assert difference(small("plain"), wide) > 1e-4


def test_padding_is_multiplied_and_stays_zero() -> None:
    wide = widen(small("grouped"), LARGER, dtype=torch.float64)
    for name, weight in wide.named_parameters():
        if not any(part in name for part in ("embed", "o_proj", "down_proj")):
            assert weight.all(), name
    with torch.no_grad():
        hidden = wide(TOKENS[None], output_hidden_states=True).hidden_states
    assert len(hidden) == wide.config.num_hidden_layers + 1
    assert not any(h[..., 16:].any() for h in hidden)
    assert all(h[..., :16].all() for h in hidden)


def test_seed_decides() -> None:
    a, b, c = (widen(small("plain"), 200_000, seed=s).state_dict() for s in (0, 0, 1))
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not torch.equal(a["lm_head.weight"], c["lm_head.weight"])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_powers_of_four_scale_exactly(dtype: torch.dtype) -> None:
    source = small("plain", dtype)
    wide = widen(source, 200_000, dtype=dtype)
    assert (wide.dtype, wide.config.hidden_size) == (dtype, 64)
    assert torch.equal(wide.model.norm.weight[:16] * 2, source.model.norm.weight)
    rounding = difference(small("plain", torch.float32), source)
    assert difference(source, wide) <= rounding


@pytest.mark.parametrize("fast", [True, False])
def test_bundled_target(fast: bool) -> None:
    target = load_hf(Path(real.__file__).parent / "tiny" / "target")
    tokens = torch.randint(2048, (64,), generator=torch.Generator().manual_seed(0))
    wide = widen(target, 20_000_000, dtype=torch.float32)
    assert wide.num_parameters() == pytest.approx(20e6, rel=0.05)
    assert wide.generation_config.eos_token_id == target.generation_config.eos_token_id
    assert difference(target, wide, tokens, fast) < 1e-4
    with torch.no_grad():
        unscaled_norms(wide, 256)
    assert difference(target, wide, tokens, fast) > 1e-2


def test_is_an_ordinary_model(tmp_path: Path) -> None:
    """Saved and read back, and run by the library's own loop, alone and with an assistant."""
    source = small("grouped", torch.float32)
    wide = widen(source, LARGER, dtype=torch.float32)
    wide.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(logits(wide, TOKENS, fast=False), logits(again, TOKENS, fast=False))
    prompt, options = TOKENS[None, :8], {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0}
    texts = [model.generate(prompt, **options).tolist() for model in (source, wide, again)]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.parametrize("millions", [6, 8, 20, 50, 100, 300, 1_000, 8_000])
def test_shapes_are_sensible(millions: int) -> None:
    config = load_config()
    shape = wide_shape(config, millions * 1_000_000)
    assert shape.parameters == pytest.approx(millions * 1e6, rel=0.05)
    assert shape.layers >= config.num_hidden_layers
    assert shape.head_dim == config.head_dim == 64
    assert shape.heads == shape.kv_heads == shape.hidden // 64
    assert 2.75 <= shape.ffn / shape.hidden <= 4
    assert shape.hidden % 64 == shape.ffn % 64 == 0
    assert 0.4 <= shape.layers / (16 * (shape.hidden / 1024) ** 0.75) <= 2.5
    if millions in (100, 300):
        assert shape.hidden == 1024  # 4 times the old: exact in bfloat16


@cache
def load_config() -> Any:
    return load_hf(Path(real.__file__).parent / "tiny" / "target").config


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    source = small("plain")
    own = source.num_parameters()
    with pytest.raises(ValueError, match=rf"parameters must be at least {own:,}, the model's own, got {own - 1:,}"):
        widen(source, own - 1)
    with pytest.raises(ValueError, match=r"within 5 % of parameters 10,000; the nearest has [\d,]+"):
        widen(source, 10_000)
    with pytest.raises(ValueError, match="MistralForCausalLM cannot be widened"):
        widen(tiny_mistral(VOCAB), LARGER)
    monkeypatch.setattr(real.models.memory, "available_bytes", lambda device: 200_000)
    with pytest.raises(ValueError, match=r"200,000 are available; .*; take at most 100,000 parameters"):
        widen(source, LARGER)
