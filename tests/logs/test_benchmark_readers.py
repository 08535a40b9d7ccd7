"""Files of benchmarks with counts by request or position: Spec-Bench and EAGLE, traces, speculators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import lines, only, read

from specsim.logs.measures import counted_run, log_acceptance, log_tau


def spec_bench(question: int, lengths: list[int] | None, tokens: list[int], **more: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "turns": ["..."] * len(tokens),
        "new_tokens": tokens,
        "wall_time": [0.5] * len(tokens),
        **more,
    }
    if lengths is not None:
        choice["accept_lengths"] = lengths
    return {"question_id": question, "category": "math", "model_id": "m", "choices": [choice]}


def test_spec_bench_lengths_count_the_targets_token_or_not(tmp_path: Path) -> None:
    with_target = lines(spec_bench(81, [3, 1, 4, 2], [10]), spec_bench(82, [5, 5, 1], [11]))
    run, record = only(with_target, tmp_path)
    assert (run.blocks, run.accepted, run.length, run.model) == (7, 14, None, "m")
    assert record.requests[0].prompt == "question 81, choice 0"
    without = lines(spec_bench(81, [2, 0, 3, 1], [10]), spec_bench(82, [4, 4, 0], [11]))
    assert only(without, tmp_path)[1] == record
    found = log_acceptance(run)
    assert found.measures["tau"].value == 3.0
    assert any("taken to have had 4 drafts, the most that one accepted" in note for note in found.notes)
    assert run.cycle is not None
    assert run.cycle.value == pytest.approx(1.0 / 7)
    assert counted_run(run, 5).kept == (5, 4, 3, 2, 0)
    with pytest.raises(ValueError, match="accept_lengths sum to 10 in 4 steps, new_tokens to 99"):
        read(lines(spec_bench(81, [3, 1, 4, 2], [99])), tmp_path)


def test_eagle_steps_are_one_more_than_the_last_index(tmp_path: Path) -> None:
    """The first two questions of eagle/outputs, and the baseline, which writes no tokens."""
    text = lines(spec_bench(81, None, [1026, 471], idxs=[334, 126]), spec_bench(82, None, [179, 399], idxs=[40, 92]))
    run, record = only(text, tmp_path)
    assert run.blocks == 335 + 127 + 41 + 93
    assert log_tau(run, length=5).value == pytest.approx((1026 + 471 + 179 + 399) / run.blocks)
    assert record.requests[0].seconds == 1.0
    (plain,) = read(lines(spec_bench(81, None, [0, 0], idxs=[511, 511])), tmp_path)
    assert (plain.speculating, plain.token) == (False, plain.token)
    assert plain.token is not None
    assert plain.token.value == pytest.approx(1 / 1024)


def test_spec_bench_leaves_out_what_failed(tmp_path: Path) -> None:
    failed = spec_bench(83, [9, 9], [5])
    failed["choices"][0]["turns"] = ["ERROR"]
    run, record = only(lines(spec_bench(81, [3, 1], [4]), failed), tmp_path)
    assert (len(record.requests), run.blocks) == (1, 2)
    assert "1 answers that ended with an error are left out" in run.notes
    with pytest.raises(ValueError, match="neither accept_lengths nor decoding_steps nor idxs"):
        read(lines(spec_bench(81, None, [4])), tmp_path)


def test_traces_become_blocks_of_the_length_that_is_asked_for(tmp_path: Path) -> None:
    trace = {"id": "7", "prompt_token_ids": [1, 2], "acc_eagle": {"acc_len": [5, 1, 1, 2, 8, 10, 1]},
             "acc_ngram": {"acc_len": [1, 1, 1, 1, 1, 1, 1]}}  # fmt: skip
    eagle, ngram = read(lines(trace, trace), tmp_path)
    assert (eagle.source, ngram.source) == ("on.log, eagle", "on.log, ngram")
    counted = counted_run(eagle, 2)
    assert (counted.blocks, counted.accepted, counted.kept) == (6, 8, (6, 2))
    assert log_acceptance(eagle, length=2).measures["tau"].value == pytest.approx(7 / 3)
    assert counted_run(ngram, 2).accepted == 0
    with pytest.raises(ValueError, match="give --gamma for blocks"):
        log_acceptance(eagle)
    with pytest.raises(ValueError, match="is 0; expected 1 or more, the target's token"):
        read(lines({"acc_eagle": {"acc_len": [1, 0]}}), tmp_path)
    with pytest.raises(ValueError, match="1 of 2 lines have acc_ngram; expected it in each"):
        read(lines(trace, {"acc_eagle": {"acc_len": [1]}}), tmp_path)


CSV = (
    "subset,num_drafts,num_draft_tokens,num_accepted_tokens,acceptance_length,acceptance_at_pos_0,acceptance_at_pos_1\n"
    "HumanEval,1000,2000,1300,2.3,0.8,0.5\nmath,400,800,300,1.75,0.5,0.25\n"
)


def test_speculators_rows_are_runs(tmp_path: Path) -> None:
    code, arithmetic = read(CSV, tmp_path, "acceptance.csv")
    assert (code.source, code.blocks, code.kept) == ("acceptance.csv, HumanEval", 1000, (800, 500))
    assert arithmetic.length == 2
    with pytest.raises(ValueError, match=r"acceptance_length is 2\.9, and the counts give 2\.3"):
        read(CSV.replace("2.3,", "2.9,"), tmp_path, "acceptance.csv")
    with pytest.raises(ValueError, match="num_drafts is 0"):
        read(CSV.replace("1000,2000,1300,2.3", "0,0,0,0"), tmp_path, "acceptance.csv")
    odd = read(CSV.replace("0.8,0.5", "0.8,0.7"), tmp_path, "acceptance.csv")[0]
    assert odd.kept == ()
    assert any("hazards are not known" in note for note in odd.notes)
