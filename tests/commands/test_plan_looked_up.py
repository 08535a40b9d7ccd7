"""Steps without a draft, blocks made in one pass, acceptance by context, and names that engines can load."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from helpers.planning import SMALL, as_json, run
from typer.testing import CliRunner

import specsim
from specsim import latency
from specsim.cli import app
from specsim.commands.plan.answer import EVERYWHERE
from specsim.commands.plan.handoff import loadable_draft

EIGHT = "--target llama-3.1-8b --hardware h100-sxm"
NGRAM = f"{EIGHT} --draft ngram --overhead 0"


@pytest.mark.parametrize("draft", ["ngram", "suffix", "NGRAM"])
def test_no_plan_of_looked_up_drafts_from_an_acceptance_alone(draft: str) -> None:
    """The trial's case: an acceptance of 0.35 was taken for every step, and the answer was "Yes: 1.53 times"."""
    said = run(f"{EIGHT} --draft {draft} 0.35", 2)
    assert f"--draft {draft.lower()} needs --drafted-share, the share of the target calls that had drafts" in said
    assert "`specsim log` prints it under this name" in said
    # nor with --rate, nor for an engine
    assert "needs --drafted-share" in run(f"{EIGHT} --draft {draft} 0.35 --rate 1", 2)
    assert "needs --drafted-share" in run(f"{EIGHT} --draft {draft} 0.35 --emit vllm", 2)


def test_steps_without_a_draft_are_plain_ones() -> None:
    """By hand: 1 + s (tau - 1) tokens in a step that costs 1 - s + s t."""
    share = 0.25
    found = as_json(f"{NGRAM} 0.6 --drafted-share {share} --max-gamma 4")
    times = specsim.roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    plain = times.target(1, 1, 1024).value
    for gamma, one in enumerate(found["curve"]):
        tau = float(specsim.block_efficiency(0.6, gamma=gamma))
        cost = times.target(gamma + 1, 1, 1024).value / plain
        assert one["value"] == pytest.approx((1 + share * (tau - 1)) / (1 - share + share * cost))
    best = found["points"][0]
    assert best["tau"]["value"] == pytest.approx(1 + share * (specsim.block_efficiency(0.6, gamma=best["gamma"]) - 1))
    always = as_json(f"{NGRAM} 0.6 --drafted-share 1 --max-gamma 4")
    assert always["points"][0]["speedup"]["value"] > best["speedup"]["value"]
    # The least acceptance is that of the steps with a draft, whatever their share.
    assert found["break_even"] == pytest.approx(always["break_even"])
    half = next(one for one in found["doubts"] if one["assumption"] == "the share of steps with a draft")
    rarer = as_json(f"{NGRAM} 0.6 --drafted-share {share / 2} --max-gamma {best['gamma']}")
    assert half["speedup"] == pytest.approx(rarer["curve"][best["gamma"]]["value"])
    assert "a draft is found in 0.25 of the steps" in " ".join(found["assumptions"])
    assert "0.25 of all steps (--drafted-share)" in found["assumptions"][0]


def test_the_share_is_of_drafts_that_are_looked_up() -> None:
    for words, message in (
        (
            f"{SMALL} 0.6 --drafted-share 0.5",
            "below 1 goes with drafts that are looked up: --draft ngram or suffix",
        ),
        (f"{NGRAM} 0.6 --drafted-share 0", "drafted_share is 0.0; it must lie in (0, 1]"),
        (f"{NGRAM} 0.6 --drafted-share 1.2", "drafted_share is 1.2; it must lie in (0, 1]"),
        (f"{NGRAM} --ranks 0.6,0.2 --drafted-share 0.5", "chains: give --hazards or ALPHA instead of --ranks"),
        (f"{NGRAM} 0.6 --drafted-share 0.5 --one-pass", "leave out --one-pass and --cache-hits"),
    ):
        assert message in run(words, 2)


