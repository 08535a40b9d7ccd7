"""Fields by whole names, families by their classes, and fields that say one thing twice."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.latency import ModelShape
from specsim.latency.configs.families import ALIASES, FAMILIES
from specsim.latency.configs.harmless import is_harmless
from specsim.latency.configs.model_types import NOTHING, of_class

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
MOE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768}

# Fields that a word in their name made harmless, and that say what layers hold or cache.
REFUSED = {
    "residual_mlp_width": 512, "ffn_multipliers": [0.5, 4.0], "router_experts_width": 64, "ffn_dim_multiplier": 1.3,
    "kv_lora_bias": 4, "attn_bias_rank": 8, "qk_rope_head_dim": 64, "moe_dtype_experts": 4, "num_kv_alpha": 2,
    "lm_head_dtype": "fp8", "residual_mlp_ratio": 2, "conv_bias_width": 4, "layer_drop_ids": [3],
    "quant_layers": [1, 2], "mlp_bias": 12, "rotary_blocks": 2, "output_mlp_dim": 64, "kv_quant": 4, "kv_limit": 512,
    "attention_multiplier_dim": 2, "norm_head_rank": 8,
}  # fmt: skip
# Fields that say nothing of layers by their names, and are named.
NAMED = {
    "weight_quant": "ternary", "token_limit": 4, "residual_scale": 2.0, "my_multiplier": 2.0, "score_ratio": 3,
    "softcap_list": [1, 2], "theta_ratio": 3, "loss_map": "x",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_part_of_a_name_makes_no_field_harmless(name: str) -> None:
    words = f"has {name} .*which is not understood of model_type llama; .*, a copy of the file without it"
    with pytest.raises(ValueError, match=words):
        ModelShape.from_config(LLAMA | {name: REFUSED[name]})


@pytest.mark.parametrize("name", NAMED)
def test_a_field_that_is_not_understood_is_named(name: str) -> None:
    assert ModelShape.from_config(LLAMA | {name: NAMED[name]}).unread == (name,)


def test_switches_and_words_are_harmless_by_their_value() -> None:
    assert is_harmless("my_bias", True)
    assert not is_harmless("my_bias", 4)
    assert is_harmless("my_act", "silu")
    assert not is_harmless("my_act", 3)
    assert not is_harmless("experts_norm_width", True)


# Files as they are published, with fields that no class of transformers has.
PUBLIC: dict[str, dict[str, Any]] = {
    "Ring-mini-sparse": {
        "architectures": ["BailingMoeV2ForCausalLM"], "model_type": "bailing_moe", "attention_dropout": 0.0,
        "num_hidden_layers": 20, "hidden_size": 2048, "intermediate_size": 5120, "first_k_dense_replace": 1,
        "hidden_act": "silu", "max_position_embeddings": 32768, "moe_intermediate_size": 512, "norm_topk_prob": True,
        "num_experts_per_tok": 8, "num_attention_heads": 16, "num_experts": 256, "num_key_value_heads": 4,
        "rope_theta": 600000, "use_rmsnorm": True, "rms_norm_eps": 1e-6, "head_dim": 128, "num_shared_experts": 1,
        "use_qkv_bias": False, "embedding_dropout": 0.0, "output_dropout": 0.0, "vocab_size": 157184,
        "partial_rotary_factor": 0.5, "router_dtype": "fp32", "moe_router_enable_expert_bias": True,
        "routed_scaling_factor": 2.5, "n_group": 8, "topk_group": 4, "use_qk_norm": True, "score_function": "sigmoid",
        "moe_shared_expert_intermediate_size": 512, "mtp_loss_scaling_factor": 0.1, "max_window_layers": 20,
    },
    "Ling-Coder-lite": {
        "architectures": ["BailingMoeForCausalLM"], "model_type": "bailing_moe", "first_k_dense_replace": 0,
        "hidden_size": 2048, "initializer_range": 0.006, "intermediate_size": 5632, "moe_intermediate_size": 1408,
        "num_experts": 64, "num_shared_experts": 2, "norm_topk_prob": True, "num_attention_heads": 16,
        "num_experts_per_tok": 6, "num_hidden_layers": 28, "num_key_value_heads": 4, "pretraining_tp": 1,
        "vocab_size": 126464, "output_router_logits": False, "norm_head": True, "norm_softmax": True, "head_dim": 128,
    },
    "MiniMax-M2": {
        "architectures": ["MiniMaxM2ForCausalLM"], "model_type": "minimax_m2", "attn_type_list": [1] * 62,
        "head_dim": 128, "hidden_size": 3072, "intermediate_size": 1536, "layernorm_full_attention_beta": 1.0,
        "layernorm_linear_attention_beta": 1.0, "layernorm_mlp_beta": 1.0, "mlp_intermediate_size": 8192,
        "mtp_transformer_layers": 1, "num_attention_heads": 48, "num_experts_per_tok": 8, "num_hidden_layers": 62,
        "num_key_value_heads": 8, "num_local_experts": 256, "num_mtp_modules": 3, "qk_norm_type": "per_layer",
        "scoring_func": "sigmoid", "shared_intermediate_size": 0, "shared_moe_mode": "sigmoid", "vocab_size": 200064,
        "use_mtp": True, "use_routing_bias": True, "rotary_dim": 64, "quantization_config": {"quant_method": "fp8",
        "modules_to_not_convert": ["gate", "e_score_correction_bias", "lm_head"]},
    },
    "QwQ-32B": {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "attention_dropout": 0.0, "hidden_act": "silu",
        "hidden_size": 5120, "initializer_range": 0.02, "intermediate_size": 27648, "max_position_embeddings": 32768,
        "max_window_layers": 64, "num_attention_heads": 40, "num_hidden_layers": 64, "num_key_value_heads": 8,
        "rms_norm_eps": 1e-5, "rope_theta": 1e6, "sliding_window": 32768, "use_sliding_window": False,
        "vocab_size": 152064, "quantization_config": {"quant_method": "exl2", "bits": 3.7, "head_bits": 6},
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_published_files_name_nothing(name: str) -> None:
    shape = ModelShape.from_config(PUBLIC[name])
    assert (shape.unread, shape.assumed) == ((), ())


def test_a_published_sparse_attention_is_refused() -> None:
    """Ring-mini-sparse reads blocks of its context: its file says so in a field of its own."""
    with pytest.raises(ValueError, match="has moba_block_size"):
        ModelShape.from_config(PUBLIC["Ring-mini-sparse"] | {"moba_block_size": 1024})


def test_a_family_is_known_by_its_class() -> None:
    auto = pytest.importorskip("transformers").models.auto.modeling_auto
    for names in (auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES):
        for kind in (*FAMILIES, *ALIASES):
            if names.get(kind) and kind != "internlm3":  # which is written as Llama
                assert of_class(names[kind]) == ALIASES.get(kind, kind)
    assert of_class("Eagle3LlamaForCausalLM") == of_class("MambaForCausalLM") == of_class("ForCausalLM") == ""


BY_CLASS: dict[str, dict[str, Any]] = {
    "Llama4ForCausalLM": {"num_local_experts": 16, "num_experts_per_tok": 1, "intermediate_size_mlp": 16384},
    "PhiForCausalLM": {}, "GPTNeoXForCausalLM": {}, "Gemma2ForCausalLM": {"head_dim": 128},
    "Qwen3MoeForCausalLM": MOE, "GptOssForCausalLM": {"num_local_experts": 8, "num_experts_per_tok": 2},
    "NemotronForCausalLM": {}, "MistralForCausalLM": {},
}  # fmt: skip


@pytest.mark.parametrize("name", BY_CLASS)
def test_without_model_type_the_class_says_the_family(name: str) -> None:
    own = {k: v for k, v in LLAMA.items() if k != "model_type"} | BY_CLASS[name]
    kind = of_class(name)
    found, same = (
        ModelShape.from_config(own | {"architectures": [name]}),
        ModelShape.from_config(own | {"model_type": kind}),
    )
    assert found._replace(notes=(), name="") == same._replace(name="")
    assert found.notes == (f"has no model_type; it is read as {kind}, by its architectures",)


def test_an_unknown_class_is_refused_and_no_class_is_said() -> None:
    own = {k: v for k, v in LLAMA.items() if k != "model_type"}
    for name in ("MambaForCausalLM", "BertModel"):
        with pytest.raises(ValueError, match=f"has no model_type, but architectures of {name}, whose layers are not"):
            ModelShape.from_config(own | {"architectures": [name]})
    assert ModelShape.from_config(own).notes == (NOTHING,)
    assert ModelShape.from_config(LLAMA).notes == ()
    (note,) = ModelShape.from_config(LLAMA | {"architectures": ["PhiForCausalLM"]}).notes
    assert note == "has model_type llama, but architectures of phi; it is read as llama"
    nested = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": own | {"head_dim": 128}}
    assert ModelShape.from_config(nested).notes == (
        "has no model_type; it is read as gemma3_text, by its architectures",
    )


def test_a_window_that_is_switched_off_is_not_assumed() -> None:
    for kind in ("qwen2", "qwen3"):
        own = LLAMA | {"model_type": kind, "head_dim": 128}
        for switch in ({"use_sliding_window": False}, {}):
            shape = ModelShape.from_config(own | switch)
            assert (shape.assumed, shape.window.layers) == ((), 0)
        on = ModelShape.from_config(own | {"use_sliding_window": True})
        assert on.assumed == ("max_window_layers 28", "sliding_window 4096")


# Defaults that do not count where a list says which layers there are.
LISTED: dict[str, dict[str, Any]] = {
    "glm4_moe": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
                 "mlp_layer_types": ["sparse"] * 32},
    "llama4_text": {"num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 99, "head_dim": 128,
                    "moe_layers": list(range(32)), "layer_types": ["full_attention"] * 32},
    "gemma3_text": {"head_dim": 128, "sliding_window": 512,
                    "layer_types": ["full_attention"] * 31 + ["sliding_attention"]},
}  # fmt: skip


def test_windows_that_are_switched_off_say_nothing() -> None:
    """EAGLE heads of Qwen's are Llamas by model_type, and keep Qwen's fields."""
    plain = ModelShape.from_config(LLAMA)
    for off in ({"max_window_layers": 36}, {"use_sliding_window": False, "sliding_window": 4096}):
        assert ModelShape.from_config(LLAMA | off) == plain
    for on in ({"use_sliding_window": True, "max_window_layers": 36}, {"sliding_window": 4096}):
        with pytest.raises(ValueError, match="is not understood of model_type llama"):
            ModelShape.from_config(LLAMA | on)


@pytest.mark.parametrize("kind", LISTED)
def test_defaults_of_what_a_list_says_are_not_assumed(kind: str) -> None:
    assert ModelShape.from_config(LLAMA | LISTED[kind] | {"model_type": kind}).assumed == ()


TWICE = {
    "layers": ({"n_layer": 24}, "num_hidden_layers 32 and n_layer 24"),
    "layers, by another name": ({"num_layers": 24}, "num_hidden_layers 32 and num_layers 24"),
    "widths": ({"n_embd": 2048}, "hidden_size 4096 and n_embd 2048"),
    "widths, by another name": ({"d_model": 2048}, "hidden_size 4096 and d_model 2048"),
    "heads": ({"n_head": 16}, "num_attention_heads 32 and n_head 16"),
    "heads of the cache": ({"num_kv_heads": 4}, "num_key_value_heads 8 and num_kv_heads 4"),
    "groups of queries": ({"num_query_groups": 4}, "num_key_value_heads 8 and num_query_groups 4"),
    "widths of heads": ({"head_dim": 128, "attention_head_dim": 64}, "head_dim 128 and attention_head_dim 64"),
    "windows": ({"model_type": "gemma2", "head_dim": 128, "sliding_window": 4096, "sliding_window_size": 512},
                "sliding_window 4096 and sliding_window_size 512"),
    "feed-forward blocks": ({"model_type": "gpt2", "n_inner": 8192}, "intermediate_size 14336 and n_inner 8192"),
}  # fmt: skip


@pytest.mark.parametrize("case", TWICE)
def test_two_names_of_one_number_must_agree(case: str) -> None:
    own, words = TWICE[case]
    with pytest.raises(ValueError, match=f"has {words}, which say the same; leave out one of them"):
        ModelShape.from_config(LLAMA | own)


def test_two_names_that_agree_are_one() -> None:
    own = {"n_layer": 32, "n_embd": 4096, "n_head": 32, "num_kv_heads": 8, "n_layers": 32}
    assert ModelShape.from_config(LLAMA | own) == ModelShape.from_config(LLAMA)
    listed = {"model_type": "lfm2", "layer_types": ["full_attention", "conv"] * 16, "conv_L_cache": 3}
    same = ModelShape.from_config(LLAMA | listed)
    assert ModelShape.from_config(LLAMA | listed | {"layers_block_type": ["attention", "conv"] * 16}) == same
    with pytest.raises(ValueError, match="layer_types and layers_block_type disagree"):
        ModelShape.from_config(LLAMA | listed | {"layers_block_type": ["conv", "attention"] * 16})


def test_a_nested_decoder_must_agree_with_what_holds_it() -> None:
    text = LLAMA | {"model_type": "qwen3", "head_dim": 128}
    outer = {"model_type": "qwen3_vl", "text_config": text, "vision_config": {"hidden_size": 1152}}
    plain = ModelShape.from_config(outer)
    agreeing = {"hidden_size": 4096, "num_hidden_layers": 32, "torch_dtype": "bfloat16", "initializer_range": 0.5}
    assert ModelShape.from_config(outer | agreeing) == plain
    for name in ("num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size", "intermediate_size"):
        with pytest.raises(ValueError, match=f"has {name} 16, and in text_config {text[name]}; make them agree"):
            ModelShape.from_config(outer | {name: 16})
    # A field that the decoder itself lacks is not read from outside, and named.
    assert ModelShape.from_config(outer | {"sliding_window": 512}).unread == ("sliding_window (beside text_config)",)


def test_states_in_the_type_that_is_assumed_are_read() -> None:
    """Real files of Qwen3.5 and 3.6 say so; another type would cost another number of bytes."""
    assert is_harmless("mamba_ssm_dtype", "float32")
    assert not is_harmless("mamba_ssm_dtype", "bfloat16")
    assert is_harmless("output_gate_type", "swish")
    assert not is_harmless("output_gate_type", 3)
