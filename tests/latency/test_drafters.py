"""Drafters that are no model of their own, hub ids and latent attention: counted by hand, and as they are printed."""

from __future__ import annotations

import csv
import json
import shlex
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from specsim import ModelShape, roofline
from specsim.cli import app
from specsim.commands.plan import models
from specsim.latency import Constants
from specsim.latency.drafters import SCORED, of_target

EIGHT = ModelShape.named("llama-3.1-8b")
H, GQA = 4096, 4096 * 128 * (32 + 2 * 8)
EAGLE3: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "hidden_size": H, "num_hidden_layers": 1,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 14336,
    "vocab_size": 128256, "draft_vocab_size": 32000,
}  # fmt: skip
MLA: dict[str, Any] = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 128,
    "num_key_value_heads": 128, "intermediate_size": 18432, "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "moe_intermediate_size": 2048,
    "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
    "moe_layer_freq": 1, "vocab_size": 129280,
}  # fmt: skip


def plan(words: str, code: int = 0) -> Any:
    found = CliRunner().invoke(app, ["plan", *shlex.split(words)])
    assert found.exit_code == code, found.output
    return json.loads(found.stdout) if "--json" in words else found


def test_an_eagle_3_head_by_hand() -> None:
    shape = ModelShape.from_config(EAGLE3)
    layer = GQA + H * H + 3 * H * 14336
    assert (shape.drafter, shape.scored, shape.body, shape.queries) == ("eagle3", 32000, layer + GQA, 2 * GQA)
    assert (shape.fusion, shape.fc, shape.vocab) == (3 * H * H, 0, 128256)
    ours = of_target(EIGHT, "eagle3")
    assert (ours.scored, ours.fusion, ours.queries) == (SCORED, shape.fusion, shape.queries)
    assert ours.body == pytest.approx(shape.body, rel=1e-4)
    nested = {"speculators_model_type": "eagle3", "draft_vocab_size": 32000, "transformer_layer_config": EAGLE3}
    assert ModelShape.from_config(nested)[1:] == shape[1:]


def test_a_head_of_its_own_and_the_fusion_are_timed() -> None:
    """A step costs what its matrices weigh, the fusion comes once a cycle: by hand, where reading alone takes time."""
    free = Constants(1.0, 1.0, 0.0, 0.0)
    shape = ModelShape.from_config(EAGLE3)
    times = roofline(EIGHT, shape, "h100-sxm", constants=free)
    weights = shape.body + 32000 * H
    kv = 2 * (0 + 1) * 8 * 128 * 2
    assert times.draft(1, 0).value == pytest.approx((2 * weights + kv + 8 * 32000) / 3.35e12)
    assert times.overhead(1, 0).value == pytest.approx(2 * 3 * H * H / 3.35e12)
    whole = roofline(EIGHT, shape._replace(scored=0), "h100-sxm", constants=free)
    assert whole.draft(1, 0).value - times.draft(1, 0).value == pytest.approx((128256 - 32000) * (2 * H + 8) / 3.35e12)
    first = ModelShape.from_config(EAGLE3 | {"architectures": ["LlamaForCausalLMEagle"], "draft_vocab_size": None})
    assert (first.drafter, first.fc, first.fusion, first.scored) == ("eagle", 2 * H * H, 0, 0)
    with_fc = roofline(EIGHT, first, "h100-sxm", constants=free).draft(1, 0).value
    without = roofline(EIGHT, first._replace(fc=0.0), "h100-sxm", constants=free).draft(1, 0).value
    assert with_fc - without == pytest.approx(2 * 2 * H * H / 3.35e12)
    assert times.error(8) is None  # nothing is recorded of such heads
    busy = times.overhead(4096, 0).value  # one text each: arithmetic is what takes time
    assert busy == pytest.approx(2 * 3 * H * H * 4096 / 989e12, rel=1e-3)
    two = roofline(EIGHT, shape, "h100-sxm", draft_tensor_parallel=2, constants=free)
    assert two.overhead(1, 0).value == pytest.approx(times.overhead(1, 0).value / 2)


