"""Configs that were misread: each by the name of its report, with the numbers of the model's class or its paper."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from specsim import ModelShape, roofline
from specsim.latency import Constants
from specsim.latency.drafters import of_target

WAY_ON = (
    r"what works without it: specsim plan --cost-ratio .* with ALPHA or --hazards; specsim diagnose \(two logs\); "
    r"specsim-real compare"
)
SCOUT: dict[str, Any] = {
    "architectures": ["Llama4ForConditionalGeneration"], "model_type": "llama4", "vision_config": {"hidden_size": 1408},
    "text_config": {
        "model_type": "llama4_text", "hidden_size": 5120, "intermediate_size": 8192, "intermediate_size_mlp": 16384,
        "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
        "vocab_size": 202048, "num_local_experts": 16, "num_experts_per_tok": 1, "interleave_moe_layer_step": 1,
        "attention_chunk_size": 8192,
    },
}  # fmt: skip
MINIMAX: dict[str, Any] = {
    "architectures": ["MiniMaxText01ForCausalLM"], "model_type": "minimax_text_01", "hidden_size": 6144,
    "intermediate_size": 9216, "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8,
    "head_dim": 128, "num_local_experts": 32, "num_experts_per_tok": 2, "shared_intermediate_size": 0,
    "vocab_size": 200064, "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10,
}  # fmt: skip
KIMI: dict[str, Any] = {
    "architectures": ["KimiLinearForCausalLM"], "model_type": "kimi_linear", "hidden_size": 2304,
    "intermediate_size": 9216, "moe_intermediate_size": 1024, "num_hidden_layers": 27, "num_attention_heads": 32,
    "num_key_value_heads": 32, "head_dim": 72, "kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "num_experts": 256, "num_experts_per_token": 8,
    "num_shared_experts": 1, "first_k_dense_replace": 1, "moe_layer_freq": 1, "vocab_size": 163840,
    "linear_attn_config": {
        "full_attn_layers": [4, 8, 12, 16, 20, 24, 27], "head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4,
        "kda_layers": [i for i in range(1, 27) if i % 4],
    },
}  # fmt: skip
NEXT: dict[str, Any] = {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "hidden_size": 2048,
    "intermediate_size": 5120, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
    "head_dim": 256, "vocab_size": 151936, "num_experts": 512, "num_experts_per_tok": 10,
    "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "full_attention_interval": 4,
    "decoder_sparse_step": 1, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mlp_only_layers": [],
}  # fmt: skip
V32: dict[str, Any] = {
    "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 3, "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280, "index_n_heads": 64,
    "index_head_dim": 128, "index_topk": 2048, "num_nextn_predict_layers": 1, "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
}  # fmt: skip
DFLASH: dict[str, Any] = {
    "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "block_size": 16, "hidden_size": 4096,
    "intermediate_size": 12288, "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "num_target_layers": 36, "vocab_size": 151936,
    "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]},
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
NANO: dict[str, Any] = {
    "architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "hidden_size": 2688,
    "num_hidden_layers": 52, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128, "mamba_num_heads": 64, "mamba_head_dim": 64,
    "ssm_state_size": 128, "intermediate_size": 1856, "moe_intermediate_size": 1856, "n_routed_experts": 128,
    "n_shared_experts": 1, "num_experts_per_tok": 6, "vocab_size": 131072,
}  # fmt: skip


def billions(shape: ModelShape) -> float:
    return (shape.body + shape.head) / 1e9


def test_report_03_llama4_shared_expert() -> None:
    """Scout is 107.77 billion with its embeddings, 17 read by a token."""
    shape = ModelShape.from_config(SCOUT)
    assert billions(shape) == pytest.approx(106.73, abs=0.01)
    assert shape.active / 1e9 == pytest.approx(16.14, abs=0.01)
    assert (shape.window.layers, shape.window.tokens) == (36, 8192)
    # Maverick: every second layer has 128 experts; 400 billion, 17 read by a token.
    text = SCOUT["text_config"] | {"num_local_experts": 128, "interleave_moe_layer_step": 2}
    maverick = ModelShape.from_config(SCOUT | {"text_config": text})
    assert (maverick.moe_layers, round(billions(maverick)), round(maverick.active / 1e9)) == (24, 400, 16)


def test_report_05_linear_attention_by_other_fields() -> None:
    minimax, kimi = ModelShape.from_config(MINIMAX), ModelShape.from_config(KIMI)
    assert (minimax.kv_values, kimi.kv_values) == (20_480, 4_032)
    assert (minimax.states.layers, kimi.states.layers) == (70, 20)
    assert (minimax.body + 2 * minimax.head) / 1e9 == pytest.approx(456, abs=0.2)  # as its paper prints it
    assert kimi.shared - ModelShape.from_config(KIMI | {"num_shared_experts": 0}).shared == 26 * 3 * 2304 * 1024
    full = MINIMAX | {"attn_type_list": [1] * 80}
    assert ModelShape.from_config(full).kv_values == 163_840
    wrong = MINIMAX | {"attn_type_list": [1] * 79}
    with pytest.raises(ValueError, match=r"attn_type_list must have a 0 or 1 for each of 80 layers"):
        ModelShape.from_config(wrong)


def test_report_10_hybrids_are_counted() -> None:
    shape = ModelShape.from_config(NEXT)
    assert (shape.body + 2 * shape.head) / 1e9 == pytest.approx(79.67, abs=0.005)
    assert (shape.kv_values, shape.caching_layers) == (12 * 2 * 2 * 256, 12)
    # A file that leaves out the width of its shared expert is refused, with a way on.
    with pytest.raises(ValueError, match=f"has no moe_shared_expert_intermediate_size; .*{WAY_ON}"):
        ModelShape.from_config(NANO)
    nano = ModelShape.from_config(NANO | {"moe_shared_expert_intermediate_size": 3712})
    assert (nano.body + 2 * nano.head) / 1e9 == pytest.approx(31.6, abs=0.1)  # 30B-A3B
    assert (nano.caching_layers, nano.states.layers, nano.moe_layers) == (6, 23, 23)


def test_report_09_dflash_head() -> None:
    shape = ModelShape.from_config(DFLASH)
    assert (shape.drafter, shape.block, shape.fusion) == ("dflash", 16, 5 * 4096 * 4096)
    times = roofline("qwen3-8b", shape, "h100-sxm")
    assert (times.one_pass, times.longest) == (True, 15)
    assert times.parts(15)[0] == times.parts(1)[0]
    with pytest.raises(ValueError, match=r"^gamma is 16; this drafter makes 15 drafts a block at most$"):
        times.parts(16)
    assert "15 drafts at most" in " ".join(times.assumptions)
    # The same as speculators writes it, and without the architecture's name.
    plain = {key: value for key, value in DFLASH.items() if key not in ("architectures", "block_size", "dflash_config")}
    speculator = {"speculators_model_type": "dflash", "block_size": 8, "transformer_layer_config": plain,
                  "aux_hidden_state_layer_ids": [2, 18, 33], "mask_token_id": 5}  # fmt: skip
    found = ModelShape.from_config(speculator)
    assert (found.drafter, found.block, found.fusion) == ("dflash", 8, 3 * 4096 * 4096)
    assert ModelShape.from_config(DFLASH | {"architectures": ["Qwen3ForCausalLM"]}).block == 16
    with pytest.raises(ValueError, match="drafts a block in one pass, but has no block_size"):
        ModelShape.from_config({k: v for k, v in DFLASH.items() if k != "block_size"})


def test_sparse_attention_reads_what_it_picks() -> None:
    """DeepSeek-V3.2: up to 2048 tokens all of them are read, then 2048 by each query, and the indexer's keys."""
    shape = ModelShape.from_config(V32)
    assert shape.kv_values == 61 * (576 + 128)
    free = Constants(1.0, 1.0, 0.0, 0.0)
    times = roofline(shape, shape, "h200-sxm", constants=free)
    plain = roofline(shape._replace(indexer=ModelShape.named("deepseek-v3").indexer), shape, "h200-sxm", constants=free)
    assert times.target(1, 1, 2047) == plain.target(1, 1, 2047)
    far = [times.target(1, 1, s).value for s in (100_000, 200_000)]
    by_hand = 61 * 128 * 2 / 4.8e12  # the keys of the indexer: reading them is slower than multiplying
    assert far[1] - far[0] == pytest.approx(100_000 * by_hand)
    assert far[1] < plain.target(1, 1, 200_000).value


