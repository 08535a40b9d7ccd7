"""A field that is null or 0 is read as transformers' own class reads it, or refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.latency import ModelShape

BASE = {
    "vocab_size": 96, "hidden_size": 48, "intermediate_size": 112, "num_hidden_layers": 12, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16,
}  # fmt: skip
MOE = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
ROUTED = {"n_routed_experts": 6, "n_shared_experts": 2, "first_k_dense_replace": 2, **MOE}
LINEAR = {
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 12,
    "linear_conv_kernel_dim": 4,
}  # fmt: skip
LATENT = {"kv_lora_rank": 20, "q_lora_rank": 28, "qk_rope_head_dim": 8, "qk_nope_head_dim": 12, "v_head_dim": 16}
MAMBA = {
    "mamba_n_heads": 6, "mamba_d_head": 16, "mamba_n_groups": 2, "mamba_d_state": 10, "mamba_d_conv": 4,
    "attn_layer_indices": [0, 3, 6, 9], "head_dim": None,
}  # fmt: skip
FULL = ["full_attention"] * 12


def shape(kind: str, **changes: Any) -> ModelShape:
    return ModelShape.from_config({**BASE, "model_type": kind, **changes})


def windows(kind: str, **changes: Any) -> int:
    return shape(kind, **changes).window.layers


# Where the class has windows for layers by itself, a size of null ends in an error when the model runs.
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    **{
        f"{kind}: no window": (kind, {"sliding_window": None}, "has sliding_window null, but the code of its")
        for kind in ("gemma2", "gemma3_text", "cohere2", "olmo3", "exaone4")
    },
    "gpt_oss: no window": ("gpt_oss", {"sliding_window": None, "num_local_experts": 6, "num_experts_per_tok": 2},
                           "has sliding_window null"),
    "llama4: no chunk": ("llama4_text", {"attention_chunk_size": None, "num_local_experts": 6,
                                         "num_experts_per_tok": 1, "intermediate_size_mlp": 80},
                         "has attention_chunk_size null"),
    **{
        f"{kind}: no pattern": (kind, {"sliding_window_pattern": None}, "has sliding_window_pattern null, of which")
        for kind in ("gemma3_text", "cohere2", "exaone4")
    },
    # transformers writes this name beside layer_types, and its code reads the other one.
    **{
        f"{kind}: private pattern": (kind, {"_sliding_window_pattern": 3}, "has _sliding_window_pattern (3), which the")
        for kind in ("gemma2", "gemma3_text", "cohere2", "olmo3", "exaone4", "mistral")
    },
    # A pattern of windows is no field of these.
    **{
        f"{kind}: pattern": (kind, {"sliding_window_pattern": 3}, "has sliding_window_pattern (3), which is not under")
        for kind in ("gemma2", "olmo3", "mistral", "ministral", "starcoder2")
    },
    # No layer of these is dense: the class makes layers without any feed-forward block of a count of 0.
    **{
        f"{kind}: no experts": (kind, {name: 0, "num_experts_per_tok": 2}, f"{name} must be at least 1")
        for kind, name in (("mixtral", "num_local_experts"), ("phimoe", "num_local_experts"), ("olmoe", "num_experts"),
                           ("granitemoe", "num_local_experts"), ("gpt_oss", "num_local_experts"),
                           ("minimax_m2", "num_local_experts"), ("flex_olmo", "num_experts"))
    },
    **{
        f"{kind}: null experts": (kind, {name: None, "num_experts_per_tok": 2}, "has no num_experts or")
        for kind, name in (("mixtral", "num_local_experts"), ("olmoe", "num_experts"), ("gpt_oss", "num_local_experts"))
    },
    "null dense layers": ("glm4_moe", ROUTED | {"first_k_dense_replace": None}, "has first_k_dense_replace null"),
    "null sparse step": ("qwen3_moe", {"num_experts": 6, "decoder_sparse_step": None, **MOE}, "sparse_step null"),
    "null interval": ("qwen3_5_text", LINEAR | {"full_attention_interval": None}, "has full_attention_interval null"),
    "null end": ("ernie4_5_moe", {"moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 2,
                                  "moe_intermediate_size": 24, "moe_layer_end_index": None}, "end_index null"),
    "null first window": ("qwen2", {"use_sliding_window": True, "sliding_window": 32, "max_window_layers": None},
                          "has max_window_layers null"),
    "two counts of shared experts": ("glm4_moe", ROUTED | {"num_shared_experts": 0}, "which say the same"),
    "dense layers that are not read": ("glm4_moe_lite", ROUTED | LATENT | {"first_k_dense_replace": 0},
                                       "has first_k_dense_replace 0, which the code of its model_type does not read"),
    "latent experts of 0": ("nemotron_h", {"hybrid_override_pattern": "ME*-MEM*-MEM", "mamba_num_heads": 6,
                                           "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 10, "conv_kernel": 4,
                                           "moe_shared_expert_intermediate_size": 40, "n_routed_experts": 6,
                                           "n_shared_experts": 1, "moe_latent_size": 0, **MOE}, "moe_latent_size"),
    "heads of a state of 0": ("bamba", MAMBA | {"mamba_d_head": 0}, "mamba_d_head"),
    "heads of another width": ("bamba", MAMBA | {"mamba_d_head": 12}, "mamba_n_heads 6 times mamba_d_head 12 is not"),
    # JSON's true is no layer 1, and no other entry is taken for a layer that is not there.
    **{
        f"a layer that is {entry!r}": ("qwen3_moe", {"num_experts": 6, "mlp_only_layers": [0, entry], **MOE},
                                       "mlp_only_layers[1]")
        for entry in (True, 1.5, None, "x", -1, 12)
    },
    "an index that is true": ("bamba", MAMBA | {"attn_layer_indices": [True, 3]}, "attn_layer_indices[0]"),
    "an end that is true": ("ernie4_5_moe", {"moe_num_experts": 6, "moe_k": 2, "moe_num_shared_experts": 2,
                                             "moe_intermediate_size": 24, "moe_layer_end_index": True},
                            "moe_layer_end_index"),
    "types that are true": ("minimax", {"num_local_experts": 6, "num_experts_per_tok": 2,
                                        "attn_type_list": [True] * 12}, "attn_type_list must have a 0 or 1"),
    "null expansion": ("bamba", MAMBA | {"mamba_expand": None}, "has mamba_expand null"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_class_cannot_build_is_refused(case: str) -> None:
    kind, changes, words = REFUSED[case]
    with pytest.raises((ValueError, TypeError), match="config ") as error:
        shape(kind, **changes)
    assert words in str(error.value)


def test_null_windows_are_none_where_the_class_has_none() -> None:
    """Mistral, Mixtral and Qwen2 switch their windows off by null; a list of full layers is taken from any of them."""
    for kind in ("mistral", "ministral", "starcoder2", "phi3"):
        assert (windows(kind, sliding_window=None), windows(kind, sliding_window=32)) == (0, 12)
    for kind in ("gemma2", "gemma3_text", "cohere2", "olmo3", "exaone4"):
        assert windows(kind, sliding_window=None, layer_types=FULL) == 0
    for off in (False, None, 0):
        assert windows("qwen2", use_sliding_window=off, sliding_window=32, max_window_layers=8) == 0
    assert windows("qwen2", use_sliding_window=True, sliding_window=32, max_window_layers=8) == 4


def test_patterns_of_windows_are_those_of_the_class() -> None:
    """Gemma 3: one layer in 6, or in as many as sliding_window_pattern says; the private name agrees or is refused."""
    assert windows("gemma3_text") == windows("gemma3_text", _sliding_window_pattern=6) == 10
    assert windows("gemma3_text", sliding_window_pattern=3, _sliding_window_pattern=3) == 8
    assert windows("gemma3_text", _sliding_window_pattern=3, layer_types=FULL) == 0
    assert (windows("cohere2"), windows("cohere2", sliding_window_pattern=2)) == (9, 6)
    assert windows("exaone4", sliding_window_pattern="LLLG") == 9
    assert windows("gemma2", _sliding_window_pattern=2) == 6


def test_a_count_of_no_experts_is_dense_where_the_class_is() -> None:
    dense = shape("qwen3_moe", num_experts=0, **MOE)
    assert (dense.moe_layers, dense.body) == (0, shape("qwen3").body)
    for changes in ({"n_routed_experts": 0}, {"n_routed_experts": None}):
        for kind, given in (("deepseek_v3", ROUTED | LATENT), ("glm4_moe", ROUTED), ("solar_open", ROUTED)):
            with pytest.raises(ValueError, match="n_routed_experts"):
                shape(kind, **(given | changes))
    with pytest.raises(ValueError, match="num_experts must be at least 1"):
        shape("qwen3_5_moe_text", num_experts=0, shared_expert_intermediate_size=40, **MOE, **LINEAR)


def test_a_gate_stands_before_a_shared_expert_of_no_width() -> None:
    """Qwen2-MoE and Qwen3-Next; Qwen3-MoE has neither."""
    of_moe = {"num_experts": 6, **MOE}
    plain = shape("qwen3_moe", **of_moe).body
    assert shape("qwen2_moe", shared_expert_intermediate_size=0, **of_moe).body == plain + 12 * 48
    with pytest.raises(ValueError, match="shared_expert_intermediate_size"):
        shape("qwen3_moe", shared_expert_intermediate_size=40, **of_moe)


def test_heads_of_a_state_share_the_expanded_layer() -> None:
    """`auto` is expand times hidden over the heads; a state is inner numbers by d_state, and d_conv of the mixed."""
    auto, given = shape("bamba", **(MAMBA | {"mamba_d_head": "auto"})), shape("bamba", **MAMBA)
    assert auto.states == given.states
    assert given.states.numbers == 96 * 10 + (96 + 2 * 2 * 10) * 4
    assert given.states.layers == 8
    assert shape("qwen3").states.numbers == shape("qwen3").state_values == 0
