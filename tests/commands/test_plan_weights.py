"""In which type weights are stored: said, read from a config, and named in every plan."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.planning import SMALL, as_json, run

from specsim import ModelShape, roofline
from specsim.latency import Constants
from specsim.latency.quantization import declared_weights
from specsim.latency.weights import TYPES

V32: dict[str, Any] = {
    "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "hidden_size": 7168,
    "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
    "first_k_dense_replace": 3, "moe_layer_freq": 1, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280, "index_n_heads": 64,
    "index_head_dim": 128, "index_topk": 2048,
    "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
}  # fmt: skip
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
LAPTOP = "--target llama-3.1-8b --draft llama-3.2-1b --hardware apple-m4-pro 0.7"


def saved(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "model.json"
    path.write_text(json.dumps(config))
    return path


def test_report_08_config_says_fp8(tmp_path: Path) -> None:
    """Published in 8 bits, served on eight H200: it fits, and the plan says in which type."""
    words = f"0.7 --target {saved(tmp_path, V32)} --draft mtp --hardware h200-sxm --tp 8 --draft-tp 8"
    found = as_json(words)
    assert not any("does not fit" in said for said in found["notes"])
    assert "model: weights are stored in fp8, as its config says (quantization_config)" in found["notes"]
    assert [found["weights"][one]["type"] for one in ("target", "draft")] == ["fp8", "fp8"]
    assert found["weights"]["products"] == found["asked"]["dtype"] == "fp8"
    wide = as_json(f"{words} --dtype bf16")
    assert any("does not fit: weights and caches take at least 13" in said for said in wide["notes"])
    assert any("its config says fp8: leave out --dtype to plan with them" in said for said in wide["notes"])
    # A device without 8-bit products unpacks them.
    old = as_json(f"{words.replace('h200-sxm', 'a100-sxm4-80gb')}")
    assert (old["weights"]["products"], old["weights"]["target"]["type"]) == ("bf16", "fp8")


@pytest.mark.parametrize(
    ("told", "name", "layers", "experts", "head"),
    [
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, "mxfp4 experts", 16, 4.25, 16),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "version": "gemm"}, "int4", 4 + 20 / 128, 0, 16),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1, "desc_act": False}, "int8", 8, 0, 16),
        ({"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["lm_head"]}, "fp8", 8, 0, 16),
        ({"quant_method": "fp8", "activation_scheme": "dynamic"}, "fp8", 8, 0, 16),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4", 4.5, 0, 16),
        ({"quant_method": "modelopt_fp4", "quant_algo": "NVFP4"}, "nvfp4", 4.5, 0, 16),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", 4.5, 0, 16),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 4, "type": "int", "group_size": 128}}}}, "int4", 4 + 16 / 128, 0, 16),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 8, "type": "float"}}}}, "fp8", 8, 0, 16),
        ({"quant_method": "compressed-tensors", "config_groups": {"group_0": {
            "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}}, "nvfp4", 4.5, 0, 16),
    ],
)  # fmt: skip
def test_quantized_configs(told: dict[str, Any], name: str, layers: float, experts: float, head: float) -> None:
    found = declared_weights(LLAMA | {"quantization_config": told}, "model")
    assert found is not None
    assert (found.name, found.layers, found.experts, found.head) == (name, pytest.approx(layers), experts, head)
    assert ModelShape.from_config(LLAMA | {"quantization_config": told}).stored == found


def test_a_quantization_that_is_not_known_is_refused(tmp_path: Path) -> None:
    mixed = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}
    for told in (mixed, {"quant_method": "vptq"}, {"quant_method": "awq", "bits": 5}, {"group": 3},
                 {"quant_method": "fp8", "ignore": ["re:.*my_blocks.*"]}):  # fmt: skip
        words = f"0.7 --target {saved(tmp_path, LLAMA | {'quantization_config': told})} --draft llama-3.2-1b"
        said = run(f"{words} --hardware h100-sxm", 2)
        assert "model: its quantization_config, unknown (" in said
        assert "is not understood; give --weights (bf16, fp16, fp8" in said
        assert as_json(f"{words} --hardware h100-sxm --weights nvfp4")["weights"]["target"]["type"] == "nvfp4"
    with pytest.raises(ValueError, match="quantization_config holds a str, not an object"):
        ModelShape.from_config(LLAMA | {"quantization_config": "fp8"})


def test_experts_alone_are_narrow_where_attention_is_left_out(tmp_path: Path) -> None:
    """Kimi-K2.5 as published: 4 bits in groups of 32, but attention, shared experts and dense layers."""
    group = {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True}}}
    left = ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*"]
    told = {"quant_method": "compressed-tensors", "config_groups": group, "ignore": left}
    found = ModelShape.from_config(V32 | {"quantization_config": told}).stored
    assert found == ("int4 experts", 16, 16, 4.5)
    # modelopt names modules, and some of its files say it beside the config.
    (tmp_path / "config.json").write_text(json.dumps({k: v for k, v in V32.items() if k != "quantization_config"}))
    left = ["lm_head", "model.layers.61*", *(f"model.layers.{i}.self_attn*" for i in range(61))]
    beside = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": left}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(beside))
    found = ModelShape.from_config(tmp_path).stored
    assert found is not None
    assert (found.name.partition(" (")[0], found.head, found.experts) == ("nvfp4", 16, 4.5)
    # Attention with its indexer 12.7 billion, three dense layers and 58 shared experts 3.7.
    assert found.layers == pytest.approx((16 * 12.247 + 4.5 * 3.743) / (12.247 + 3.743), rel=0.01)
    norms = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.self_attn.kv_a_layernorm", "lm_head"]}
    assert ModelShape.from_config(V32 | {"quantization_config": norms}).stored == ("fp8", 8, 16, 0)


def test_bits_of_gguf_are_those_of_its_blocks() -> None:
    """Bytes of a block over its weights; the mixes as llama.cpp prints them for whole models: 4.84, 5.68, 6.56, 8.5."""
    assert (TYPES["q8_0"].layers, TYPES["q6_k"].layers, TYPES["q4_0"].layers) == (8.5, 6.5625, 4.5)
    for model, name, bits in (("llama-2-7b", "q4_k_m", 4.84), ("llama-2-70b", "q4_k_m", 4.80),
                              ("llama-2-7b", "q5_k_m", 5.68), ("llama-2-7b", "q6_k", 6.56)):  # fmt: skip
        shape = ModelShape.named(model)
        found = 8 * TYPES[name].bytes_of(shape.body, shape.head) / (shape.body + shape.head)
        assert found == pytest.approx(bits, abs=0.04)


def test_the_draft_has_a_type_of_its_own() -> None:
    """A 1B draft in Q8_0 or Q4_K_M under an 8B target in Q4_K_M: 0.15 to 0.35 of its step, not 0.64."""
    found = as_json(f"{LAPTOP} --weights q4_k_m --draft-weights q8_0")
    types = found["weights"]
    assert (types["target"]["type"], types["draft"]["type"], types["draft"]["bits"]) == ("q4_k_m", "q8_0", 8.5)
    assert types["products"] == "fp16"
    steps = {}
    for draft in ("q4_k_m", "q8_0", "fp16"):
        one = as_json(f"{LAPTOP} --weights Q4_K_M --draft-weights {draft} --max-gamma 1 --overhead 0")["points"][0]
        steps[draft] = one["draft"] / one["plain"] if one["gamma"] else None
    assert steps["q4_k_m"] == pytest.approx(0.17, abs=0.03)
    assert steps["q8_0"] == pytest.approx(0.29, abs=0.03)
    alone = as_json(f"{LAPTOP} --weights q4_k_m")  # what is not said is 16 bits
    assert alone["weights"]["draft"] == {"type": "fp16", "bits": 16, "head_bits": 16, "expert_bits": 16}
    said = run(f"{LAPTOP} --weights q4_k_m --draft-weights q8_0")
    assert "of the target are stored in q4_k_m (4.8 bits, head 6.56), of the draft in q8_0 (8.5 bits); they are" in said
    assert "--draft-weights 'q9' is unknown; known: bf16, fp16, fp8" in run(f"{LAPTOP} --draft-weights q9", 2)
    assert "--draft-weights is of models on a device" in run("0.8 --cost-ratio 0.1 --draft-weights q8_0", 2)


def test_apple_devices_take_fp16_without_being_asked() -> None:
    for device in ("apple-m4", "apple-m1-max", "t4"):
        found = as_json(f"--target qwen2.5-1.5b --draft qwen2.5-0.5b --hardware {device} 0.7")
        assert found["weights"]["products"] == found["weights"]["target"]["type"] == "fp16"
    assert as_json(f"{SMALL} 0.7")["weights"]["products"] == "bf16"
    said = run(f"{LAPTOP} --dtype bf16", 2)
    assert "dtype 'bf16' is not in the table for Apple M4 Pro; it has fp16" in said


def test_experts_alone_may_be_narrow() -> None:
    """gpt-oss: by hand, where reading alone takes time."""
    free = Constants(1.0, 1.0, 0.0, 0.0)
    shape = ModelShape.named("gpt-oss-20b")
    stored = declared_weights({"quantization_config": {"quant_method": "mxfp4"}}, "model")
    times = roofline(shape, shape, "h100-sxm", weight_bytes=stored, constants=free)
    wide = roofline(shape, shape, "h100-sxm", constants=free)
    saved_bits = shape.moe_layers * shape.experts_per_token * shape.expert * (16 - 4.25)
    assert wide.target(1, 1, 0).value - times.target(1, 1, 0).value == pytest.approx(saved_bits / 8 / 3.35e12)


def test_names_are_planned_in_the_type_they_are_published_in() -> None:
    """DeepSeek-V3 by name fits eight H200, too; gpt-oss has its experts in 4 bits."""
    for name, stored in (
        ("deepseek-v3", "fp8"),
        ("deepseek-r1", "fp8"),
        ("kimi-k2", "fp8"),
        ("gpt-oss-120b", "mxfp4 experts"),
    ):
        found = as_json(f"0.7 --target {name} --draft mtp --hardware h200-sxm --tp 8 --draft-tp 8")
        assert found["weights"]["target"]["type"] == stored
        assert not any("does not fit" in said for said in found["notes"])
    assert as_json(f"{SMALL} 0.7")["weights"]["target"]["type"] == "bf16"


@pytest.mark.parametrize(
    ("device", "kind", "is_noted"),
    [
        ("a100-sxm4-80gb", "fp8", True),
        ("a100-sxm4-80gb", "int8", False),
        ("a100-sxm4-80gb", "bf16", False),
        ("h100-sxm", "fp8", False),
        ("h100-sxm", "nvfp4", True),
        ("b200", "nvfp4", False),
    ],
)
def test_a_cache_in_a_type_that_a_device_does_not_multiply_is_named(device: str, kind: str, is_noted: bool) -> None:
    words = f"0.7 --target llama-3.1-8b --draft eagle3 --hardware {device}"
    said = run(f"{words} --kv-dtype {kind}")
    assert (f"does not multiply in {kind}: with such a cache engines take other attention kernels" in said) == is_noted
