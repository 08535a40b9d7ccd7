"""TensorRT-LLM, aisimulate and the environments of SGLang and TensorRT-LLM: read as these engines read them."""

from __future__ import annotations

import shlex
from bisect import bisect_left
from itertools import accumulate
from operator import mul
from typing import Any

import pytest
from helpers.planning import run
from typer.testing import CliRunner

import specsim
from specsim import latency
from specsim.cli import app
from specsim.commands.plan.emit import METHODS, emit

EAGLE = "--target llama-3.1-8b --draft eagle3 --hardware h100-sxm --overhead 0"
HAZARDS = [0.9, 0.6, 0.7, 0.2]
FALLING = [(1, 8, 4), (9, 64, 1), (65, 128, 0)]


def parsed(text: str) -> Any:
    """What a YAML reader makes of a text."""
    return pytest.importorskip("yaml").safe_load(text)


def environment(text: str) -> dict[str, str]:
    """The variables of the lines of an environment file."""
    return dict(line.split("=", 1) for line in text.splitlines())


def notes(words: str) -> str:
    ended = CliRunner().invoke(app, ["plan", *shlex.split(words)])
    assert ended.exit_code == 0, ended.output
    return str(ended.stderr)


def tensorrt_length(config: dict[str, Any], batch: int) -> int:
    """The drafts of TensorRT-LLM 1.3 at a batch, as its validators and its look-up have them."""
    assert not {"max_concurrency", "draft_len_schedule"} <= set(config)
    longest = config["max_draft_len"]
    schedule = config.get("draft_len_schedule")
    if "max_concurrency" in config:
        schedule = {config["max_concurrency"]: longest}
    if schedule is None:
        return int(longest)
    assert all(isinstance(key, int) and key >= 1 and 0 <= length <= longest for key, length in schedule.items())
    assert schedule[min(schedule)] == longest
    keys = sorted(schedule)
    place = bisect_left(keys, batch)
    return int(schedule[keys[place]]) if place < len(keys) else 0


@pytest.mark.parametrize(
    ("schedule", "fields"),
    [
        ([(1, 16, 3)], set()),
        ([(1, 8, 4), (9, 64, 0)], {"max_concurrency"}),
        (FALLING, {"draft_len_schedule"}),
        ([(1, 1, 4), (2, 8, 0), (9, 20, 2)], {"draft_len_schedule"}),
    ],
)
def test_tensorrt_drafts_what_is_planned_at_every_batch(schedule: list[tuple[int, int, int]], fields: set[str]) -> None:
    config = parsed(emit("tensorrt-llm", schedule, 0.8, draft="a/b", method="eagle3"))["speculative_config"]
    assert set(config) == {"decoding_type", "max_draft_len", "speculative_model", *fields}
    for first, last, gamma in schedule:
        assert {tensorrt_length(config, batch) for batch in range(first, last + 1)} == {gamma}


@pytest.mark.parametrize("method", METHODS)
def test_tensorrt_knows_its_drafters(method: str) -> None:
    names = {
        "model": "Draft_Target", "eagle3": "Eagle3", "mtp": "MTP", "ngram": "NGram", "dflash": "DFlash",
        "parallel": "PARD",
    }  # fmt: skip
    if method not in names:
        with pytest.raises(ValueError, match=f"TensorRT-LLM has for a drafter {method} is not known here"):
            emit("tensorrt-llm", FALLING, 0.8, draft="a", method=method)
        with pytest.raises(ValueError, match="nothing is emitted"):
            emit("tensorrt-llm-synthetic", FALLING, 0.8, draft="a", method=method)
        return
    odd = 'a "b": \\ # é'
    config = parsed(emit("tensorrt-llm", FALLING, 0.8, draft=odd, method=method))["speculative_config"]
    assert config["decoding_type"] == names[method]
    assert config.get("speculative_model") == (None if method in ("mtp", "ngram") else odd)
    # N-gram look-up takes one length, that of the first batch.
    assert ("draft_len_schedule" in config) is (method != "ngram")


def test_tensorrt_refuses_what_it_cannot_hold() -> None:
    with pytest.raises(ValueError, match="draft 2 at batch 1 and 4 at a larger one; TensorRT-LLM takes"):
        emit("tensorrt-llm", [(1, 4, 2), (5, 8, 4)], 0.8, draft="a", method="eagle3")
    with pytest.raises(ValueError, match="draft 0 at batch 1 and 4 at a larger one"):
        emit("tensorrt-llm", [(1, 4, 0), (5, 8, 4)], 0.8, draft="a", method="eagle3")
    words = EAGLE.replace("--hardware", "--tp 2 --hardware")
    assert "TensorRT-LLM shares a draft model among the devices" in run(f"0.8 {words} --emit tensorrt-llm", 2)


