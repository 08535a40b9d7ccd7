"""Quantizations that name some modules, types of the cache and of experts: counted by hand, or refused by name."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from specsim.latency import ModelShape
from specsim.latency.configs.modules import Modules
from specsim.latency.module_names import select
from specsim.latency.quantization import declared_cache, declared_weights

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
QWEN: dict[str, Any] = {
    "model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 4, "head_dim": 128,
    "num_attention_heads": 32, "num_key_value_heads": 4, "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 768, "vocab_size": 151936,
}  # fmt: skip
NEXT: dict[str, Any] = QWEN | {
    "model_type": "qwen3_next", "shared_expert_intermediate_size": 512, "num_key_value_heads": 2, "head_dim": 256,
    "num_attention_heads": 16, "linear_num_value_heads": 32, "linear_num_key_heads": 16, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
}  # fmt: skip
# Shares of a layer of LLAMA; of its attention queries and output are 0.4 each, keys and values 0.1 each.
ATTENTION, MLP = 5 / 26, 21 / 26
INT4 = {"num_bits": 4, "type": "int", "group_size": 128, "symmetric": True}
INT8 = {"num_bits": 8, "type": "int"}
FP8 = {"num_bits": 8, "type": "float"}


def compressed(*groups: tuple[dict[str, Any], list[str]], **more: Any) -> dict[str, Any]:
    """A quantization_config of compressed-tensors, with these weights and targets in its groups."""
    held = {f"group_{i}": {"weights": weights, "targets": targets} for i, (weights, targets) in enumerate(groups)}
    return {"quant_method": "compressed-tensors", "config_groups": held, **more}


def gptq(**more: Any) -> dict[str, Any]:
    """A quantization_config of GPTQ, 4.125 bits with its zero points left aside by 8 bits of 128."""
    return {"quant_method": "gptq", "bits": 4, "group_size": 128, **more}


G = 4 + 20 / 128
# Bits of the layers and of the head, by what the config says.
PARTS: dict[str, tuple[dict[str, Any], float, float]] = {
    "targets of the feed-forward blocks": (compressed((INT4, ["re:.*mlp.*"])), 16 * ATTENTION + 4.125 * MLP, 16),
    "targets of attention": (compressed((INT4, ["re:.*self_attn.*"])), 4.125 * ATTENTION + 16 * MLP, 16),
    "targets by their last names": (
        compressed((INT4, ["re:.*(q|k|v|o)_proj$"])), 4.125 * ATTENTION + 16 * MLP, 16
    ),
    "attention ignored": (
        compressed((INT4, ["Linear"]), ignore=["lm_head", "re:.*self_attn.*"]), 16 * ATTENTION + 4.125 * MLP, 16
    ),
    "a joined name ignored": (
        compressed((INT4, ["Linear"]), ignore=["re:.*qkv_proj"]), 4.125 + 11.875 * 0.6 * ATTENTION, 16
    ),
    "two groups": (
        compressed((FP8, ["re:.*self_attn.*"]), (INT4, ["re:.*mlp.*"])), 8 * ATTENTION + 4.125 * MLP, 16
    ),
    "a name before a class": (
        compressed((INT4, ["Linear"]), (INT8, ["re:.*down_proj"])), 4.125 + (8 - 4.125) * MLP / 3, 16
    ),
    "the first of two names": (
        compressed((INT8, ["re:.*mlp.*"]), (INT4, ["re:.*(mlp|self_attn).*"])), 8 * MLP + 4.125 * ATTENTION, 16
    ),
    "the head, too": (compressed((INT8, ["Linear", "re:.*lm_head"])), 8, 8),
    "AWQ without attention": (
        {"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["self_attn"]},
        16 * ATTENTION + G * MLP, 16,
    ),
    "GPTQ, later layers in 8 bits": (
        gptq(dynamic={r"+:model\.layers\.(2[4-9]|3[01])\..*": {"bits": 8}}), 0.75 * G + 0.25 * (8 + 24 / 128), 16
    ),
    "GPTQ, the first pattern counts": (
        gptq(dynamic={"-:.*attn.*": {}, ".*attn.*": {"bits": 8}}), 16 * ATTENTION + G * MLP, 16
    ),
    "GPTQ of listed modules": (
        gptq(modules_in_block_to_quantize=[["mlp.up_proj", "mlp.gate_proj"], ["mlp.down_proj"]]),
        16 * ATTENTION + G * MLP, 16,
    ),
    "auto-round with modules of their own": (
        {"quant_method": "auto-round", "bits": 4, "group_size": 128, "extra_config": {
            **{f"model.layers.{i}.self_attn.o_proj": {"bits": 16} for i in range(32)}}},
        16 * 0.4 * ATTENTION + G * (1 - 0.4 * ATTENTION), 16,
    ),
    "bitsandbytes without two products": (
        {"quant_method": "bitsandbytes", "load_in_8bit": True, "llm_int8_skip_modules": ["q_proj", "v_proj"]},
        8 + 8 * 0.5 * ATTENTION, 16,
    ),
    "torchao": ({"quant_method": "torchao", "quant_type": "int4_weight_only", "quant_type_kwargs": {"group_size": 32},
                 "modules_to_not_convert": ["mlp"]}, 5 * ATTENTION + 16 * MLP, 16),
    "torchao, by its class": ({"quant_method": "torchao", "quant_type": {
        "default": {"_type": "Float8WeightOnlyConfig", "_data": {}}}}, 8, 16),
    "modelopt by layers": (
        {"quant_algo": "MIXED_PRECISION", "quantized_layers": {
            **{f"model.layers.{i}.mlp.{one}_proj": {"quant_algo": "NVFP4"}
               for i in range(32) for one in ("gate", "up", "down")},
            **{f"model.layers.{i}.self_attn.qkv_proj": {"quant_algo": "FP8"} for i in range(32)}}},
        4.5 * MLP + ATTENTION * (0.6 * 8 + 0.4 * 16), 16,
    ),
    "ExLlama": ({"quant_method": "exl2", "bits": 3.7, "head_bits": 6}, 3.7, 6),
    "a whole layer": ({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.3"]}, 8 + 8 / 32, 16),
    "a layer by a pattern": (
        {"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["model.layers.3.mlp*"]},
        8 + 8 * MLP / 32, 16,
    ),
    "layers of which a pattern is the beginning": (
        {"quant_method": "modelopt", "quant_algo": "FP8", "exclude_modules": ["model.layers.3*"]}, 8 + 8 * 3 / 32, 16
    ),
    "what is not counted here": (
        {"quant_method": "fp8", "modules_to_not_convert": [
            "mtp.layers.0.mlp.gate_proj", "visual.blocks.3.mlp.fc1", "vision_tower.encoder.layers.1.self_attn.q_proj",
            "model.layers.32*", "model.layers.0.input_layernorm", "model.embed_tokens", "mlp.gate"]}, 8, 16,
    ),
    "two lists": (
        {"quant_method": "fp8", "ignored_layers": [], "modules_to_not_convert": ["self_attn"]},
        16 * ATTENTION + 8 * MLP, 16,
    ),
    "one name in place of a list": (
        {"quant_method": "fp8", "modules_to_not_convert": "self_attn"}, 16 * ATTENTION + 8 * MLP, 16
    ),
    "modelopt by groups": (
        compressed((FP8, ["re:.*self_attn.*"]), (INT4, ["re:.*mlp.*"])) | {"quant_algo": "MIXED_PRECISION"},
        8 * ATTENTION + 4.125 * MLP, 16,
    ),
    "modelopt in whole numbers": ({"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"}, 8, 16),
    "a group without targets": ({"config_groups": {"group_0": {"weights": INT4}}}, 4.125, 16),
    # Not understood.
    "targets of no form": ({"config_groups": {"group_0": {"weights": INT4, "targets": 3}}}, 0, 0),
    "modules left out, of no form": ({"quant_method": "fp8", "ignore": {"self_attn": True}}, 0, 0),
    "modules of another model": ({"quant_method": "fp8", "ignored_layers": ["model.layers.0.my_block"]}, 0, 0),
    "a target of another class": (compressed((INT4, ["MyBlock"])), 0, 0),
    "a pattern that is none": (compressed((INT4, ["re:.*(mlp"])), 0, 0),
    "a group of 6 bits": (compressed((INT4, ["re:.*mlp.*"]), ({"num_bits": 6, "type": "int"}, ["Linear"])), 0, 0),
    "modelopt by layers of an unknown type": (
        {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.layers.0.mlp.up_proj": {"quant_algo": "X"}}}, 0, 0
    ),
    "GPTQ with 5 bits somewhere": (gptq(dynamic={".*down.*": {"bits": 5}}), 0, 0),
    "bits of no form": (gptq(extra_config={"mlp": 3}), 0, 0),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_the_parts_that_are_quantized_are_counted(case: str) -> None:
    told, layers, head = PARTS[case]
    stored = ModelShape.from_config(LLAMA | {"quantization_config": told}).stored
    assert stored is not None
    assert (stored.layers, stored.head) == (pytest.approx(layers), head)


def test_the_name_says_which_parts_are_narrow() -> None:
    stored = ModelShape.from_config(LLAMA | {"quantization_config": compressed((INT4, ["re:.*mlp.*"]))}).stored
    assert stored is not None
    assert stored.name == "int4 (attention 16, mlp 4.125 bits)"


def test_experts_are_counted_apart() -> None:
    def bits(**told: Any) -> tuple[str, float, float]:
        stored = ModelShape.from_config(QWEN | {"quantization_config": told}).stored
        assert stored is not None
        return stored.name, stored.layers, stored.experts

    # Every layer has experts, so nothing but attention is left beside them.
    assert bits(**compressed((INT4, ["re:.*mlp.*"]))) == ("int4 experts", 16, 4.125)
    assert bits(**compressed((INT4, ["re:.*experts.*"]))) == ("int4 experts", 16, 4.125)
    name, layers, experts = bits(**compressed((INT4, ["re:.*self_attn.*"])))
    assert (name, layers, experts) == ("int4 (attention 4.125, experts 16 bits)", 4.125, 16)
    assert bits(quant_method="awq", bits=4, group_size=128, modules_to_not_convert=["gate"]) == ("int4", G, 0)
    # All experts by their numbers, or only some of them.
    listed = [f"model.layers.{i}.mlp.experts.{j}" for i in range(4) for j in range(8)]
    assert bits(quant_method="fp8", ignored_layers=listed) == ("fp8 (attention 8, experts 16 bits)", 8, 16)
    assert bits(quant_method="fp8", ignored_layers=listed[:-1])[1:] == (0, 0)


def test_layers_with_a_state_are_counted_apart() -> None:
    """Qwen3-Next as published in 8 bits: its convolutions and small products are left out, and its routers."""
    small_ones = ("linear_attn.conv1d", "linear_attn.in_proj_ba", "linear_attn.A_log", "mlp.shared_expert_gate")
    left = [f"model.layers.{i}.{name}" for i in range(3) for name in small_ones]
    stored = ModelShape.from_config(
        NEXT | {"quantization_config": {"quant_method": "fp8", "modules_to_not_convert": left}}
    ).stored
    assert stored is not None
    # By hand: 3 layers with a state, 1 with attention, 4 shared experts; 64 numbers a token in 16 bits.
    small, state = 2048 * 64, 2048 * (2 * 2048 + 4096 + 4096) + 4096 * 2048
    attention, shared = 2048 * 256 * (2 * 16 + 2 * 2) + 4096 * 2048, 3 * 2048 * 512
    total = 3 * (small + state) + attention + 4 * shared
    assert stored.layers == pytest.approx(8 + 8 * 3 * small / total)
    state_alone = compressed((INT4, ["re:.*linear_attn.*"]))
    stored = ModelShape.from_config(NEXT | {"quantization_config": state_alone}).stored
    assert stored is not None
    assert stored.layers == pytest.approx(16 - 11.875 * 3 * (small + state) / total)


def test_matrices_that_are_not_told_apart_are_refused_by_pattern() -> None:
    kimi = {
        "model_type": "minimax_text_01", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_local_experts": 4,
        "num_experts_per_tok": 2, "vocab_size": 96, "attn_type_list": [0, 1],
    }  # fmt: skip
    for told, known in ((compressed((INT4, ["re:.*q_proj"])), False), (compressed((INT4, ["Linear"])), True),
                        (compressed((INT4, ["Linear"]), ignore=["re:.*self_attn.*"]), True)):  # fmt: skip
        stored = ModelShape.from_config(kimi | {"quantization_config": told}).stored
        assert stored is not None
        assert bool(stored.layers) is known


def test_names_without_a_model_are_not_understood() -> None:
    assert select(["lm_head", "mlp.gate"], Modules()).strange == ()
    assert select(["self_attn"], Modules()).strange == ("self_attn",)
    alone = declared_weights({"quantization_config": compressed((INT4, ["re:.*mlp.*"]))}, "model")
    assert alone is not None
    assert (alone.name, alone.layers) == ("unknown (compressed-tensors: re:.*mlp.*)", 0)


CACHES: dict[str, tuple[dict[str, Any], str]] = {
    "modelopt": ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "fp8"),
    "modelopt, none": ({"quant_algo": "NVFP4", "kv_cache_quant_algo": None}, ""),
    "modelopt, narrow": ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"}, "nvfp4"),
    "compressed-tensors": (compressed((INT4, ["Linear"]), kv_cache_scheme=FP8), "fp8"),
    "compressed-tensors, whole numbers": (compressed((INT4, ["Linear"]), kv_cache_scheme=INT8), "int8"),
    "compressed-tensors, none": (compressed((INT4, ["Linear"]), kv_cache_scheme=None), ""),
    "a type with its format": ({"quant_method": "fp8", "kv_cache_dtype": "fp8_e5m2"}, "fp8"),
    "automatic": ({"quant_method": "fp8", "kv_cache_dtype": "auto"}, ""),
    "not understood": ({"quant_algo": "FP8", "kv_cache_quant_algo": "INT3"}, "int3"),
}


@pytest.mark.parametrize("case", CACHES)
def test_the_type_of_the_cache_is_read(case: str) -> None:
    told, kind = CACHES[case]
    assert ModelShape.from_config(LLAMA | {"quantization_config": told}).cache == kind


def test_the_type_of_the_cache_may_stand_elsewhere(tmp_path: Path) -> None:
    assert declared_cache(LLAMA | {"kv_cache_dtype": "fp8"}, "model") == "fp8"
    strange = compressed((INT4, ["Linear"]), kv_cache_scheme={"num_bits": 3, "type": "int"})
    assert "'num_bits': 3" in declared_cache({"quantization_config": strange}, "model")
    # Beside the config, whether or not that describes its weights.
    beside = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside))
    for told, kind in (({}, "fp8"), ({"quant_method": "fp8"}, "fp8"),
                       ({"quant_method": "fp8", "kv_cache_scheme": None}, "")):  # fmt: skip
        (tmp_path / "config.json").write_text(json.dumps(LLAMA | {"quantization_config": told}))
        assert ModelShape.from_config(tmp_path).cache == kind


def test_experts_may_have_a_type_of_their_own() -> None:
    fp8 = {"quantization_config": {"quant_method": "fp8"}}
    for told, name, bits in (
        (fp8 | {"expert_dtype": "fp4"}, "fp8, experts fp4", (8, 16, 4.25)),
        (fp8 | {"expert_dtype": "fp8"}, "fp8, experts fp8", (8, 16, 8)),
        ({"expert_dtype": "nvfp4"}, "16 bits, experts nvfp4", (16, 16, 4.5)),
        (fp8 | {"expert_dtype": "fp3"}, "unknown (expert_dtype fp3)", (0, 0, 0)),
    ):
        stored = ModelShape.from_config(QWEN | told).stored
        assert stored is not None
        assert (stored.name, stored[1:]) == (name, bits)
    nested = {"model_type": "qwen3_vl_moe", "text_config": QWEN | {"expert_dtype": "fp4"}, **fp8}
    stored = ModelShape.from_config(nested).stored
    assert stored is not None
    assert stored.experts == 4.25


@pytest.mark.parametrize("case", PARTS)
def test_no_form_of_a_quantization_ends_in_a_traceback(case: str) -> None:
    told, _, _ = PARTS[case]
    for field in (*told, "ignore", "config_groups", "dynamic", "extra_config", "kv_cache_scheme", "quantized_layers"):
        for value in (None, "x", -1, 1.5, 10**30, [[1]], {"a": 1}, {"a": {"bits": []}}, [{}], float("nan"), ["re:("]):
            with contextlib.suppress(ValueError):
                ModelShape.from_config(LLAMA | {"quantization_config": told | {field: value}})
