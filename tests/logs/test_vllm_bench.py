"""`vllm bench serve` and SGLang's `bench_serving`: times, batch and counts of JSON, or one line of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import read

from specsim.logs.measures import log_acceptance

PLAIN = {
    "date": "20261101-101500", "backend": "vllm", "model_id": "meta-llama/Llama-3.1-8B-Instruct", "max_concurrency": 8,
    "request_rate": "inf", "duration": 65.3, "completed": 160, "failed": 0, "total_input_tokens": 108_960,
    "total_output_tokens": 40_960, "output_throughput": 627.0, "mean_ttft_ms": 217.0, "mean_tpot_ms": 11.95,
    "std_tpot_ms": 1.6, "mean_itl_ms": 11.95,
}  # fmt: skip
BLOCKS, KEPT = 13_780, (9_370, 6_750, 4_960, 3_583, 2_509)
EAGLE = PLAIN | {
    "duration": 37.2, "mean_ttft_ms": 110.3, "mean_tpot_ms": 6.76, "mean_itl_ms": 20.0,
    "spec_decode_num_drafts": BLOCKS, "spec_decode_draft_tokens": 5 * BLOCKS,
    "spec_decode_accepted_tokens": sum(KEPT), "spec_decode_acceptance_rate": 100 * sum(KEPT) / (5 * BLOCKS),
    "spec_decode_acceptance_length": 1 + sum(KEPT) / BLOCKS,
    "spec_decode_per_position_acceptance_rates": [kept / BLOCKS for kept in KEPT],
}  # fmt: skip


def test_a_run_without_drafts(tmp_path: Path) -> None:
    (run,) = read(json.dumps(PLAIN, indent=1), tmp_path)
    assert (run.engine, run.speculating, run.model) == ("serving benchmark", False, "meta-llama/Llama-3.1-8B-Instruct")
    assert run.token is not None
    assert run.token.value == pytest.approx(0.01195)
    assert run.token.error == pytest.approx(0.0016 / 160**0.5)
    # Little's law: 160 requests of 217 ms and 255 tokens of 11.95 ms, in 65.3 s.
    assert run.batch == pytest.approx(160 * (0.217 + 255 * 0.01195) / 65.3)


def test_a_run_with_drafts(tmp_path: Path) -> None:
    (run,) = read(json.dumps(EAGLE), tmp_path)
    assert (run.speculating, run.blocks, run.length, run.kept, run.coverage) == (True, BLOCKS, 5.0, KEPT, 1.0)
    found = log_acceptance(run)
    assert found.measures["tau"].value == pytest.approx(1 + sum(KEPT) / BLOCKS)
    assert found.hazards is not None
    assert list(found.hazards.hazards)[:2] == pytest.approx([KEPT[0] / BLOCKS, KEPT[1] / KEPT[0]])


def test_sglang_writes_one_mean(tmp_path: Path) -> None:
    (run,) = read(json.dumps(PLAIN | {"backend": "sglang", "accept_length": 2.87}), tmp_path)
    assert (run.speculating, run.coverage) == (True, None)
    assert run.tau is not None
    assert run.tau.value == 2.87
    (plain,) = read(json.dumps(PLAIN | {"backend": "sglang", "accept_length": None}), tmp_path)
    assert not plain.speculating


def test_appended_results_are_runs_of_their_own(tmp_path: Path) -> None:
    runs = read(f"{json.dumps(PLAIN)}\n{json.dumps(EAGLE)}\n", tmp_path)
    assert [run.speculating for run in runs] == [False, True]
    assert [run.source for run in runs] == ["on.log, run 1", "on.log, run 2"]


def test_steps_without_a_draft_follow_from_the_tokens(tmp_path: Path) -> None:
    """n-gram drafts in a third of the steps: tau is of all steps."""
    blocks, accepted = 6_000, 12_000
    names = ("num_drafts", "draft_tokens", "accepted_tokens")
    counts = {f"spec_decode_{name}": n for name, n in zip(names, (blocks, 3 * blocks, accepted), strict=True)}
    (run,) = read(json.dumps(PLAIN | counts), tmp_path)
    steps = 40_960 - 160 - accepted
    assert run.coverage == pytest.approx(blocks / steps)
    assert log_acceptance(run).measures["tau"].value == pytest.approx(1 + accepted / steps)


def test_counts_that_do_not_say_how_many_steps_had_none(tmp_path: Path) -> None:
    """Answers of a few tokens, whose ends cut off as much as steps without a draft would write."""
    short = {"completed": 4000, "total_output_tokens": BLOCKS + sum(KEPT) + 4000}
    (run,) = read(json.dumps(EAGLE | short), tmp_path)
    assert run.coverage is None


def test_rates_that_do_not_sum_to_the_count_are_left_out(tmp_path: Path) -> None:
    (run,) = read(
        json.dumps(EAGLE | {"spec_decode_per_position_acceptance_rates": [0.9, 0.8, 0.7, 0.6, 0.5]}), tmp_path
    )
    assert run.kept == ()
    assert any("sum to 48230 accepted drafts, the count is 27172: not read" in note for note in run.notes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"completed": 0}, "no request was completed"),
        ({"completed": 1.5}, "completed is 1.5; expected a whole number"),
        ({"mean_tpot_ms": "fast"}, "mean_tpot_ms is fast; expected a number"),
        ({"mean_tpot_ms": 0}, "a token takes 0 s"),
        ({"duration": 0}, "duration is 0; expected the seconds of the run"),
        ({"duration": None}, "duration is None; expected a number"),
        ({"total_output_tokens": 20_000}, "counts of another run?"),
        ({"accept_length": 1.5}, "accept_length is 1.5, but the counts give 2.972; they differ"),
        ({"spec_decode_num_drafts": None}, "has spec_decode fields, but not spec_decode_num_drafts"),
        ({"spec_decode_acceptance_length": 3.5}, "is 3.5, but the counts give 2.972; they differ"),
        ({"spec_decode_acceptance_rate": 0.394}, "is 0.394, but the counts give 39.44; they differ"),
        ({"spec_decode_accepted_tokens": 10**6, "spec_decode_acceptance_length": None,
          "spec_decode_acceptance_rate": None}, "1000000 drafts accepted of 68900 drafted"),
        ({"spec_decode_per_position_acceptance_rates": "all"}, "expected a list of rates"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"on\.log") as error:
        read(json.dumps(EAGLE | change), tmp_path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec_decoding_num_drafts": 8500, "acceptance_length": 3.0}, "what it says of drafts is not understood"),
        ({"avg_spec_accept_length": 3.2}, "has avg_spec_accept_length, and none of accept_length"),
        ({"accept_length": 0.7}, "a target call gives 1 token or more"),
    ],
)
def test_a_run_with_drafts_is_never_taken_for_a_plain_one(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"on\.log") as error:
        read(json.dumps(PLAIN | change), tmp_path)
    assert message in str(error.value)
