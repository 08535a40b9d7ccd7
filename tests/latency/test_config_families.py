"""Every model_type that is read: its layers, experts and caches are those of transformers' own class.

Matrices are compared one for one, so a field that is read wrong, or not at all, shows. Embeddings are left apart, as in
`ModelShape`, and so are biases, norms and the few numbers beside a matrix.
"""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest

from specsim.latency import ModelShape
from specsim.latency.configs.defaults import defaults_of
from specsim.latency.configs.families import FAMILIES
from specsim.latency.tables import grouped

# Families whose code is not in transformers: counted by hand in `test_config_reports.py`, or alike another family.
ELSEWHERE = {"", "internlm2", "deepseek", "bailing_moe", "bailing_moe_v2", "kimi_k2", "minimax_text_01", "minimax_m1"}
APART = re.compile(
    r"embed_tokens|embed_in|embed_out|embeddings|wte|wpe|embed_positions|lm_head|_bias$|forget_gate\.A_log$"
)
SMALL = {
    "vocab_size": 96, "hidden_size": 48, "intermediate_size": 112, "num_hidden_layers": 12, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0,
}  # fmt: skip
MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
ROUTED = {"n_routed_experts": 6, "n_shared_experts": 2, "first_k_dense_replace": 2, **MOE}
LATENT = {
    "kv_lora_rank": 20, "q_lora_rank": 28, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16,
    "num_key_value_heads": 4, "head_dim": None,
}  # fmt: skip
MIXED = ["conv", "full_attention", "conv"] * 4
LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
MAMBA = {
    "mamba_n_heads": 6, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 10, "mamba_d_conv": 4,
    "head_dim": None,
}  # fmt: skip
NEXT = {**LINEAR, "full_attention_interval": 3}
OWN: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 48, "n_layer": 3, "n_head": 4},
    "gptj": {"n_embd": 48, "n_layer": 3, "n_head": 4, "rotary_dim": 4},
    "gpt_bigcode": {"n_embd": 48, "n_layer": 3, "n_head": 4}, "bloom": {"hidden_size": 48, "n_layer": 3, "n_head": 4},
    "opt": {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "ffn_dim": 112,
            "word_embed_proj_dim": 48},
    "falcon": {"hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "num_kv_heads": 4},
    "stablelm": {"head_dim": None}, "helium": {"head_dim": 12},
    "gemma2": {"sliding_window": 32}, "gemma3_text": {"sliding_window": 32}, "cohere2": {"sliding_window": 32},
    "mistral": {"sliding_window": 32}, "qwen2": {"use_sliding_window": True, "sliding_window": 32,
                                                  "max_window_layers": 8},
    "olmo3": {"sliding_window": 32}, "exaone4": {"sliding_window": 32},
    "mixtral": {"num_local_experts": 6, "num_experts_per_tok": 2},
    "phimoe": {"num_local_experts": 6, "num_experts_per_tok": 2},
    "granitemoe": {"num_local_experts": 6, "num_experts_per_tok": 2},
    "granitemoeshared": {"num_local_experts": 6, "num_experts_per_tok": 2, "shared_intermediate_size": 40},
    "olmoe": {"num_experts": 6, "num_experts_per_tok": 2}, "flex_olmo": {"num_experts": 6, "num_experts_per_tok": 2},
    "gpt_oss": {"num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 32},
    "qwen2_moe": {"num_experts": 6, "shared_expert_intermediate_size": 40, "decoder_sparse_step": 2, **MOE},
    "qwen3_moe": {"num_experts": 6, "mlp_only_layers": [0, 3], **MOE},
    "llama4_text": {"num_local_experts": 6, "num_experts_per_tok": 1, "intermediate_size_mlp": 80,
                    "interleave_moe_layer_step": 2, "attention_chunk_size": 32},
    "ernie4_5_moe": {"moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 2, "moe_intermediate_size": 24,
                     "moe_layer_start_index": 1, "moe_layer_end_index": 10, "moe_layer_interval": 2,
                     "head_dim": None},
    "glm4_moe": ROUTED, "dots1": ROUTED, "solar_open": {**ROUTED, "first_k_dense_replace": 0},
    "deepseek_v2": {**ROUTED, **LATENT}, "deepseek_v3": {**ROUTED, **LATENT}, 
    "glm4_moe_lite": {**ROUTED, **LATENT, "first_k_dense_replace": 1},
    "deepseek_v32": {**ROUTED, **LATENT, "index_topk": 16, "index_head_dim": 12, "index_n_heads": 3},
    "glm_moe_dsa": {**ROUTED, **LATENT, "index_topk": 16, "index_head_dim": 12, "index_n_heads": 3},
    "minimax_m2": {"num_local_experts": 6, "num_experts_per_tok": 2},
    "minimax": {"num_local_experts": 6, "num_experts_per_tok": 2, "layer_types": ["linear_attention"] * 9
                + ["full_attention"] * 3},
    "qwen3_next": {"num_experts": 6, "shared_expert_intermediate_size": 40, **MOE, **NEXT},
    "qwen3_5_moe_text": {"num_experts": 6, "shared_expert_intermediate_size": 40, **MOE, **NEXT},
    "qwen3_5_text": NEXT,
    "kimi_linear": {**LATENT, "q_lora_rank": None, "num_experts": 6, "num_experts_per_token": 2,
                    "num_shared_experts": 2, "moe_intermediate_size": 24, "first_k_dense_replace": 1,
                    "linear_attn_config": {"full_attn_layers": [4, 8, 12], "num_heads": 3, "head_dim": 16,
                                           "kda_layers": [1, 2, 3, 5, 6, 7, 9, 10, 11], "short_conv_kernel_size": 4}},
    "jamba": {"attn_layer_period": 4, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1,
              "num_experts": 6, "num_experts_per_tok": 2, "mamba_d_state": 10, "mamba_dt_rank": 3, "head_dim": None},
    "granitemoehybrid": {"num_local_experts": 6, "num_experts_per_tok": 2, "shared_intermediate_size": 40,
                         "layer_types": ["mamba", "attention", "mamba"] * 4, **MAMBA},
    "bamba": {**MAMBA, "attn_layer_indices": [3, 9]}, "falcon_h1": {**MAMBA, "mamba_d_ssm": 96},
    "nemotron_h": {"hybrid_override_pattern": "ME*-MEM*-MEM", "mamba_num_heads": 6, "mamba_head_dim": 16, "n_groups": 2,
                   "ssm_state_size": 10, "moe_shared_expert_intermediate_size": 40, "n_routed_experts": 6,
                   "n_shared_experts": 1, "conv_kernel": 4, "moe_latent_size": 20, **MOE},
    "lfm2": {"layer_types": MIXED, "block_multiple_of": 16, "conv_L_cache": 3, "head_dim": None},
    "lfm2_moe": {"layer_types": MIXED, "num_experts": 6, "num_dense_layers": 2, "conv_L_cache": 3,
                 "head_dim": None, **MOE},
}  # fmt: skip
# Defaults that are taken of one or two families alone.
SIZES = {
    *("mamba_d_state", "mamba_d_conv", "mamba_dt_rank", "n_groups", "conv_kernel", "mamba_head_dim", "ssm_state_size"),
}
OLD = {"gpt2", "gptj", "gpt_bigcode", "bloom", "opt", "falcon"}


def config(kind: str) -> dict[str, Any]:
    """A small config of a model_type, as its file would say it."""
    base = {"vocab_size": 96} if kind in OLD else SMALL
    given = {**base, **OWN.get(kind, {})}
    return {"model_type": kind, **{name: value for name, value in given.items() if value is not None}}


def built(kind: str) -> Any:
    """transformers' own model of it, without memory for its weights."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    transformers.logging.set_verbosity(logging.ERROR)
    given = config(kind)
    layers = given.pop("num_hidden_layers", None) if kind == "nemotron_h" else None
    assert layers in (None, 12)
    made = transformers.AutoConfig.for_model(given.pop("model_type"), **given)
    with torch.device("meta"):
        return transformers.AutoModelForCausalLM.from_config(made)


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ELSEWHERE])
def test_the_layers_are_those_of_transformers(kind: str) -> None:
    model = built(kind)
    shape = ModelShape.from_config(config(kind))
    matrices = {n: p.numel() for n, p in model.named_parameters() if p.ndim >= 2 and not APART.search(n)}
    routed = sum(count for name, count in matrices.items() if ".experts." in name)
    assert shape.body == sum(matrices.values())
    assert shape.moe_layers * shape.experts * shape.expert == routed
    # What one token reads: of the experts its own.
    number = getattr(model.config, "num_experts_per_tok", None) or getattr(model.config, "moe_k", 0) or 0
    share = routed * number / shape.experts if shape.experts else 0
    assert shape.active == sum(matrices.values()) - routed + share + shape.head
    assert shape.head == 96 * 48
    assert shape.unread == ()


HYBRID = ["gemma3_text", "qwen2", "llama4_text", "qwen3_next", "kimi_linear", "nemotron_h", "jamba"]


@pytest.mark.parametrize("kind", HYBRID)
def test_the_kinds_of_layers_are_those_of_transformers(kind: str) -> None:
    made = built(kind).config
    told = list(getattr(made, "layer_types", None) or made.layers_block_type)
    shape = ModelShape.from_config(config(kind))
    windows = sum(one in ("sliding_attention", "chunked_attention") for one in told)
    assert shape.window.layers == windows
    assert shape.caching_layers == windows + sum(one in ("full_attention", "attention") for one in told)
    assert shape.states.layers == sum(one in ("linear_attention", "mamba") for one in told)


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ELSEWHERE])
def test_defaults_of_left_out_fields_are_those_of_transformers(kind: str) -> None:
    mapping = pytest.importorskip("transformers").models.auto.configuration_auto.CONFIG_MAPPING
    known = {row["field"] for rows in grouped("config_defaults", "model_type").values() for row in rows} - SIZES
    own = {name: field.default for name, field in mapping[kind].__dataclass_fields__.items()}
    declared = {name: value for name, value in own.items() if name in known and isinstance(value, int | str)}
    assert {name: value for name, value in defaults_of(kind, {}).items() if name not in SIZES} == declared


@pytest.mark.parametrize("kind", [kind for kind in FAMILIES if kind not in ELSEWHERE])
def test_what_transformers_writes_names_nothing(kind: str) -> None:
    """A file with every field of the class, defaults included: no answer drowns in names."""
    shape = ModelShape.from_config(json.loads(built(kind).config.to_json_string(use_diff=False)))
    assert (shape.unread, shape.assumed, shape.notes) == ((), (), ())
