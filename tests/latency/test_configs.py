"""Shapes read from a config.json: those of the table, and fields that are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from specsim.latency import ModelShape

EIGHT = ModelShape.named("llama-3.1-8b")

CONFIGS: dict[str, dict[str, Any]] = {
    "Llama-3.1-8B": {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256},
    "Qwen3-0.6B": {"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
                   "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936},
    "OPT-6.7B": {"model_type": "opt", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                 "ffn_dim": 16384, "vocab_size": 50272},
    "GPT-2 small": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
                    "vocab_size": 50257},
    "Mixtral-8x7B": {"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                     "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 32000,
                     "num_local_experts": 8, "num_experts_per_tok": 2},
    "Qwen3-30B-A3B": {"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48, "head_dim": 128,
                      "num_attention_heads": 32, "num_key_value_heads": 4, "intermediate_size": 6144,
                      "moe_intermediate_size": 768, "vocab_size": 151936, "num_experts": 128,
                      "num_experts_per_tok": 8, "decoder_sparse_step": 1},
    "Qwen2-57B-A14B": {"model_type": "qwen2_moe", "hidden_size": 3584, "num_hidden_layers": 28, "vocab_size": 151936,
                       "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
                       "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480, "num_experts": 64,
                       "num_experts_per_tok": 8},
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_and_the_table_agree(name: str, tmp_path: Path) -> None:
    """Two sources: the fields of a config, and parameter counts of the table."""
    table, found = ModelShape.named(name), ModelShape.from_config(CONFIGS[name])
    assert found[1:7] == table[1:7]
    assert found.body == pytest.approx(table.body, rel=3e-3)
    assert found.shared == pytest.approx(table.shared, rel=2e-2)
    assert found.head == pytest.approx(table.head, rel=1e-3)
    assert (found.experts, found.experts_per_token, found.moe_layers) == (
        table.experts,
        table.experts_per_token,
        table.moe_layers,
    )
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[name]))
    assert ModelShape.from_config(tmp_path)[1:] == ModelShape.from_config(tmp_path / "config.json")[1:] == found[1:]


def test_a_config_with_dense_layers_and_shared_experts() -> None:
    """By hand: 2 dense layers of 10 wide, 3 with 4 experts of 6 and 2 shared ones, a router each."""
    config = {"hidden_size": 8, "num_hidden_layers": 5, "num_attention_heads": 2, "head_dim": 4,
              "num_key_value_heads": 1, "intermediate_size": 10, "vocab_size": 7, "n_routed_experts": 4,
              "num_experts_per_tok": 2, "moe_intermediate_size": 6, "n_shared_experts": 2,
              "first_k_dense_replace": 2}  # fmt: skip
    shape = ModelShape.from_config(config)
    attention = 8 * 8 + 2 * 8 * 4 + 8 * 8
    assert shape.shared == 5 * attention + 2 * 3 * 8 * 10 + 3 * (3 * 8 * 12 + 8 * 4)
    assert shape.body == shape.shared + 3 * 4 * 3 * 8 * 6
    assert (shape.moe_layers, shape.expert, shape.kv_values, shape.head) == (3, 144, 40, 56)


def test_fields_that_change_nothing_are_taken(tmp_path: Path) -> None:
    plain = ModelShape.from_config(CONFIGS["Qwen3-30B-A3B"])
    said = {"mlp_only_layers": [], "moe_layer_freq": 1, "is_encoder_decoder": False}
    assert ModelShape.from_config(CONFIGS["Qwen3-30B-A3B"] | said) == plain
    # 71 query heads on one of the cache, whatever num_kv_heads says, unless the newer architecture is declared
    falcon = {"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71,
              "vocab_size": 65024, "multi_query": True, "num_kv_heads": 71}  # fmt: skip
    assert ModelShape.from_config(falcon).kv_heads == 1
    assert ModelShape.from_config(falcon | {"new_decoder_architecture": True}).kv_heads == 71
    (tmp_path / "mine.json").write_text(json.dumps(CONFIGS["OPT-6.7B"]))
    assert ModelShape.from_config(tmp_path / "mine.json").name == "mine"


def test_the_config_check_can_fail() -> None:
    ungated = ModelShape.from_config(CONFIGS["Llama-3.1-8B"] | {"model_type": "opt"})
    assert ungated.body != pytest.approx(EIGHT.body, rel=3e-3)
    many_heads = ModelShape.from_config({k: v for k, v in CONFIGS["Llama-3.1-8B"].items() if "key" not in k})
    assert many_heads.kv_values == 4 * EIGHT.kv_values


def test_bad_configs(tmp_path: Path) -> None:
    cases: list[tuple[Any, str]] = [
        (tmp_path, r"config .* cannot be read: No such file"),
        (
            {"hidden_size": 8},
            r"^config model has no vocab_size; its fields: hidden_size; what works without it: specsim",
        ),
        (
            {"hidden_size": 8, "vocab_size": 9, "num_hidden_layers": 1},
            r"^config model has no num_attention_heads or n_head; its fields: hidden_size, num_hidden_layers, vo",
        ),
        (CONFIGS["OPT-6.7B"] | {"vocab_size": 0}, r"^config opt: vocab_size must be at least 1, got 0$"),
        (CONFIGS["Mixtral-8x7B"] | {"num_experts_per_tok": 9}, r"num_experts_per_tok is 9, more than the 8 experts"),
        (
            CONFIGS["Llama-3.1-8B"] | {"kv_lora_rank": 512},
            r"has kv_lora_rank \(512\), which is not understood of model_type",
        ),
        (
            CONFIGS["Mixtral-8x7B"] | {"first_k_dense_replace": 3},
            r"has first_k_dense_replace \(3\), which is not under",
        ),
        (
            CONFIGS["Mixtral-8x7B"] | {"attn_layer_period": 8},
            r"has attn_layer_period \(8\), which is not understood of",
        ),
        (
            CONFIGS["OPT-6.7B"] | {"is_encoder_decoder": True},
            r"^config opt has an encoder \(is_encoder_decoder is True",
        ),
        (CONFIGS["Llama-3.1-8B"] | {"text_config": [1]}, r"^config llama: text_config holds a list, not an object$"),
        (CONFIGS["Llama-3.1-8B"] | {"num_key_value_heads": 64}, r"32 query heads cannot share 64 heads of the cache"),
        (CONFIGS["Llama-3.1-8B"] | {"num_key_value_heads": 7}, r"32 query heads cannot share 7 heads of the cache"),
        (CONFIGS["OPT-6.7B"] | {"num_attention_heads": 31}, r"hidden_size 4096 is no multiple of its 31 heads; give"),
        (
            CONFIGS["Qwen3-0.6B"] | {"layer_types": ["full_attention", "rwkv"] * 14},
            r"^config qwen3 has layers of type rwkv, which are not counted here; what works without it: specsim",
        ),
    ]
    for config, message in cases:
        with pytest.raises(ValueError, match=message):
            ModelShape.from_config(config)
    for text, message in (("[1]", r"holds a list, not an object"), ("{", r"is no JSON")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=message):
            ModelShape.from_config(tmp_path)