def test_latent_attention_is_counted_as_printed() -> None:
    """671 billion parameters with both embeddings; 576 numbers of a layer are cached per token."""
    shape = ModelShape.from_config(MLA)
    assert (shape.body + 2 * shape.head) / 1e9 == pytest.approx(671, rel=2e-3)
    assert (shape.kv_values, shape.kv_heads, shape.moe_layers) == (61 * 576, 1, 58)
    for name, billions in (("deepseek-v3", 671), ("deepseek-v2-lite", 15.7), ("kimi-k2", 1026)):
        row = ModelShape.named(name)
        assert (row.body + 2 * row.head) / 1e9 == pytest.approx(billions, rel=3e-3)
    table = ModelShape.named("deepseek-v3")
    assert table[1:7] == shape[1:7]
    assert (table.body, table.queries, table.moe_layers) == pytest.approx((shape.body, shape.queries, 58), rel=1e-4)
    free = Constants(1.0, 1.0, 0.0, 0.0)
    lite = ModelShape.named("deepseek-v2-lite")  # 16 heads read the cache in less time than 128 multiply with it
    for one, by_hand in ((lite, 27 * 576 * 2 / 4.8e12), (shape, 61 * 128 * 2 * (2 * 512 + 64) / 989e12)):
        times = roofline(one, one, "h200-sxm", constants=free)
        both = [times.target(1, 1, s).value for s in (100_000, 200_000)]
        assert both[1] - both[0] == pytest.approx(100_000 * by_hand)
    with pytest.raises(ValueError, match=r"^config deepseek_v3 has no v_head_dim; its fields: first_k_dense_replace, "):
        ModelShape.from_config({k: v for k, v in MLA.items() if k != "v_head_dim"})


def test_drafters_of_the_target() -> None:
    module = of_target(ModelShape.named("deepseek-v3"), "mtp")
    assert (module.layers, module.moe_layers, module.experts, module.kv_rank) == (1, 1, 256, 512)
    assert module.fc == 2 * 7168**2
    dense = of_target(EIGHT, "mtp")
    assert dense.body == pytest.approx(EIGHT.body / 32)
    assert of_target(EIGHT, "eagle").scored == 0
    large = ModelShape.named("deepseek-v3")  # a layer with all its experts; a head of its own has none
    assert module.body == pytest.approx(large.shared / 61 + 256 * large.expert)
    assert of_target(large, "eagle").body == 4 * 7168 * 128 * (7168 // 128) + 3 * 7168 * 3.5 * 7168
    assert of_target(EIGHT._replace(vocab=1000), "eagle3").scored == 1000  # no more than there are
    wide = ModelShape.from_config(EAGLE3 | {"target_hidden_size": 2 * H})
    assert wide.fusion == 3 * 2 * H * H
    assert of_target(EIGHT, "eagle3", scored=1000).scored == 1000
    for call, message in (
        (lambda: of_target(EIGHT, "medusa"), "kind 'medusa' is unknown; known: eagle, eagle3, mtp"),
        (lambda: of_target(EIGHT, "mtp", scored=10**6), "scored is 1000000, more than the vocabulary of 128256"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_hub_ids_are_known_offline() -> None:
    for name, known in (
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3.1-70B", "Llama-3.1-70B"),
        ("meta-llama/Llama-2-7b-chat-hf", "Llama-2-7B"),
        ("google/gemma-2-9b-it", "Gemma-2-9B"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B"),
        ("JackFram/llama-68m", "JackFram llama-68m"),
        ("deepseek-ai/DeepSeek-R1", "DeepSeek-V3"),
    ):
        assert ModelShape.named(name).name == known
    rows = csv.DictReader((files("specsim.latency") / "data" / "hub.csv").read_text().splitlines())
    assert all(ModelShape.named(row["model"]).name == row["model"] for row in rows)
    for name in ("org/unheard-of", "Qwen/Qwen2.5-VL-7B-Instruct", "org/Llama-3.1-8B-AWQ"):
        with pytest.raises(ValueError, match=r"nothing is fetched from a hub; give the folder of its config\.json, or"):
            ModelShape.named(name)


def test_the_command_names_what_it_took(tmp_path: Path) -> None:
    base = "--target meta-llama/Llama-3.1-8B-Instruct --hardware h100-sxm 0.7 --json"
    found = plan(f"{base} --draft yuhuili/EAGLE3-LLaMA3.1-Instruct-8B")
    assert found["notes"][0] == "meta-llama/Llama-3.1-8B-Instruct is taken to have the shape of Llama-3.1-8B"
    assert "one layer of Llama-3.1-8B, and its head scores 32000 tokens" in found["notes"][1]
    (tmp_path / "config.json").write_text(json.dumps(EAGLE3))
    by_file = plan(f"{base} --draft {tmp_path}")
    assert by_file["points"][0]["draft"] == pytest.approx(found["points"][0]["draft"], rel=1e-3)
    full = plan(f"{base} --draft eagle3 --draft-vocab 128256")
    gammas = [one["points"][0]["gamma"] for one in (full, found)]
    assert full["points"][0]["draft"] / gammas[0] > 1.3 * found["points"][0]["draft"] / gammas[1]
    looked = plan(f"{base} --draft ngram --drafted-share 0.5")["points"][0]
    assert (looked["draft"], looked["speedup"]["low"]) == (0, None)
    said = plan(f"{base.removesuffix('--json')} --draft llama-3.2-1b --draft-vocab 999999", 2).stderr
    assert said == "error: draft_vocab is 999999, more than the draft's vocabulary of 128256\n"
    assert models.drafter("mtp", EIGHT, None).method == "mtp"
