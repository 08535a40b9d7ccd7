"""Files with counts by request: vLLM, aiperf, SGLang, TensorRT-LLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import lines, only, read

from specsim.lengths.request_record import LengthCounts
from specsim.logs.measures import log_acceptance, log_tau
from specsim.logs.record import EngineLog


def vllm(**changes: Any) -> dict[str, Any]:
    """One answer of vLLM: 6 blocks, of which two drafted one token and four drafted three."""
    metrics = {
        "acceptance_histogram": [2, 2, 1, 1],
        "acceptance_histogram_by_draft_length": {"1": [1, 1], "3": [1, 1, 1, 1]},
        "num_spec_steps": 6,
        "num_accepted_draft_tokens": 7,
        "num_draft_tokens": 14,
        "num_spec_tokens": 3,
    } | changes
    return {
        "choices": [],
        "usage": {"prompt_tokens": 40, "completion_tokens": 16},
        "metrics": {"speculative_decoding": metrics},
    }


def test_vllm_blocks_of_several_lengths_are_censored(tmp_path: Path) -> None:
    run, record = only(lines(vllm(), vllm(), vllm()), tmp_path)
    (request, *_) = record.requests
    assert request.histogram == (LengthCounts(1, (1, 1)), LengthCounts(3, (1, 1, 1, 1)))
    assert (request.tokens, request.context, request.plain_steps) == (16, 40, 2)
    assert run.coverage == pytest.approx(6 / 8)
    hazards = log_acceptance(run).hazards
    assert hazards is not None
    # Draft 2 was tested by three blocks of each answer: the block of one draft that accepted it did not test it.
    assert hazards.tried.tolist() == [18, 9, 6]
    assert hazards.hazards.tolist() == pytest.approx([4 / 6, 2 / 3, 1 / 2])
    assert not any("lower bounds" in note for note in log_acceptance(run).notes)


def test_vllm_steps_tell_the_same_as_histograms(tmp_path: Path) -> None:
    steps = {"per_step_accepted": [0, 1, 0, 1, 2, 3], "per_step_drafted": [1, 1, 3, 3, 3, 3]}
    answer = vllm(**steps)
    del answer["metrics"]["speculative_decoding"]["acceptance_histogram_by_draft_length"]
    assert only(lines(answer), tmp_path)[1] == only(lines(vllm()), tmp_path)[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"acceptance_histogram_by_draft_length": {"3": [1, 1, 1]}}, r"\[3\] needs 4 counts"),
        ({"acceptance_histogram_by_draft_length": {"3": [2, 2, 2, 0]}}, "accepted 2 drafts, 2 by draft length"),
        ({"acceptance_histogram_by_draft_length": [1]}, "expected draft lengths with a list each"),
        ({"acceptance_histogram_by_draft_length": None, "per_step_accepted": [9], "per_step_drafted": [3]},
         r"per_step_accepted\[0\] is 9, more than the 3"),
        ({"num_draft_tokens": 15}, "15 drafts in 6 blocks; blocks of these lengths have 14"),
    ],
)  # fmt: skip
def test_vllm_numbers_that_differ_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words):
        read(lines(vllm(**changes)), tmp_path)


def aiperf(prompt: str, histogram: dict[str, int], tokens: int, **more: Any) -> dict[str, Any]:
    accepted = sum(int(n) * count for n, count in histogram.items())
    steps = sum(histogram.values())
    return {
        "metadata": {"conversation_id": prompt, "turn_index": 0, "benchmark_phase": "profiling"},
        "metrics": {
            "output_sequence_length": {"value": tokens, "unit": "tokens"},
            "input_sequence_length": {"value": 30, "unit": "tokens"},
            "request_latency": {"value": 900.0, "unit": "ms"},
            "time_to_first_token": {"value": 100.0, "unit": "ms"},
        },
        "error": None,
        "spec_decode_acceptance": {
            "engine": "vllm",
            "acceptance_histogram": histogram,
            "num_accepted_draft_tokens": accepted,
            "num_draft_tokens": 3 * steps,
            "num_spec_steps": steps,
            "num_spec_tokens": 3,
        },
        **more,
    }


def test_aiperf_requests_have_prompts_and_times(tmp_path: Path) -> None:
    failed = {"metadata": {}, "metrics": {}, "error": {"code": 499}}
    silent = {"metadata": {}, "metrics": {}, "spec_decode_acceptance": None}
    warm = aiperf("w", {"0": 9}, 10)
    warm["metadata"]["benchmark_phase"] = "warmup"
    text = lines(aiperf("a", {"0": 4, "2": 2}, 11), failed, silent, warm, aiperf("b", {"3": 5, "1": 1}, 23))
    run, record = only(text, tmp_path)
    assert (run.engine, run.blocks, run.accepted, run.drafted, run.kept) == ("vLLM", 12, 20, 36, (8, 7, 5))
    assert [request.prompt for request in record.requests] == ["a, turn 0", "b, turn 0"]
    assert [request.seconds for request in record.requests] == pytest.approx([0.8, 0.8])
    assert run.coverage == 1.0
    assert {"1 failed requests are left out", "1 requests without spec_decode_acceptance are left out"} <= set(
        run.notes
    )


def test_aiperf_prompts_that_come_again_are_numbered(tmp_path: Path) -> None:
    _, record = only(lines(*[aiperf("a", {"0": 4}, 5)] * 2, aiperf("b", {"1": 1}, 3)), tmp_path)
    assert [request.prompt for request in record.requests] == [
        "a, turn 0, request 1",
        "a, turn 0, request 2",
        "b, turn 0",
    ]


def test_aiperf_chunks_that_are_no_steps_are_convicted(tmp_path: Path) -> None:
    """Six steps are six gaps; a proxy that sends each token alone has ten."""
    for gaps, convicted in ((6, False), (10, True)):
        request = aiperf("a", {"0": 4, "2": 2}, 11)
        request["metrics"]["inter_chunk_latency"] = {"value": [20.0] * gaps, "unit": "ms"}
        run, _ = only(lines(request), tmp_path)
        assert any("chunks are no steps" in note for note in run.notes) is convicted


def test_printed_means_are_those_of_the_counts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"mean_acceptance_length is 3, and the counts give 2\.167"):
        read(lines(vllm(mean_acceptance_length=3.0)), tmp_path)
    with pytest.raises(ValueError, match=r"draft_acceptance_rate is 0\.9, and the counts give 0\.5"):
        read(lines(vllm(draft_acceptance_rate=0.9)), tmp_path)
    assert read(lines(vllm(mean_acceptance_length=2.1667, draft_acceptance_rate=0.5)), tmp_path)[0].blocks == 6


def test_aiperf_units_and_engines_are_not_guessed(tmp_path: Path) -> None:
    odd = aiperf("a", {"0": 4}, 5)
    odd["metrics"]["request_latency"]["unit"] = "ticks"
    with pytest.raises(ValueError, match="request_latency is in 'ticks'"):
        read(lines(odd), tmp_path)
    other = aiperf("a", {"0": 4}, 5)
    other["spec_decode_acceptance"]["engine"] = "sglang"
    with pytest.raises(ValueError, match="requests of sglang and vllm; expected one engine"):
        read(lines(other, aiperf("b", {"0": 4}, 5)), tmp_path)


# As printed in sgl-project/sglang#33518 and #13754.
DSPARK = {
    "spec_accept_rate": 0.2930232558139535,
    "spec_accept_length": 2.4651162790697674,
    "spec_num_correct_drafts": 63,
    "spec_num_proposed_drafts": 215,
    "spec_verify_ct": 43,
    "spec_correct_drafts_histogram": [11, 14, 11, 4, 0, 3],
    "completion_tokens": 106,
}
TOTALS = {"completion_tokens": 200, "spec_verify_ct": 188, "spec_accept_token_num": 11, "spec_draft_token_num": 940}


def test_sglang_answers_with_a_histogram_and_without(tmp_path: Path) -> None:
    run, record = only(lines({"text": "", "meta_info": {"id": "1", **DSPARK}}), tmp_path)
    assert (run.blocks, run.drafted, run.accepted, run.length) == (43, 215, 63, 5)
    assert run.kept == (32, 18, 7, 3, 3)
    assert log_tau(run).value == pytest.approx(106 / 43)
    (run,) = read(lines({"meta_info": {"id": "2", **TOTALS}}), tmp_path)
    assert (run.blocks, run.drafted, run.accepted, run.kept, run.coverage) == (188, 940, 11, (), 1.0)
    assert record.requests[0].plain_steps == 0
    # Before the counts there was the number of passes alone.
    (run,) = read(lines({"meta_info": {"completion_tokens": 31, "spec_verify_ct": 10}}), tmp_path)
    assert (run.accepted, run.length) == (20, None)
    assert log_acceptance(run, length=4).measures["tau"].value == 3.0


def test_sglang_counts_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="has 43 passes and 63 accepted drafts, the answer 44"):
        read(lines({"meta_info": DSPARK | {"spec_verify_ct": 44}}), tmp_path)
    with pytest.raises(ValueError, match="emit 106 tokens, and the answer has 60"):
        read(lines({"meta_info": DSPARK | {"completion_tokens": 60}}), tmp_path)
    with pytest.raises(ValueError, match="neither accepted drafts nor completion_tokens"):
        read(lines({"meta_info": {"spec_verify_ct": 9}}), tmp_path)


def perf_metrics(first: int, last: int, accepted: int, drafted: int) -> dict[str, Any]:
    return {
        "request_id": first,
        "perf_metrics": {
            "first_iter": first,
            "last_iter": last,
            "timing_metrics": {"first_token_time": 1.5, "last_token_time": 3.5},
            "speculative_decoding": {
                "acceptance_rate": accepted / drafted,
                "total_accepted_draft_tokens": accepted,
                "total_draft_tokens": drafted,
            },
        },
    }


def test_tensorrt_requests_have_their_iterations(tmp_path: Path) -> None:
    run, record = only(lines(perf_metrics(10, 20, 15, 30), perf_metrics(12, 17, 3, 15)), tmp_path)
    assert (run.engine, run.blocks, run.accepted, run.length) == ("TensorRT-LLM", 15, 18, 3)
    assert [request.tau for request in record.requests] == [2.5, 1.6]
    assert record.requests[0].seconds == 2.0
    apart = {"ctx_server": "a", "gen_perf_metrics": perf_metrics(10, 20, 15, 30)}
    assert only(lines(apart), tmp_path)[0].blocks == 10
    with pytest.raises(ValueError, match="31 drafts accepted of 30"):
        read(lines(perf_metrics(10, 20, 31, 30)), tmp_path)
    with pytest.raises(ValueError, match="no draft tokens: a run without speculation, or counts of before"):
        read(lines({"perf_metrics": {"first_iter": 1, "last_iter": 9}}), tmp_path)


def test_what_intervals_rest_on_is_said(tmp_path: Path) -> None:
    one = log_acceptance(read(lines(vllm()), tmp_path)[0])
    assert any("the log is of one request" in note for note in one.notes)
    many = log_acceptance(read(lines(*[vllm(), vllm(num_spec_steps=6)] * 3, DIFFERENT), tmp_path)[0])
    assert any(note.startswith("intervals are over 7 requests: ") for note in many.notes)
    assert "mean_tau" in many.measures
    totals = EngineLog("own", "on.csv", True, length=2, blocks=100, drafted=200, accepted=130, kept=(80, 50))
    assert any("1.4 to 6.7 times as wide" in note for note in log_acceptance(totals).notes)


DIFFERENT = vllm(
    acceptance_histogram=[0, 0, 0, 9],
    acceptance_histogram_by_draft_length={"3": [0, 0, 0, 9]},
    num_spec_steps=9,
    num_accepted_draft_tokens=27,
    num_draft_tokens=27,
)
DIFFERENT["usage"]["completion_tokens"] = 37


def test_intervals_over_requests_are_those_that_commands_use(tmp_path: Path) -> None:
    """The error of tau that `diagnose` and `plan` take is the one over requests."""
    (run,) = read(lines(vllm(), DIFFERENT, vllm(), DIFFERENT, vllm()), tmp_path)
    alone = log_tau(run._replace(requests=None))
    together = log_tau(run)
    assert together.value == alone.value
    assert together.error is not None
    assert alone.error is not None
    assert together.error > 1.5 * alone.error
