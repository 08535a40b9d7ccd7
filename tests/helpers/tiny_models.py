"""Tiny random models of several architectures, made in memory.

Weights are large (embeddings and head of unit variance, projections that keep it), so that
next-token laws are far from uniform and depend on the whole prefix; Hugging Face's own
initialisation gives nearly flat ones. The same seed gives the same model in every dtype, up to
rounding.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GptOssConfig,
    Llama4TextConfig,
    LlamaConfig,
    MistralConfig,
    OPTConfig,
    PretrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    Qwen3Config,
)


def randomize(model: PreTrainedModel, seed: int) -> PreTrainedModel:
    """Draw every weight anew, from its own generator; returns the model."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            if weight.ndim == 1:  # norms and biases
                noise = 0.1 * noise + ("norm" in name or "ln_" in name) * (not name.endswith("bias"))
            elif not any(part in name for part in ("embed", "head", "wte", "wpe")):
                fan_in = weight.shape[0] if model.config.model_type == "gpt2" else weight.shape[1]
                noise = noise / fan_in**0.5
            weight.copy_(noise)
    return model


def from_config(config: PretrainedConfig, seed: int, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """Model of a configuration, with weights of `randomize`; the global generator is left alone."""
    with torch.random.fork_rng():
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return randomize(model.eval(), seed)


def _llama_like(
    config: type[PretrainedConfig],
    vocab: int,
    *,
    layers: int = 1,
    hidden: int = 8,
    heads: int = 2,
    kv_heads: int | None = None,
    ffn: int | None = None,
    context: int = 64,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    **extra: Any,
) -> PreTrainedModel:
    """Return a random model of a configuration whose fields have Llama's names."""
    # Sizes that are not given follow from others.
    options = {
        "vocab_size": vocab,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads or heads,
        "intermediate_size": ffn or 2 * hidden,
        "max_position_embeddings": context,
        "bos_token_id": None,
        "eos_token_id": None,
        **extra,
    }
    return from_config(config(**options), seed, dtype)


def tiny_llama(vocab: int, **options: Any) -> PreTrainedModel:
    """Llama; options are layers, hidden, heads, kv_heads, ffn, context, seed, dtype and config fields."""
    return _llama_like(LlamaConfig, vocab, **options)


def tiny_qwen2(vocab: int, **options: Any) -> PreTrainedModel:
    """Qwen2: biased query, key and value projections.  Options as for `tiny_llama`."""
    return _llama_like(Qwen2Config, vocab, **options)


def tiny_qwen3(vocab: int, *, hidden: int = 8, heads: int = 2, **options: Any) -> PreTrainedModel:
    """Qwen3: normed queries and keys.  Options as for `tiny_llama`."""
    return _llama_like(Qwen3Config, vocab, hidden=hidden, heads=heads, head_dim=hidden // heads, **options)


def tiny_mistral(vocab: int, **options: Any) -> PreTrainedModel:
    """Mistral without window unless `sliding_window` is given.  Options as for `tiny_llama`."""
    return _llama_like(MistralConfig, vocab, **{"sliding_window": None, **options})


def _alternating(layers: int) -> list[str]:
    """Return the types of layers of which every other one has a window."""
    return ["sliding_attention" if i % 2 == 0 else "full_attention" for i in range(layers)]


def tiny_gemma2(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Gemma 2: every other layer has a window, attention and logits are capped."""
    return _llama_like(
        Gemma2Config, vocab, layers=layers, head_dim=4, query_pre_attn_scalar=4, sliding_window=window,
        layer_types=_alternating(layers), pad_token_id=None, **options,
    )  # fmt: skip


def tiny_gemma3(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Gemma 3: as Gemma 2 with a rope of its own in the layers with a window, and normed queries and keys."""
    return _llama_like(
        Gemma3TextConfig, vocab, layers=layers, head_dim=4, query_pre_attn_scalar=4, sliding_window=window,
        layer_types=_alternating(layers), pad_token_id=None, **options,
    )  # fmt: skip


def tiny_gpt_oss(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """gpt-oss: every other layer has a window, attention has sinks, the rest is a mixture of experts."""
    model = _llama_like(
        GptOssConfig, vocab, layers=layers, head_dim=4, sliding_window=window, layer_types=_alternating(layers),
        num_local_experts=3, num_experts_per_tok=2, pad_token_id=None, **options,
    )  # fmt: skip
    # The fused kernel does not run in float64.
    model.set_experts_implementation("eager")
    return model


def tiny_llama4(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Llama 4: chunks of `window` positions in every other layer, no rope in the others, experts."""
    return _llama_like(
        Llama4TextConfig, vocab, layers=layers, head_dim=4, attention_chunk_size=window, no_rope_layer_interval=2,
        interleave_moe_layer_step=2, num_local_experts=2, intermediate_size_mlp=16, floor_scale=4, pad_token_id=None,
        **options,
    )  # fmt: skip


def tiny_windowed_mistral(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Mistral 0.1: a window in every layer."""
    return tiny_mistral(vocab, sliding_window=window, layers=layers, **options)


def tiny_windowed_qwen2(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Qwen2 with a window in all layers but the first."""
    return tiny_qwen2(
        vocab, use_sliding_window=True, sliding_window=window, max_window_layers=1, layers=layers, **options
    )


def tiny_windowed_qwen3(vocab: int, window: int, *, layers: int = 2, **options: Any) -> PreTrainedModel:
    """Qwen3 with a window in all layers but the first."""
    return tiny_qwen3(
        vocab, use_sliding_window=True, sliding_window=window, max_window_layers=1, layers=layers, **options
    )


WINDOWED = {
    "gemma2": tiny_gemma2,
    "gemma3": tiny_gemma3,
    "gpt-oss": tiny_gpt_oss,
    "llama4": tiny_llama4,
    "mistral": tiny_windowed_mistral,
    "qwen2": tiny_windowed_qwen2,
    "qwen3": tiny_windowed_qwen3,
}


def tiny_gpt2(
    vocab: int,
    *,
    layers: int = 1,
    hidden: int = 8,
    heads: int = 2,
    context: int = 64,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> PreTrainedModel:
    """GPT-2: learned absolute positions, head tied to the embedding."""
    # GPT-2's fields have names of their own.
    config = GPT2Config(
        vocab_size=vocab,
        n_layer=layers,
        n_embd=hidden,
        n_head=heads,
        n_positions=context,
        bos_token_id=None,
        eos_token_id=None,
    )
    return from_config(config, seed, dtype)


def tiny_opt(
    vocab: int,
    *,
    layers: int = 1,
    hidden: int = 8,
    heads: int = 2,
    context: int = 64,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
) -> PreTrainedModel:
    """OPT: learned positions shifted by two, ReLU, head tied to the embedding."""
    # OPT has as many heads of keys as of queries.
    config = OPTConfig(
        vocab_size=vocab,
        num_hidden_layers=layers,
        hidden_size=hidden,
        num_attention_heads=heads,
        ffn_dim=2 * hidden,
        word_embed_proj_dim=hidden,
        max_position_embeddings=context,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )
    return from_config(config, seed, dtype)
