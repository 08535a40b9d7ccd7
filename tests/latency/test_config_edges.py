"""Edges of configs: layers listed as dense or sparse, EAGLE-3 by word or by field, and files beside a config."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.latency import ModelShape
from specsim.latency.configs.fields import read
from specsim.latency.configs.heads import _EAGLE3, _kind

LITE = {
    "model_type": "glm4_moe", "vocab_size": 96, "hidden_size": 48, "intermediate_size": 112, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "n_routed_experts": 6, "n_shared_experts": 1,
    "num_experts_per_tok": 2, "moe_intermediate_size": 24,
}  # fmt: skip


def test_layers_are_dense_or_sparse_as_they_are_listed() -> None:
    listed = ["sparse", "dense", "sparse", "sparse"]
    assert ModelShape.from_config(LITE | {"mlp_layer_types": listed}).moe_layers == 3
    for wrong in (listed[:3], ["sparse", "dense", "sparse", "other"]):
        with pytest.raises(ValueError, match="must say dense or sparse of each of 4 layers"):
            ModelShape.from_config(LITE | {"mlp_layer_types": wrong})


def test_eagle_3_is_known_by_its_word_or_by_its_fields() -> None:
    assert _kind({"architectures": ["Eagle3LlamaForCausalLM"]}, "head") == "eagle3"
    assert _kind({"architectures": ["EagleLlamaForCausalLM"]}, "head") == "eagle"
    assert _kind({"architectures": ["EagleLlamaForCausalLM"], _EAGLE3[0]: 100}, "head") == "eagle3"


def test_a_file_beside_a_config_says_what_the_config_leaves_open(tmp_path: Path) -> None:
    (tmp_path / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "FP8"}}))
    given = {"quantization_config": {"quant_method": "fp8"}}
    for name, held, found in (
        ("config.json", LITE, {"quant_algo": "FP8"}),
        ("config.json", LITE | given, {"quant_method": "fp8"}),
        ("other.json", LITE, None),
    ):
        (tmp_path / name).write_text(json.dumps(held))
        assert read(tmp_path / name)[0].get("quantization_config") == found
