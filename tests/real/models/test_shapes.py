"""Random models of any shape: published sizes, the same function as the library's model, memory asked for first."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import real.models.memory
import real.models.shapes
from real.models.memory import available_bytes, check_memory, explain_oom
from real.models.model import from_hf, full_logits
from real.models.shapes import SHAPES, Shape, find_shape, random_model
from real.models.weights import Weights

GROUPED = Shape(3, 24, 40, heads=4, kv_heads=2, vocab=29, context=64)
KINDS = {
    "grouped": GROUPED,
    "tied": replace(GROUPED, tied=True),
    "wide heads": replace(GROUPED, head_dim=10),
    "biased": replace(GROUPED, kv_heads=1, qkv_bias=True),
}
TOKENS = torch.arange(40) % 29


def library_model(shape: Shape, weights: Weights, dtype: torch.dtype) -> LlamaForCausalLM:
    """The transformers model of these weights."""
    config = LlamaConfig(
        vocab_size=shape.vocab,
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_width,
        max_position_embeddings=shape.context,
        rms_norm_eps=weights.eps,
        tie_word_embeddings=shape.tied,
        attention_bias=shape.qkv_bias,
        rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
        bos_token_id=None,
        eos_token_id=None,
    )
    model = LlamaForCausalLM(config).to(dtype)
    sizes = [n * shape.head_width for n in (shape.heads, shape.kv_heads, shape.kv_heads)]
    state = {
        "model.embed_tokens.weight": weights.embedding,
        "model.norm.weight": weights.norm,
        "lm_head.weight": weights.head,
    }
    for i, w in enumerate(weights.layers):
        at = f"model.layers.{i}."
        state |= {at + "input_layernorm.weight": w.norm_in, at + "post_attention_layernorm.weight": w.norm_mlp}
        state |= {at + "self_attn.o_proj.weight": w.out, at + "mlp.down_proj.weight": w.down}
        state |= dict(zip((at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight"), w.gate_up.chunk(2), strict=True))
        for kind, fused in (("weight", w.qkv), ("bias", w.qkv_bias)):
            if fused is not None:
                state |= {f"{at}self_attn.{n}_proj.{kind}": x for n, x in zip("qkv", fused.split(sizes), strict=True)}
        if shape.qkv_bias:
            state[at + "self_attn.o_proj.bias"] = torch.zeros(shape.hidden)
    model.load_state_dict(state)
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_random_model_is_the_librarys(kind: str) -> None:
    shape, dtype = KINDS[kind], torch.float64
    model = random_model(shape, dtype=dtype, device="cpu", seed=4)
    assert model.weights is not None
    theirs = library_model(shape, model.weights, dtype)
    logits = full_logits(model, TOKENS)
    assert float((logits - full_logits(from_hf(theirs), TOKENS)).abs().max()) < 1e-12
    assert float((logits - full_logits(from_hf(theirs, fast=False), TOKENS)).abs().max()) < 2e-5
    assert model.weight_bytes == from_hf(theirs).weight_bytes - shape.qkv_bias * shape.layers * shape.hidden * 8
    assert (model.vocab_size, model.context, model.embeddings) == (29, 64, 29)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_laws_are_neither_flat_nor_one_token(dtype: torch.dtype) -> None:
    """At any depth and width, also where projections are packed."""
    for shape in (SHAPES["tiny"], replace(SHAPES["tiny"], layers=40), Shape(2, 256, 768, 4, 2, vocab=500, context=64)):
        model = random_model(shape, dtype=dtype, device="cpu")
        logits = full_logits(model, torch.arange(30)).float()
        law = logits.softmax(-1)
        entropy = -(law * law.log()).sum(-1) / math.log(shape.vocab)
        assert logits.isfinite().all()
        assert 0.3 < entropy.mean() < 0.95
        assert logits.argmax(-1).unique().numel() > 5
        assert (model.dtype, logits.dtype) == (dtype, torch.float32)


def test_packed_weights_are_the_same_function() -> None:
    """Large enough projections are packed in float32 and not in float64."""
    shape = Shape(1, 256, 256, heads=4, kv_heads=4, vocab=300, context=64)
    model = random_model(shape, dtype=torch.float32, device="cpu")
    theirs = library_model(shape, _dense(shape), torch.float32)
    assert float((full_logits(model, TOKENS) - full_logits(from_hf(theirs, fast=False), TOKENS)).abs().max()) < 1e-4


def _dense(shape: Shape) -> Weights:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(real.models.shapes, "pack", lambda weight: weight)
        weights = random_model(shape, dtype=torch.float32, device="cpu").weights
    assert weights is not None
    return weights


def test_seed_decides() -> None:
    a, b, c = (random_model(GROUPED, dtype=torch.bfloat16, device="cpu", seed=s) for s in (0, 0, 1))
    assert torch.equal(full_logits(a, TOKENS), full_logits(b, TOKENS))
    assert not torch.equal(full_logits(a, TOKENS), full_logits(c, TOKENS))


@pytest.mark.parametrize(
    ("name", "parameters", "kv"),
    [
        ("llama-3.1-8b", 8_030_261_248, 131_072),
        ("llama-3.2-1b", 1_235_814_400, 32_768),
        ("qwen2.5-0.5b", 494_032_768, 12_288),
    ],
)
def test_published_sizes(name: str, parameters: int, kv: int) -> None:
    assert find_shape(name).parameters == parameters
    assert find_shape(name).kv_bytes_per_token(torch.bfloat16) == kv


@pytest.mark.parametrize("name", ["300m", "100m", "50m", "10m"])
def test_names_say_the_size(name: str) -> None:
    assert SHAPES[name].parameters == pytest.approx(float(name[:-1]) * 1e6, rel=0.05)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"heads": 5}, "heads 5 must be a multiple of kv_heads 2"),
        ({"hidden": 25}, "hidden 25 must be a multiple of heads 4"),
        ({"hidden": 12}, "head_dim must be even and at least 2, got 3"),
        ({"head_dim": 0}, "head_dim must be even and at least 2, got 0"),
    ],
)
def test_bad_shapes(changes: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(GROUPED, **changes)


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"shape '8b' is unknown; known: llama-3\.1-8b, .*tiny"):
        find_shape("8b")


@pytest.mark.parametrize(
    ("dtype", "free", "remedy"),
    [
        (torch.float32, 20_000_000_000, r"in torch\.bfloat16 it would fit"),
        (torch.float32, 12_000_000_000, r"8 of its 32 layers would fit$"),
        (torch.float32, 4_000_000_000, r"4 of its 32 layers would fit in torch\.bfloat16"),
        (torch.bfloat16, 12_000_000_000, r"22 of its 32 layers would fit$"),
        (torch.bfloat16, 1_000_000_000, "no number of its layers would fit: take a smaller hidden size"),
    ],
)
def test_refuses_what_cannot_fit(dtype: torch.dtype, free: int, remedy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before allocating: these weights would not fit here either."""
    shape = find_shape("llama-3.1-8b")
    monkeypatch.setattr(real.models.memory, "available_bytes", lambda device: free)
    needed = (shape.parameters + 2 * 131072 * 128) * dtype.itemsize
    told = rf"{needed:,} bytes are needed on cpu, {free:,} are available; the largest tensor is embedding of"
    with pytest.raises(ValueError, match=f"{told} {128256 * 4096 * dtype.itemsize:,} bytes; {remedy}"):
        random_model(shape, dtype=dtype, device="cpu")


