"""Files as they are published: fields beside those that are counted, old families, and the names of the table."""

from __future__ import annotations

from typing import Any

import pytest

from specsim import ModelShape

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip

# Fields that public files hold beside those that are counted; found by reading 170 of them.
BESIDE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Phi-4-mini": ({"model_type": "phi3"}, {"full_attn_mod": 1, "interpolate_factor": 1, "lm_head_bias": False,
                                            "original_max_position_embeddings": 4096, "embd_pdrop": 0.0}),
    "StarCoder2": ({"model_type": "starcoder2"}, {"mlp_type": "default", "attention_softmax_in_fp32": True,
                                                  "scale_attention_softmax_in_fp32": True, "use_bias": True}),
    "gpt-oss": ({"model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 128},
                {"experts_per_token": 2, "initial_context_length": 4096, "swiglu_limit": 7.0}),
    "Gemma 2": ({"model_type": "gemma2", "sliding_window": 4096},
                {"sliding_window_size": 4096, "cache_implementation": "hybrid", "query_pre_attn_scalar": 144,
                 "final_logit_softcapping": 30.0, "_attn_implementation": "eager"}),
    "MiniMax-M2": ({"model_type": "minimax_m2", "num_local_experts": 4, "num_experts_per_tok": 2},
                   {"attn_type_list": [1] * 32, "use_mtp": True, "num_mtp_modules": 3, "mtp_transformer_layers": 1,
                    "qk_norm_type": "per_layer", "shared_intermediate_size": 0, "scoring_func": "sigmoid"}),
    "Kimi-K2.5": ({"model_type": "llama"}, {"num_beams": 1, "num_beam_groups": 1, "top_k": 50, "length_penalty": 1.0,
                                            "encoder_no_repeat_ngram_size": 0, "ep_size": 1, "pruned_heads": {}}),
    "SmolLM2": ({"model_type": "llama"}, {"is_llama_config": True, "transformers.js_config": {"dtype": "q4"}}),
}  # fmt: skip


@pytest.mark.parametrize("name", BESIDE)
def test_fields_of_public_files_block_nothing(name: str) -> None:
    own, beside = BESIDE[name]
    plain = ModelShape.from_config(LLAMA | own)
    assert ModelShape.from_config(LLAMA | own | beside) == plain
    assert plain.unread == ()


def test_the_first_deepseek_has_plain_attention() -> None:
    """DeepSeek-MoE-16B: 16.4 billion, no compressed cache."""
    shape = ModelShape.from_config(
        {"model_type": "deepseek", "hidden_size": 2048, "intermediate_size": 10944, "num_hidden_layers": 28,
         "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 102400, "n_routed_experts": 64,
         "n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
         "moe_layer_freq": 1}
    )  # fmt: skip
    assert (shape.body + 2 * shape.head) / 1e9 == pytest.approx(16.4, abs=0.05)
    assert shape.kv_values == 28 * 2 * 2048


def test_names_and_configs_have_the_same_windows() -> None:
    for name, layers, window in (("gpt-oss-20b", 12, 128), ("gemma-2-9b", 21, 4096), ("gemma-3-1b", 22, 512)):
        assert ModelShape.named(name).window == (layers, window)