def test_tensorrt_by_the_command() -> None:
    words = f"0.7 {EAGLE} --batch 1,128 --context 2k"
    config = parsed(run(f"{words} --emit tensorrt-llm"))["speculative_config"]
    assert config["speculative_model"] == "REPLACE-WITH-PATH-OF-eagle3"
    schedule = parsed(run(f"{words} --emit vllm"))["num_speculative_tokens_per_batch_size"]
    assert len(schedule) > 2
    assert [tensorrt_length(config, last) for _, last, _ in schedule] == [gamma for _, _, gamma in schedule]
    said = notes(f"{words} --emit tensorrt-llm")
    assert "batches up to 128, no drafts beyond" in said
    assert "above batch 128 nothing is drafted" in said
    assert "pull request 10860 read it as a length from each batch on" in said
    assert "lose acceptance when they draft again" in said
    alone = notes(f"0.7 {EAGLE} --batch 1 --context 2k --emit tensorrt-llm")
    assert "trtllm-serve --config FILE" in alone
    assert "pull request" not in alone
    other = notes(f"0.7 {EAGLE.replace('eagle3', 'llama-3.2-1b')} --batch 1,256 --context 2k --emit tensorrt-llm")
    assert "draft one token, not none" in other


def test_forced_means_are_ours() -> None:
    """SGLang's mean counts the last token of a step, and TensorRT-LLM's does not; each takes one length."""
    ours = specsim.predict(latency.constant(0.1), HAZARDS, gamma=4).tau.value
    for method in ("model", "eagle", "eagle3", "mtp", "dflash"):
        variables = environment(emit("sglang-synthetic", FALLING, HAZARDS, draft="a", method=method))
        assert float(variables.pop("SGLANG_SIMULATE_ACC_LEN")) == pytest.approx(ours, abs=1e-6)
        assert variables == {
            "SGLANG_SIMULATE_ACC_METHOD": "match-expected",
            "SGLANG_SIMULATE_ACC_TOKEN_MODE": "real-draft-token",
        }
    for method in ("model", "eagle3", "mtp", "dflash", "parallel"):
        variables = environment(emit("tensorrt-llm-synthetic", FALLING, HAZARDS, draft="a", method=method))
        assert set(variables) == {"TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS"}
        assert float(*variables.values()) == pytest.approx(ours - 1, abs=1e-6)


def test_what_would_force_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="TensorRT-LLM reads 0 as nothing forced"):
        emit("tensorrt-llm-synthetic", [(1, 1, 4)], 1e-8, draft="a", method="eagle3")
    with pytest.raises(ValueError, match=r"whole numbers alone of its ngram drafter, and 1\.89 drafts are accepted"):
        emit("tensorrt-llm-synthetic", [(1, 1, 4)], HAZARDS, draft="a", method="ngram")
    for method in ("ngram", "suffix", "peagle", "parallel"):
        with pytest.raises(ValueError, match="nothing is emitted"):
            emit("sglang-synthetic", [(1, 1, 4)], 0.8, draft="a", method=method)


def test_forced_acceptance_says_what_it_needs_and_loses() -> None:
    for engine, options in (
        ("sglang", "--speculative-num-steps 6 --speculative-eagle-topk 1 --speculative-num-draft-tokens 7"),
        ("tensorrt-llm", "max_draft_len 6"),
    ):
        said = notes(f"0.7 {EAGLE} --max-gamma 6 --context 2k --emit {engine}-synthetic")
        assert "WARNING: acceptance is forced" in said
        assert options in said
        assert "one of the two whole numbers around the mean" in said
    tree = notes(f"--ranks 0.6,0.2 {EAGLE} --emit sglang-synthetic")
    assert "SGLang forces the acceptance of chains (top-k 1)" in tree
    assert "--speculative-eagle-topk 1 " in tree


def test_aisimulate_gets_conditional_rates_or_a_mean() -> None:
    ours = specsim.predict(latency.constant(0.1), HAZARDS, gamma=4).tau.value
    looked_up = parsed(emit("aisimulate", FALLING, HAZARDS, draft="a", method="ngram"))["engine"]["speculation"]
    assert set(looked_up) == {"kind", "num_speculative_tokens", "acceptance_rates"}
    assert (looked_up["kind"], looked_up["num_speculative_tokens"]) == ("ngram", 4)
    assert 1 + sum(accumulate(looked_up["acceptance_rates"], mul)) == pytest.approx(ours, abs=1e-5)
    heads = parsed(emit("aisimulate", FALLING, HAZARDS, draft="a", method="mtp"))["engine"]
    assert heads == {"nextn": 4, "nextn_accepted": pytest.approx(ours - 1, abs=1e-6)}
    # Numbers stay numbers: YAML reads 1e-06 as text.
    small = parsed(emit("aisimulate", [(1, 1, 2)], [1e-6, 1.0], draft="a", method="ngram"))["engine"]["speculation"]
    assert small["acceptance_rates"] == [1e-6, 1.0]
    assert all(isinstance(rate, float) for rate in small["acceptance_rates"])
    for method in set(METHODS) - {"ngram", "mtp"}:
        with pytest.raises(ValueError, match=f"no drafter {method}: nothing is emitted"):
            emit("aisimulate", FALLING, 0.8, draft="a", method=method)
    with pytest.raises(ValueError, match="aisimulate models 5 drafts: plan with --max-gamma 5"):
        emit("aisimulate", [(1, 1, 6)], 0.8, draft="a", method="mtp")


def test_steps_without_a_draft_are_named_to_aisimulate() -> None:
    words = "0.7 --target llama-3.1-8b --draft ngram --drafted-share 0.4 --hardware h100-sxm --max-gamma 4"
    engine = parsed(run(f"{words} --emit aisimulate"))["engine"]["speculation"]
    assert engine["acceptance_rates"][0] == pytest.approx(0.28)
    assert "steps without one count as first drafts that are rejected" in notes(f"{words} --emit aisimulate")