def test_windows_are_read_as_windows() -> None:
    shape = ModelShape.from_config(
        {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
         "intermediate_size": 10240, "num_hidden_layers": 34, "sliding_window": 1024}}
    )  # fmt: skip
    assert (shape.vocab, shape.heads, shape.kv_heads, shape.head_dim) == (262208, 8, 4, 256)  # fields that are left out
    assert (shape.window.layers, shape.window.tokens) == (29, 1024)
    assert shape.held_values(100_000) == 2 * 4 * 256 * (5 * 100_000 + 29 * 1024)
    free = Constants(1.0, 1.0, 0.0, 0.0)
    both = [roofline(shape, shape, "h100-sxm", constants=free).target(1, 1, s).value for s in (10_000, 20_000)]
    assert both[1] - both[0] == pytest.approx(5 * 2 * 4 * 256 * 2 * 10_000 / 3.35e12)


def test_states_are_read_and_written() -> None:
    """By hand, where reading alone takes time: once read, and written after each token."""
    free = Constants(1.0, 1.0, 0.0, 0.0)
    shape = ModelShape.from_config(NEXT)
    times, none = (
        roofline(one, one, "h100-sxm", constants=free)
        for one in (shape, shape._replace(states=shape.states._replace(numbers=0)))
    )
    moved = 36 * (32 * 128 * 128 + 8192 * 4) * 4
    for tokens in (1, 4):
        more = times.target(tokens, 2, 0).value - none.target(tokens, 2, 0).value
        assert more == pytest.approx(2 * moved * (1 + tokens) / 3.35e12)
    assert any("36 of 48 layers keep a state" in said for said in times.assumptions)