def test_the_named_remedy_fits_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    shape, free = replace(GROUPED, layers=9), 60_000
    monkeypatch.setattr(real.models.memory, "available_bytes", lambda device: free)
    with pytest.raises(ValueError, match=r"5 of its 9 layers would fit$"):
        random_model(shape, dtype=torch.bfloat16, device="cpu")
    random_model(replace(shape, layers=5), dtype=torch.bfloat16, device="cpu")
    with pytest.raises(ValueError, match=r"5 of its 6 layers would fit$"):
        random_model(replace(shape, layers=6), dtype=torch.bfloat16, device="cpu")


def test_memory_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    free = available_bytes("cpu")
    assert free is None or free > 1_000_000
    check_memory({"a": 1 << 60}, "meta")  # unknown: not refused
    monkeypatch.setattr(real.models.memory, "available_bytes", lambda device: 10)
    check_memory({"a": 5, "b": 5}, "cpu")
    with pytest.raises(ValueError, match=r"^11 bytes are needed on cpu, 10 are available; .* b of 6 bytes$"):
        check_memory({"a": 5, "b": 6}, "cpu")


def test_out_of_memory_is_explained() -> None:
    with (
        pytest.raises(MemoryError, match="the slab did not fit into memory; try a batch of 1"),
        explain_oom("the slab", "a batch of 1"),
    ):
        torch.empty(10**15)
    with pytest.raises(MemoryError, match=r"try less \(CUDA out of memory\)"), explain_oom("it", "less"):
        raise torch.OutOfMemoryError("CUDA out of memory\nand much more")
    with pytest.raises(RuntimeError, match=r"^other$"), explain_oom("it", "less"):
        raise RuntimeError("other")