# Files that leave a field out: what transformers' own class takes then, by model_type.
LEFT_OUT: dict[str, tuple[dict[str, Any], str, int]] = {
    "Mistral without kv heads": ({"model_type": "mistral", "sliding_window": None}, "kv_values", 2 * 32 * 8 * 128),
    "GLM-4 without kv heads": ({"model_type": "glm4", "head_dim": 128}, "kv_values", 2 * 32 * 2 * 128),
    "Gemma 2 without its window": ({"model_type": "gemma2", "head_dim": 128}, "windowed", 16),
    "OLMo 3 without its window": ({"model_type": "olmo3"}, "windowed", 24),
    "gpt-oss without its window": (
        {"model_type": "gpt_oss", "num_local_experts": 4, "num_experts_per_tok": 2, "head_dim": 64}, "windowed", 16
    ),
    "Llama 4 without its chunk": (
        {"model_type": "llama4_text", "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 99},
        "windowed", 24,
    ),
    "Qwen2 with a window from layer 28": (
        {"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 4096}, "windowed", 4
    ),
    "Ministral": ({"model_type": "ministral"}, "windowed", 32),
    "a window from layer 20 on": (
        {"model_type": "mistral", "sliding_window": 4096, "max_window_layers": 20}, "windowed", 12
    ),
    "GPT-NeoX with fields of others": ({"model_type": "gpt_neox", "head_dim": 64}, "kv_values", 2 * 32 * 4096),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_OUT)
def test_a_field_that_is_left_out_is_that_of_the_class(case: str) -> None:
    own, number, value = LEFT_OUT[case]
    plain = {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}
    shape = ModelShape.from_config(plain | own)
    assert {"kv_values": shape.kv_values, "windowed": shape.window.layers}[number] == value


def test_defaults_are_named() -> None:
    plain = {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}
    shape = ModelShape.from_config(plain | {"model_type": "mistral"})
    assert shape.assumed == ("num_key_value_heads 8", "sliding_window 4096")
    assert ModelShape.from_config(LLAMA).assumed == ()


MOE: dict[str, Any] = {**LLAMA, "num_experts_per_tok": 2, "moe_intermediate_size": 100}
REFUSED = {
    "two numbers of experts": (
        {"model_type": "qwen3_moe", "num_experts": 8, "num_local_experts": 6}, "num_experts 8 and num_local_experts 6"
    ),
    "windows of a Qwen-MoE": ({"model_type": "qwen3_moe", "num_experts": 8, "use_sliding_window": True}, "has windows"),
    "cross-attention": ({"model_type": "gpt2", "add_cross_attention": True}, "has cross-attention"),
    "several tokens in a step": (
        {"draft_vocab_size": 100, "eagle_config": {"parallel_draft_step": 4}}, "drafts 4 tokens in a step"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_counted_is_refused(case: str) -> None:
    own, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        ModelShape.from_config(MOE | own)


# Shares of a layer of Llama 3.1 8B; of its attention the queries are 0.4, keys and values 0.1 each.
ATTENTION, MLP = 5 / 26, 21 / 26
MLX = {"group_size": 64, "bits": 4}
LAST = {"num_bits": 8, "type": "float"}
# What a config says of its weights: bits of layers and of the head, 0 where they are not known.
STORED: dict[str, tuple[dict[str, Any], float, float]] = {
    "mlx-lm": ({"quantization": MLX, "quantization_config": MLX}, 4.5, 4.5),
    "mlx-lm, older": ({"quantization": MLX}, 4.5, 4.5),
    "mlx-lm, mixed": ({"quantization": MLX | {"model.layers.0.mlp.up_proj": {"bits": 8, "group_size": 64}}},
                      4.5 + 4 * MLP / 3 / 32, 4.5),
    "mlx-lm, a layer left out": ({"quantization": MLX | {"lm_head": False}}, 4.5, 16),
    "mlx-lm, mxfp4": ({"quantization": {"group_size": 32, "bits": 4, "mode": "mxfp4"}}, 4.25, 4.25),
    "MXFP8": ({"quantization_config": {"quant_method": "modelopt", "quant_algo": "MXFP8"}}, 8.25, 16),
    "bitsandbytes, double": ({"quantization_config": {
        "quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True}}, 4.126953125, 16),
    "bitsandbytes, private": ({"quantization_config": {
        "quant_method": "bitsandbytes", "_load_in_4bit": True}}, 4.5, 16),
    "bitsandbytes, neither": ({"quantization_config": {"quant_method": "bitsandbytes"}}, 0, 0),
    "bitsandbytes, attention skipped": ({"quantization_config": {
        "quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": ["self_attn.q_proj"]}},
        8 + 8 * 0.4 * ATTENTION, 16),
    "GPTQ with its head": ({"quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": 128, "lm_head": True}}, 4.15625, 4.15625),
    "GPTQ, some layers apart": ({"quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*attn.*": {}}}},
        16 * ATTENTION + 4.15625 * MLP, 16),
    "2 of 4 zeros": ({"quantization_config": {
        "quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"},
        "config_groups": {"group_0": {"weights": LAST}}}}, 0, 0),
    "fp8 without its feed-forward blocks": ({"quantization_config": {
        "quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.mlp.down_proj"]}},
        8 + 8 * MLP / 3 / 32, 16),
    "fp8 without routers": ({"quantization_config": {
        "quant_method": "fp8", "modules_to_not_convert": ["lm_head", "re:.*mlp.gate$", "model.layers.0.mlp.gate"]}},
        8, 16),
}  # fmt: skip


@pytest.mark.parametrize("case", STORED)
def test_stored_weights_are_read_or_not_known(case: str) -> None:
    own, layers, head = STORED[case]
    stored = ModelShape.from_config(LLAMA | own).stored
    assert stored is not None
    assert (stored.layers, stored.head) == (pytest.approx(layers), head)