def test_report_30_acceptance_at_every_context() -> None:
    words = "--target qwen3-32b --draft qwen3-0.6b --hardware h100-sxm --tp 2 --draft-tp 2"
    found = as_json(f"0.85 {words} --context 1k,32k,86k")
    assert EVERYWHERE in found["assumptions"]
    assert "give one that was measured" in run(f"0.85 {words} --context 1k,32k,86k")
    far, at = found["far"], found["points"][2]
    assert (far["context"], far["gamma"]) == (88_064, at["gamma"])
    speeds = {one["failing"]: one["speedup"] for one in far["doubts"]}
    times = specsim.roofline("qwen3-32b", "qwen3-0.6b", "h100-sxm", tensor_parallel=2, draft_tensor_parallel=2)
    for alpha, failing in ((0.75, "0.1 lower at every position"), (0.425, "half as large")):
        one = specsim.predict(times, alpha, gamma=far["gamma"], context=88_064)
        assert speeds[failing] == pytest.approx(one.speedup.value)
    assert far["break_even"] == specsim.break_even_alpha(times, gamma=far["gamma"], context=88_064)
    shown = run(f"0.85 {words} --context 1k,32k,86k")
    assert "the plan of the longest context (batch 1, context 88064), if one assumption fails:" in shown
    assert as_json(f"0.85 {words} --context 86k")["far"] is None
    # What was reported at these contexts, with the same command.
    for alpha, context in ((0.53, "32k"), (0.45, "86k")):
        assert as_json(f"{alpha} {words} --context {context}")["points"][0]["speedup"]["value"] < 1.7


def test_report_09_a_block_of_16_has_15_drafts(tmp_path: Path) -> None:
    config = {"architectures": ["DFlashDraftModel"], "model_type": "qwen3", "block_size": 16, "hidden_size": 4096,
              "intermediate_size": 12288, "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 8,
              "head_dim": 128, "num_target_layers": 36, "vocab_size": 151936,
              "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]}}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    words = f"0.8 --target qwen3-8b --draft {tmp_path} --hardware h100-sxm"
    found = as_json(words)
    assert (found["points"][0]["gamma"], len(found["curve"])) == (15, 16)
    assert found["points"][0]["speedup"]["value"] > 3.5
    assert found == as_json(f"{words} --one-pass") | {"asked": found["asked"]}
    assert json.loads(run(f"{words} --emit vllm")) == {
        "method": "dflash", "model": str(tmp_path), "num_speculative_tokens": 15
    }  # fmt: skip
    assert run(f"{words} --emit sglang").split()[-2:] == ["--speculative-num-draft-tokens", "16"]


def test_a_head_of_one_layer_is_taken_for_eagle(tmp_path: Path) -> None:
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "vocab_size": 128256,
              "num_hidden_layers": 1, "num_attention_heads": 32, "num_key_value_heads": 8,
              "intermediate_size": 14336}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = as_json(f"0.7 {EIGHT} --draft {tmp_path}")
    assert "one layer as wide as the target's is taken for an EAGLE head, by its shape alone" in found["notes"][0]
    assert "a step of the eagle drafter is" in " ".join(found["assumptions"])


def test_fields_that_are_not_understood_are_named_in_the_answer(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 4096, "vocab_size": 128256, "num_hidden_layers": 32,
              "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
              "my_flag": "on", "another": 3}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    found = as_json(f"0.7 --target {tmp_path} --draft llama-3.2-1b --hardware h100-sxm")
    assert any("not understood, and nothing is counted for them: another, my_flag" in said for said in found["notes"])


@pytest.mark.parametrize("draft", ["eagle3", "eagle", "llama-3.2-1b"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "sglang-adaptive"])
def test_no_engine_is_given_a_name_that_it_cannot_load(draft: str, engine: str) -> None:
    """The trial's case: "model": "eagle3"."""
    found = CliRunner().invoke(app, ["plan", *shlex.split(f"0.7 {EIGHT} --draft {draft} --emit {engine}")])
    if found.exit_code:
        assert "llama.cpp has for a drafter eagle" in found.stderr or "changes the length of" in found.stderr
        return
    printed = found.stdout + found.stderr
    asked = "GGUF" if engine == "llamacpp" else "PATH"
    place = f"REPLACE-WITH-{asked}-OF-{draft}"
    assert place in printed
    assert f'"model": "{draft}"' not in printed
    if engine != "sglang-adaptive":
        assert f"in place of {place}" in found.stderr
        assert '"model"' not in found.stderr


