"""Models that people have today: by name, as their published config says, with the published number of parameters."""

from __future__ import annotations

from typing import Any

import pytest

from specsim import ModelShape
from specsim.latency.tables import configs, rows

# Billions of parameters as published (of the decoder alone), and whether the embedding is the head.
PUBLISHED = {
    "Qwen3-4B": (4.02, True), "Qwen3-14B": (14.8, False), "Qwen3-Next-80B-A3B": (80, False),
    "Qwen3-Coder-480B-A35B-Instruct": (480, False), "Qwen3-Coder-30B-A3B-Instruct": (30.5, False),
    "Qwen3.5-27B": (27, False), "Qwen3.5-35B-A3B": (35, False), "Qwen3.5-122B-A10B": (122, False),
    "Qwen3.5-397B-A17B": (397, False), "GLM-4.5": (355, False), "GLM-4.5-Air": (106, False), "GLM-4.6": (355, False),
    "GLM-5": (744, False), "Llama-4-Scout-17B-16E-Instruct": (109, False), "DeepSeek-V3.2": (671, False),
    "Llama-4-Maverick-17B-128E": (400, False), "gemma-3-4b-it": (3.88, True), "gemma-3-12b-it": (11.8, True),
    "gemma-3-27b-it": (27, True), "MiniMax-M2": (230, False), "MiniMax-Text-01": (456, False),
    "Nemotron-H-8B-Base-8K": (8.1, False), "Nemotron-H-56B-Base-8K": (56.3, False),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": (31.6, False), "NVIDIA-Nemotron-3-Super-120B-A12B": (120.6, False),
    "NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16": (550, False), "Mistral-Small-24B-Instruct-2501": (23.6, False),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_published(name: str) -> None:
    billions, tied = PUBLISHED[name]
    shape = ModelShape.named(name)
    heads = 1 if tied else 2
    assert (shape.body + heads * shape.head) / 1e9 == pytest.approx(billions, rel=0.02)


# Whole files as they are published, by the name of their model.
FILES: dict[str, dict[str, Any]] = {
    "Qwen3.5-35B-A3B": {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"], "image_token_id": 248056, "model_type": "qwen3_5_moe",
        "text_config": {
            "attention_bias": False, "attention_dropout": 0.0, "attn_output_gate": True, "dtype": "bfloat16",
            "full_attention_interval": 4, "head_dim": 256, "hidden_act": "silu", "hidden_size": 2048,
            "layer_types": [*["linear_attention"] * 3, "full_attention"] * 10, "linear_conv_kernel_dim": 4,
            "linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
            "linear_value_head_dim": 128, "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144,
            "mlp_only_layers": [], "model_type": "qwen3_5_moe_text", "moe_intermediate_size": 512,
            "mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": False, "num_attention_heads": 16,
            "num_experts": 256, "num_experts_per_tok": 8, "num_hidden_layers": 40, "num_key_value_heads": 2,
            "rms_norm_eps": 1e-06, "router_aux_loss_coef": 0.001, "shared_expert_intermediate_size": 512,
            "use_cache": True, "vocab_size": 248320,
        },
        "tie_word_embeddings": False, "video_token_id": 248057, "vision_config": {"depth": 27, "hidden_size": 1152},
    },
    "DeepSeek-V3.2": {
        "architectures": ["DeepseekV32ForCausalLM"], "ep_size": 1, "first_k_dense_replace": 3, "hidden_size": 7168,
        "index_head_dim": 128, "index_n_heads": 64, "index_topk": 2048, "intermediate_size": 18432,
        "kv_lora_rank": 512, "model_type": "deepseek_v32", "moe_intermediate_size": 2048, "moe_layer_freq": 1,
        "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": True,
        "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
        "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
                                "scale_fmt": "ue8m0", "weight_block_size": [128, 128]},
        "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "topk_group": 4, "topk_method": "noaux_tc",
        "v_head_dim": 128, "vocab_size": 129280,
    },
    "Llama-4-Scout-17B-16E": {
        "architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4",
        "text_config": {
            "attention_chunk_size": 8192, "head_dim": 128, "hidden_size": 5120, "interleave_moe_layer_step": 1,
            "intermediate_size": 8192, "intermediate_size_mlp": 16384, "model_type": "llama4_text",
            "num_attention_heads": 40, "num_experts_per_tok": 1, "num_hidden_layers": 48, "num_key_value_heads": 8,
            "num_local_experts": 16, "use_qk_norm": True, "vocab_size": 202048,
        },
    },
    "GLM-4.6": {
        "architectures": ["Glm4MoeForCausalLM"], "attention_bias": True, "first_k_dense_replace": 3, "head_dim": 128,
        "hidden_size": 5120, "intermediate_size": 12288, "model_type": "glm4_moe", "moe_intermediate_size": 1536,
        "n_group": 1, "n_routed_experts": 160, "n_shared_experts": 1, "num_attention_heads": 96,
        "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8, "num_nextn_predict_layers": 1,
        "partial_rotary_factor": 0.5, "topk_group": 1, "use_qk_norm": True, "vocab_size": 151552,
    },
    "gemma-3-27b-it": {
        "model_type": "gemma3", "vision_config": {"hidden_size": 1152},
        "text_config": {
            "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
            "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "sliding_window": 1024,
            "query_pre_attn_scalar": 168,
        },
    },
    "MiniMax-M2": {
        "architectures": ["MiniMaxM2ForCausalLM"], "head_dim": 128, "hidden_size": 3072, "intermediate_size": 1536,
        "model_type": "minimax_m2", "mtp_transformer_layers": 1, "num_attention_heads": 48, "num_experts_per_tok": 8,
        "num_hidden_layers": 62, "num_key_value_heads": 8, "num_local_experts": 256, "num_mtp_modules": 3,
        "quantization_config": {"quant_method": "fp8", "fmt": "float8_e4m3fn", "weight_block_size": [128, 128],
                                "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]},
        "shared_intermediate_size": 0, "use_mtp": True, "vocab_size": 200064,
    },
}  # fmt: skip
ROUNDED = ("body", "head", "expert")


@pytest.mark.parametrize("name", FILES)
def test_a_name_and_the_whole_file_give_one_shape(name: str) -> None:
    """Rows are rounded to 0.1 million parameters; models of `configs` are exact."""
    named, read = ModelShape.named(name), ModelShape.from_config(FILES[name])
    for field in ROUNDED:
        exact = 0 if named.name in configs() else 1e-4
        assert getattr(named, field) == pytest.approx(getattr(read, field), rel=exact), field
    rest = {field: getattr(read, field) for field in (*ROUNDED, "name", "assumed")}
    assert named._replace(**rest) == read


def test_layers_of_several_kinds_are_kept_by_name() -> None:
    following = ModelShape.named("Qwen/Qwen3-Next-80B-A3B-Thinking")
    assert (following.states.layers, following.attention_layers, following.kv_values) == (36, 12, 12 * 2 * 2 * 256)
    assert ModelShape.named("deepseek-v3.2").indexer.topk == 2048
    lightning = ModelShape.named("minimax-text-01")
    assert (lightning.states.layers, lightning.attention_layers) == (70, 10)
    hybrid = ModelShape.named("nemotron-3-super-120b-a12b")
    assert (hybrid.states.layers, hybrid.attention_layers, hybrid.moe_layers) == (40, 8, 40)


def test_every_config_of_the_folder_is_a_name_with_its_source() -> None:
    assert len(configs()) >= 13
    for name, (source, _) in configs().items():
        assert ModelShape.named(name).name == name
        assert rows("models")[name]["source"] == source
        assert len(source) > 20
    with pytest.raises(ValueError, match=r"^model 'qwen3\.5-28b' is unknown; near names: Qwen3\.5-27B, "):
        ModelShape.named("qwen3.5-28b")
    with pytest.raises(
        ValueError, match=r"^model 'google/gemma-3n-E4B-it' is not in the table, .* near names: Gemma-3-4B"
    ):
        ModelShape.named("google/gemma-3n-E4B-it")
