"""`specsim plan --one-pass --emit`: engines draft a block in one pass, as planned, or nothing is emitted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan.emit import EMITTERS
from specsim.commands.plan.engines.handover import DESCRIBED

NUMBERS = "--cost-ratio 0.1"
MODEL = "--target llama-3.1-8b --hardware h100-sxm --draft llama-3.2-1b"
HEAD = "--target llama-3.1-8b --hardware h100-sxm --draft eagle3"
FIRST = "--target llama-3.1-8b --hardware h100-sxm --draft eagle"
MODULE = "--target llama-3.1-8b --hardware h100-sxm --draft mtp"
# Options of an engine that draft in one pass, by its name and the drafter's.
IN_ONE_PASS = {
    **{("vllm", given): '"parallel_drafting": true' for given in (NUMBERS, MODEL, HEAD)},
    **{("vllm-synthetic", given): '"parallel_drafting": true' for given in (NUMBERS, MODEL, HEAD)},
    **{("tensorrt-llm", given): "decoding_type: PARD" for given in (NUMBERS, MODEL)},
    **{("tensorrt-llm-synthetic", given): "TLLM_SPEC_DECODE" for given in (NUMBERS, MODEL)},
}
DFLASH = {"architectures": ["DFlashDraftModel"], "model_type": "qwen3", "block_size": 16, "hidden_size": 4096,
          "intermediate_size": 12288, "num_hidden_layers": 5, "num_attention_heads": 32, "num_key_value_heads": 8,
          "head_dim": 128, "num_target_layers": 36, "vocab_size": 151936,
          "dflash_config": {"mask_token_id": 151669, "target_layer_ids": [1, 9, 17, 25, 33]}}  # fmt: skip


def emitted(words: str, engine: str) -> tuple[int, str, str]:
    """Return the exit code, what the engine reads, and the notes or the error on one line."""
    ended = CliRunner().invoke(app, f"plan {words} --emit {engine}".split())
    return ended.exit_code, ended.stdout, " ".join(ended.stderr.split())


@pytest.mark.parametrize("engine", EMITTERS)
@pytest.mark.parametrize("given", [NUMBERS, MODEL, HEAD, FIRST, MODULE])
def test_an_engine_drafts_in_one_pass_or_is_given_nothing(given: str, engine: str) -> None:
    code, text, said = emitted(f"0.8 --one-pass {given}", engine)
    if (engine, given) in IN_ONE_PASS:
        assert (code, IN_ONE_PASS[engine, given] in text) == (0, True)
        return
    assert (code, text) == (2, "")
    assert f"--emit {engine}: the plan has drafts of one pass by" in said
    assert "a plan without --one-pass" in said


def test_without_one_pass_they_draft_one_by_one() -> None:
    for given, method in ((NUMBERS, "draft_model"), (HEAD, "eagle3")):
        config = json.loads(emitted(f"0.8 {given}", "vllm")[1])
        assert (config["method"], "parallel_drafting" in config) == (method, False)
    assert "Draft_Target" in emitted(f"0.8 {NUMBERS}", "tensorrt-llm")[1]


def test_a_refusal_names_engines_that_can() -> None:
    assert (
        "give --emit vllm or tensorrt-llm, or the config.json of a DFlash head"
        in (emitted(f"0.8 --one-pass {NUMBERS}", "sglang")[2])
    )
    assert (
        "give --emit vllm-synthetic, or the config.json of a DFlash head"
        in (emitted(f"0.8 --one-pass {HEAD}", "tensorrt-llm-synthetic")[2])
    )
    assert "nothing is emitted; give a plan without --one-pass" in emitted(f"0.8 --one-pass {FIRST}", "aisimulate")[2]
    assert set(DESCRIBED) >= {method for emitter in EMITTERS.values() for method in emitter.in_one_pass}


def test_what_the_draft_has_to_be_is_noted() -> None:
    said = emitted(f"0.8 --one-pass {NUMBERS}", "vllm")[2]
    assert "the draft has to be trained for it (PARD, P-EAGLE)" in said
    assert "a draft model that fills masks in one pass (PARD); DFlash and P-EAGLE heads have other names" in said
    assert "PARD fills a block in one pass" in emitted(f"0.8 --one-pass {NUMBERS}", "tensorrt-llm")[2]
    alone = emitted(f"0.8 {NUMBERS}", "vllm")[2]
    assert "trained for it" not in alone
    assert "this is for a draft model; EAGLE heads and others have names" in alone


def test_dflash_is_given_a_block_not_a_tree(tmp_path: Path) -> None:
    """SGLang's DFlash drafts chains: its block is that of the best chain, whatever the ranks say of trees."""
    (tmp_path / "config.json").write_text(json.dumps(DFLASH))
    words = f"--target qwen3-8b --draft {tmp_path} --hardware h100-sxm"
    code, text, said = emitted(f"--ranks 0.8,0.1,0.05 {words}", "sglang")
    assert (code, text) == (0, emitted(f"0.8 {words}", "sglang")[1])
    assert text.split()[-2:] == ["--speculative-num-draft-tokens", "16"]
    assert "this engine takes no trees" in said
    assert "draft-dflash" in emitted(f"0.8 {words}", "llamacpp")[1]
    assert "no option for them" in emitted(f"0.8 {words}", "sglang-adaptive")[2]