def test_eagle_heads_without_the_word() -> None:
    one = LLAMA | {"num_hidden_layers": 1, "architectures": ["LlamaForCausalLM"]}
    assert ModelShape.from_config(one | {"draft_vocab_size": 32000}).drafter == "eagle3"
    assert ModelShape.from_config(one | {"target_hidden_size": 4096}).drafter == "eagle"
    assert ModelShape.from_config(one | {"eagle_config": {"use_aux_hidden_state": True}}).drafter == "eagle"
    parallel = ModelShape.from_config(LLAMA | {"pard_token": 128256})
    assert parallel.drafter == "parallel"
    assert roofline("llama-3.1-70b", parallel, "h100-sxm").one_pass
    for name in ("MedusaModel", "DSparkDraftModel", "DeepSeekMTPModel", "LLaDAModelLM", "HydraModel"):
        with pytest.raises(
            ValueError, match=f"^config llama has architecture {name}, which is not known here; {WAY_ON}"
        ):
            ModelShape.from_config(one | {"architectures": [name]})


@pytest.mark.parametrize(
    "config", [MINIMAX, KIMI, NEXT, V32, DFLASH, SCOUT["text_config"]], ids=lambda one: one["model_type"]
)
def test_no_field_of_any_form_ends_in_a_traceback(config: dict[str, Any]) -> None:
    for field in (*config, "layer_types", "quantization_config", "architectures", "text_config"):
        for value in (None, "x", -1, 1.5, 10**30, [[1]], {"a": 1}, [{}], float("nan")):
            with contextlib.suppress(ValueError):
                ModelShape.from_config(config | {field: value})


def test_a_module_of_a_hybrid_has_one_layer_with_attention() -> None:
    """Qwen3-Next's MTP module: by hand, a gated attention layer and a layer's experts."""
    module = of_target(ModelShape.from_config(NEXT), "mtp")
    assert (module.layers, module.caching_layers, module.states.layers) == (1, 1, 0)
    attention = 2048 * 256 * (2 * 16 + 2 * 2) + 2048 * 256 * 16
    beside = 3 * 2048 * 512 + 2048 * 512 + 2048
    assert module.body == attention + beside + 512 * 3 * 2048 * 512
    assert module.kv_values == 2 * 2 * 256


def test_fields_that_are_not_understood_are_named() -> None:
    assert ModelShape.from_config(LLAMA | {"my_flag": "on", "rope_theta": 5e5, "torch_dtype": "bfloat16"}).unread == (
        "my_flag",
    )
    for field, value in (("attn_type_list", [0, 1] * 16), ("num_memory_experts", 64), ("index_topk", 2048),
                         ("mamba_d_state", 16), ("sliding_window", 4096), ("num_kv_shared_layers", 10),
                         ("linear_attn_config", {"num_heads": 3}), ("layer_group_size", 6)):  # fmt: skip
        with pytest.raises(
            ValueError, match=f"^config llama has {field} .*not understood of model_type llama; {WAY_ON}"
        ):
            ModelShape.from_config(LLAMA | {field: value})
    for kind in ("rwkv", "mamba", "zamba2", "longcat_flash", "llama5"):
        with pytest.raises(
            ValueError, match=f"^config {kind} has model_type '{kind}', whose layers are not .*{WAY_ON}"
        ):
            ModelShape.from_config(LLAMA | {"model_type": kind})


def test_experts_under_other_names() -> None:
    """Billions, and of them read by a token, as their makers say: Ling-mini-2.0, GLM-4.5-Air, ERNIE-4.5-21B, Jamba."""
    ling = {"model_type": "bailing_moe_v2", "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 20,
            "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 157184,
            "num_experts": 256, "num_experts_per_tok": 8, "num_shared_experts": 1, "moe_intermediate_size": 512,
            "moe_shared_expert_intermediate_size": 512, "first_k_dense_replace": 1}  # fmt: skip
    air = {"model_type": "glm4_moe", "hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46,
           "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151552,
           "n_routed_experts": 128, "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 1408,
           "first_k_dense_replace": 1}  # fmt: skip
    ernie = {"model_type": "ernie4_5_moe", "hidden_size": 2560, "intermediate_size": 12288, "num_hidden_layers": 28,
             "num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 103424, "moe_num_experts": 64,
             "moe_k": 6, "moe_num_shared_experts": 2, "moe_intermediate_size": 1536, "moe_layer_start_index": 1,
             "moe_layer_interval": 1, "moe_capacity": [64, 64, 64]}  # fmt: skip
    jamba = {"model_type": "jamba", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
             "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 65536, "num_experts": 16,
             "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1, "attn_layer_period": 8,
             "attn_layer_offset": 4}  # fmt: skip
    for config, total, active, embeddings in ((ling, 16.3, 1.1, 2), (air, 107, 12.6, 2), (ernie, 21.8, 3.3, 1),
                                              (jamba, 51.6, 12.1, 2)):  # fmt: skip
        shape = ModelShape.from_config(config)
        assert billions(shape) + (embeddings - 1) * shape.head / 1e9 == pytest.approx(total, rel=0.01)
        assert shape.active / 1e9 == pytest.approx(active, rel=0.05)
