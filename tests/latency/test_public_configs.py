"""Files as they are published: fields beside those that are counted, old families, and the names of the table."""

from __future__ import annotations

from typing import Any

import pytest

from specsim import ModelShape

pytestmark = pytest.mark.fast

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