def test_what_an_engine_can_load_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for draft in (tmp_path, tmp_path / "config.json"):
        assert loadable_draft(str(draft), "vllm") == str(tmp_path)
    assert loadable_draft("org/head", "sglang") == "org/head"
    assert loadable_draft(str(tmp_path), "llamacpp") == f"REPLACE-WITH-GGUF-OF-{tmp_path.name}"
    assert loadable_draft(None, "vllm") == "REPLACE-WITH-PATH-OF-DRAFT"


def test_names_that_people_type() -> None:
    """Those of the trial, and errors that list near names or end after some."""
    for name, known in (("Llama-3.1-70B-Instruct", "Llama-3.1-70B"), ("llama-3.3-70b", "Llama-3.1-70B"),
                        ("deepseek-r1", "DeepSeek-V3"), ("Qwen3-8B-Base", "Qwen3-8B"),
                        ("llama-68m", "JackFram llama-68m"),
                        ("gpt2", "GPT-2 small")):  # fmt: skip
        assert specsim.ModelShape.named(name).name == known
    for name, device in (("m4", "Apple M4"), ("m4-pro", "Apple M4 Pro"), ("m4 max 40", "Apple M4 Max (40-core GPU)"),
                         ("4090", "RTX 4090"), ("A6000", "RTX A6000")):  # fmt: skip
        assert latency.hardware(name).name == device
    for name in ("org/unheard-of", "xyzzy", "org/qwen3-13b"):
        with pytest.raises(ValueError, match=r"near names: |known: ") as error:
            specsim.ModelShape.named(name)
        assert len(str(error.value)) < 400
    assert "and 54 more" in str(error.value) or "near names" in str(error.value)
    for draft in ("medusa", "dflash", "Hydra"):
        said = run(f"0.7 {EIGHT} --draft {draft}", 2)
        assert "has no shape here" in said
        assert "plan it by --cost-ratio" in said


# One interval of 10 s of vLLM 0.9 with n-grams, as reported: 33,991 tokens, 8,207 of them from blocks with drafts.
ON_LOG = """\
INFO 01-01 10:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: \
0.0 tokens/s, Running: 0 reqs, Waiting: 610 reqs, GPU KV cache usage: 0.0%, Prefix cache hit rate: 0.0%
INFO 01-01 10:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: \
3399.1 tokens/s, Running: 610 reqs, Waiting: 0 reqs, GPU KV cache usage: 17.6%, Prefix cache hit rate: 0.6%
INFO 01-01 10:00:10 [metrics.py:1] SpecDecoding metrics: Draft acceptance rate: 61.0%, Mean acceptance length: 2.83, \
Accepted: 5306 tokens, Drafted: 8703 tokens, Per-position acceptance rate: 0.730, 0.597, 0.502
"""


def test_report_01_hazards_of_a_log_carry_the_share(tmp_path: Path) -> None:
    """Drafts in 10.1 % of the steps: 1.185 tokens a step, not the 2.83 of blocks with drafts."""
    log, table = tmp_path / "on.log", tmp_path / "h.csv"
    log.write_text(ON_LOG)
    made = CliRunner().invoke(app, ["log", str(log), "--out", str(table)])
    assert made.exit_code == 0, made.output
    assert table.read_text().startswith("position,tried,kept,drafted_share\n1,2901,2118,0.10113")
    # The file says that not every step had a draft: no plan without the share, which may be said beside declared costs.
    assert "10.1 % of the steps had a draft" in run(f"--hazards {table} --cost-ratio 0", 2)
    free = as_json(f"--hazards {table} --cost-ratio 0 --drafted-share 0.10113")["points"][0]
    assert free["tau"]["value"] == pytest.approx(1.185, abs=5e-4)
    looked_up = as_json(f"{NGRAM} --hazards {table} --drafted-share 0.10113")
    assert looked_up["points"][0]["tau"]["value"] == pytest.approx(free["tau"]["value"])
    said = run(f"--hazards {table} --cost-ratio 0 --drafted-share 1", 2)
    assert "--drafted-share is 1, but h.csv says that 0.101 of the steps had a draft; leave the option out" in said
    table.write_text("position,tried,kept\n1,2901,2118\n2,2118,1732\n3,1732,1456\n")
    assert "needs --drafted-share" in run(f"{NGRAM} --hazards {table}", 2)
