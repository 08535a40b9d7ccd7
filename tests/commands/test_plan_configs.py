"""What a plan makes of configs: drafters as targets, caches, notes on how a file was read, names that are unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.planning import as_json, run

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
}  # fmt: skip
DRAFTERS: dict[str, tuple[dict[str, Any], str]] = {
    "DFlash": ({"architectures": ["DFlashDraftModel"], "num_hidden_layers": 5, "block_size": 16,
                "dflash_config": {"target_layer_ids": [1, 9]}}, "is a drafter (DFlash head)"),
    "EAGLE": ({"architectures": ["EagleLlamaForCausalLM"], "num_hidden_layers": 1}, "is a drafter (EAGLE head)"),
    "EAGLE-3": ({"architectures": ["LlamaForCausalLMEagle3"], "num_hidden_layers": 1, "draft_vocab_size": 32000},
                "is a drafter (EAGLE-3 head)"),
    "EAGLE without the word": ({"num_hidden_layers": 1}, "EAGLE head, by its one layer, 4096 wide"),
    "P-EAGLE": ({"architectures": ["PEagleModel"], "num_hidden_layers": 4}, "is a drafter (P-EAGLE head)"),
    "PARD": ({"pard_token": 128256}, "is a drafter (it fills masks in one pass, as PARD does)"),
}  # fmt: skip
WORDS = "--draft llama-3.2-1b --hardware h100-sxm"


def saved(folder: Path, config: dict[str, Any]) -> Path:
    path = folder / "model.json"
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("kind", DRAFTERS)
def test_a_drafter_is_no_target(kind: str, tmp_path: Path) -> None:
    own, words = DRAFTERS[kind]
    said = run(f"0.7 --target {saved(tmp_path, LLAMA | own)} {WORDS}", 2)
    assert words in said
    assert "give it as --draft, and as --target the model that it drafts for" in said


def test_drafters_that_are_not_known_are_refused_with_a_way_on(tmp_path: Path) -> None:
    for own in ({"architectures": ["MedusaModel"]}, {"model_type": "medusa", "medusa_num_heads": 5},
                {"model_type": "mlp_speculator"}, {"model_type": "deepseek_mtp"}):  # fmt: skip
        said = run(f"0.7 --target {saved(tmp_path, LLAMA | own)} {WORDS}", 2)
        assert "is not known here" in said
        assert "--cost-ratio" in said


@pytest.mark.parametrize("path", ["config.json", "models/mine/config.json", "other.json"])
def test_a_refusal_names_the_path_of_the_config(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the working directory was "config config", one in a folder had the folder's name alone."""
    monkeypatch.chdir(tmp_path)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps({key: value for key, value in LLAMA.items() if key != "vocab_size"}))
    assert f"error: config {path} has no vocab_size; its fields: " in run(f"0.7 --target {path} {WORDS}", 2)
    Path(path).write_text(json.dumps(LLAMA | {"num_hidden_layers": 10**9}))
    assert f"error: config {path}: num_hidden_layers is 1000000000; " in run(f"0.7 --target {path} {WORDS}", 2)


def test_a_model_of_one_narrow_layer_is_a_target(tmp_path: Path) -> None:
    small = LLAMA | {"num_hidden_layers": 1, "hidden_size": 512, "intermediate_size": 1024}
    assert as_json(f"0.7 --target {saved(tmp_path, small)} {WORDS} --overhead 0")["points"]


def test_the_cache_is_as_the_config_says(tmp_path: Path) -> None:
    told = {"quantization_config": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    narrow, wide = (f"0.7 --target {saved(tmp_path, LLAMA | told)} {WORDS} --context 64k{more}"
                    for more in ("", " --kv-dtype bf16"))  # fmt: skip
    assert "the cache is kept in fp8, as the config of model says; --kv-dtype says otherwise" in run(narrow)
    assert "the cache is kept in bf16, as --kv-dtype says; the config of model says fp8" in run(wide)
    costs = [as_json(words)["points"][0]["plain"] for words in (narrow, f"{narrow} --kv-dtype fp8", wide)]
    assert costs[0] == costs[1] < costs[2]
    # None is said of a config that says nothing.
    assert "the cache is kept" not in run(f"0.7 --target {saved(tmp_path, LLAMA)} {WORDS}")


def test_a_narrower_cache_fits_more(tmp_path: Path) -> None:
    told = {"quantization_config": {"quant_algo": "FP8", "kv_cache_quant_algo": "NVFP4"}}
    words = f"0.7 --target {saved(tmp_path, LLAMA | told)} {WORDS} --batch 8 --context 128k"
    assert not any("does not fit" in note for note in as_json(words)["notes"])
    assert any("does not fit" in note for note in as_json(f"{words} --kv-dtype bf16")["notes"])


def test_a_cache_that_is_not_understood_is_refused(tmp_path: Path) -> None:
    told = {"quantization_config": {"quant_algo": "FP8", "kv_cache_quant_algo": "INT3"}}
    words = f"0.7 --target {saved(tmp_path, LLAMA | told)} {WORDS}"
    assert "the cache of its quantization_config, int3, is not understood; give --kv-dtype (bf16" in run(words, 2)
    assert "the cache is kept in fp8, as --kv-dtype says; the config of model says int3" in run(
        f"{words} --kv-dtype fp8"
    )


def test_a_plan_says_how_a_config_was_read(tmp_path: Path) -> None:
    own = {k: v for k, v in LLAMA.items() if k != "model_type"}
    notes = as_json(f"0.7 --target {saved(tmp_path, own)} {WORDS}")["notes"]
    assert any("model: its config has neither model_type nor architectures; its layers are read as" in n for n in notes)
    notes = as_json(f"0.7 --target {saved(tmp_path, LLAMA | {'my_flag': 'on'})} {WORDS}")["notes"]
    assert any(
        "these fields of its config are not understood, and nothing is counted for them: my_flag" in n for n in notes
    )


def test_eight_bits_with_narrower_experts_multiply_in_eight(tmp_path: Path) -> None:
    moe = {"model_type": "qwen3_moe", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 768}
    told = moe | {"expert_dtype": "fp4", "quantization_config": {"quant_method": "fp8"}}
    types = as_json(f"0.7 --target {saved(tmp_path, LLAMA | told)} {WORDS}")["weights"]
    assert (types["products"], types["target"]["type"], types["target"]["expert_bits"]) == (
        "fp8",
        "fp8, experts fp4",
        4.25,
    )


@pytest.mark.parametrize("name", ["Qwen/Qwen3.9-27B", "qwen3.9-27b", "foo/bar", "zzz"])
def test_an_unknown_name_has_a_way_on(name: str) -> None:
    said = run(f"0.7 --target {name} --draft mtp --hardware h100-sxm", 2)
    assert "of any other model the file config.json says all sizes: download that file alone, and give its path" in said
    assert "near names: " in said or "known: " in said
