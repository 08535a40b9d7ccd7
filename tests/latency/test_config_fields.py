"""Fields of configs that are read by their names: what says layers is never harmless, and public files are read."""

from __future__ import annotations

from typing import Any

import pytest

from specsim import ModelShape
from specsim.latency.quantization import declared_weights

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip
NANO: dict[str, Any] = {
    "model_type": "nemotron_h", "hidden_size": 4480, "intermediate_size": 15680, "num_hidden_layers": 56,
    "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-", "num_attention_heads": 40,
    "num_key_value_heads": 8, "head_dim": 128, "mamba_num_heads": 128, "mamba_head_dim": 80, "ssm_state_size": 128,
    "n_groups": 8, "conv_kernel": 4, "chunk_size": 128, "expand": 2, "vocab_size": 131072,
    "mlp_hidden_act": "relu2", "tie_word_embeddings": False,
}  # fmt: skip
LFM2: dict[str, Any] = {
    "model_type": "lfm2", "hidden_size": 2048, "block_dim": 2048, "conv_dim": 2048, "conv_dim_out": 2048,
    "block_ff_dim": 12288, "block_multiple_of": 256, "block_ffn_dim_multiplier": 1.0,
    "block_auto_adjust_ff_dim": True, "block_use_swiglu": True, "block_norm_eps": 1e-5, "conv_L_cache": 3,
    "full_attn_idxs": [2, 5, 8, 10, 12, 14], "num_attention_heads": 32, "num_heads": 32, "num_hidden_layers": 16,
    "num_key_value_heads": 8, "vocab_size": 65536,
}  # fmt: skip
COHERE2: dict[str, Any] = {
    "model_type": "cohere2", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 256000, "sliding_window": 4096,
    "sliding_window_pattern": 4,
}  # fmt: skip
SAYS_LAYERS = [
    *("total_ut_steps", "softmax_attn_layers", "num_residual_streams", "initial_dense_layers", "aux_layer_rank"),
    *("output_head_rank", "kv_bias_rank", "scaled_experts", "token_drop_layers", "rope_layers", "quant_experts"),
    *("beta_blocks", "router_heads", "residual_layers_idx", "num_summary_loops", "dropped_layer_ids"),
]


@pytest.mark.parametrize("name", SAYS_LAYERS)
def test_a_field_that_says_layers_is_refused(name: str) -> None:
    """A word such as `softmax`, or `eps` in `steps`, made them harmless: they were left out without a word."""
    with pytest.raises(ValueError, match=f"has {name} .4., which is not understood of model_type llama"):
        ModelShape.from_config(LLAMA | {name: 4})


@pytest.mark.parametrize("name", ["rms_norm_eps", "eps", "no_rope_layers", "scale_attn_by_inverse_layer_idx"])
def test_a_harmless_field_stays_harmless(name: str) -> None:
    assert ModelShape.from_config(LLAMA | {name: 1}) == ModelShape.from_config(LLAMA)


def test_nemotron_h_without_experts_needs_none() -> None:
    """The class's default of eight experts made it ask for num_experts_per_tok."""
    nano = ModelShape.from_config(NANO)
    assert nano.experts == 0
    assert nano.body + 2 * nano.head == pytest.approx(8.89e9, rel=0.01)  # with its embeddings
    with pytest.raises(ValueError, match="has no num_experts_per_tok"):
        ModelShape.from_config(NANO | {"hybrid_override_pattern": NANO["hybrid_override_pattern"][:-1] + "E"})


def test_fields_that_repeat_a_width_are_read() -> None:
    """LFM2's own file."""
    lfm2 = ModelShape.from_config(LFM2)
    assert lfm2.body + lfm2.head == pytest.approx(1.17e9, rel=0.01)
    for name in ("block_dim", "conv_dim", "conv_dim_out", "num_heads"):
        with pytest.raises(ValueError, match=f"has {name} 16 where"):
            ModelShape.from_config(LFM2 | {name: 16})


def test_switches_that_no_code_reads_change_nothing() -> None:
    told = COHERE2 | dict.fromkeys(("use_parallel_block", "use_parallel_embedding", "use_gated_activation"), True)
    assert ModelShape.from_config(told) == ModelShape.from_config(COHERE2)


def test_modelopts_int4_has_a_scale_for_128_weights() -> None:
    told = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}}
    weights = declared_weights(LLAMA | told, "mine")
    assert weights is not None
    assert weights.layers == 4 + 16 / 128


def test_an_automatic_rank_is_rounded_up() -> None:
    """A sixteenth of the width, as Jamba's class has it: 3 of 40."""
    jamba = {
        "model_type": "jamba", "hidden_size": 40, "intermediate_size": 112, "num_hidden_layers": 8,
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 96, "num_experts": 2,
        "num_experts_per_tok": 1, "attn_layer_period": 8, "mamba_d_state": 10, "mamba_d_conv": 4, "mamba_expand": 2,
    }  # fmt: skip
    auto, told = (ModelShape.from_config(jamba | {"mamba_dt_rank": rank}) for rank in ("auto", 3))
    assert auto == told


def test_two_drafts_in_a_step_are_refused() -> None:
    head = LLAMA | {"draft_vocab_size": 100, "num_hidden_layers": 1, "eagle_config": {"parallel_draft_step": 2}}
    with pytest.raises(ValueError, match="drafts 2 tokens in a step"):
        ModelShape.from_config(head)
