"""A printed mean or rate that contradicts the counts of the same file is named, or the file is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import lines, read
from typer.testing import CliRunner

from specsim.cli import app
from specsim.logs.measures import log_acceptance

SGLANG = {
    "spec_verify_ct": 43,
    "spec_num_correct_drafts": 63,
    "spec_num_proposed_drafts": 215,
    "completion_tokens": 106,
}
TENSORRT = {"acceptance_histogram": [8, 0, 6, 6], "num_spec_tokens": 3, "total_draft_tokens": 60}


def sglang(**changes: Any) -> str:
    return lines({"meta_info": {"id": "1", **SGLANG, **changes}})


def tensorrt(mean: float | None = None, tokens: int | None = None, **changes: Any) -> str:
    choice = {"index": 0, "speculative_decoding": TENSORRT | changes}
    usage = {} if tokens is None else {"usage": {"completion_tokens": tokens}}
    return lines({"choices": [choice | ({} if mean is None else {"avg_decoded_tokens_per_iter": mean})]} | usage)


def perf_metrics(**changes: Any) -> str:
    counts = {"total_accepted_draft_tokens": 15, "total_draft_tokens": 30} | changes
    return lines({"perf_metrics": {"first_iter": 10, "last_iter": 20, "speculative_decoding": counts}})


def subset(length: str, rate: str = "0.5") -> str:
    head = (
        "subset,num_drafts,num_draft_tokens,num_accepted_tokens,acceptance_length,acceptance_rate,acceptance_at_pos_0\n"
    )
    return f"{head}math,100,100,50,{length},{rate},0.5\n"


def iteration(**changes: Any) -> str:
    stats = {"numDraftTokens": 24, "numAcceptedTokens": 12, "numRequestsWithDraftTokens": 8} | changes
    batching = {"numContextRequests": 0, "numGenRequests": 8}
    return lines({"iterLatencyMS": 20.0, "inflightBatchingStats": batching, "specDecodingStats": stats})


def gauges(engine: str, end: str, *values: str) -> str:
    """100 blocks of 3 drafts that keep 150, and gauges."""
    counts = (("drafts", 100), ("draft_tokens", 300), ("accepted_tokens", 150))
    text = "".join(f"{engine}:spec_decode_num_{name}{end} {n}\n" for name, n in counts)
    return text + "".join(f"{engine}:{value}\n" for value in values)


def answer(**changes: Any) -> str:
    counts = {"predicted_n": 20, "predicted_ms": 240.0, "draft_n": 28, "draft_n_accepted": 15}
    return lines({"timings": counts | changes})


REFUSED = {
    "SGLang's length": (sglang(spec_accept_length=3.5), r"spec_accept_length is 3.5, and the counts give 2.465"),
    "SGLang's rate": (sglang(spec_accept_rate=0.7), r"spec_accept_rate is 0.7, and the counts give 0.293"),
    "TensorRT-LLM's rate": (tensorrt(acceptance_rate=0.9), "acceptance_rate is 0.9, and the counts give 0.5"),
    "TensorRT-LLM's iterations": (tensorrt(3.2), "avg_decoded_tokens_per_iter is 3.2, and the counts give 2.5"),
    "less than a token of an iteration": (tensorrt(0.5), "per_iter is 0.5, and the counts give 1; they differ"),
    "iterations against tokens": (tensorrt(1.2, 51), "per_iter is 1.2, and the counts give 2.5 or 2.429 or 2.55"),
    "rate of perf_metrics": (perf_metrics(acceptance_rate=0.8), "acceptance_rate is 0.8, and the counts give 0.5"),
    "length of a benchmark": (subset("2.5"), "line 2: acceptance_length is 2.5, and the counts give 1.5"),
    "rate of a benchmark": (subset("1.5", "0.7"), "line 2: acceptance_rate is 0.7, and the counts give 0.5"),
    "rate of an iteration": (iteration(acceptanceRate=0.9), "acceptanceRate is 0.9, and the counts give 0.5"),
    "rates by position of an answer": (
        tensorrt(per_position_acceptance_rate=[0.9, 0.6, 0.3]),
        r"per_position_acceptance_rate\[0\] is 0.9, and the counts give 0.6",
    ),
    "a gauge of vLLM": (
        gauges("vllm", "_total", "spec_decode_acceptance_length 3.9"),
        "spec_decode_acceptance_length is 3.9, and the counts give 2.5",
    ),
    "a gauge of llama-server": (
        gauges("llamacpp", "", "draft_mean_accept_len 2.5", "draft_acceptance_rate 0.9"),
        "draft_acceptance_rate is 0.9, and the counts give 0.5",
    ),
    "time of an answer's token": (answer(predicted_per_token_ms=20.0), "predicted_per_token_ms is 20, and .* give 12"),
    "tokens of an answer's second": (answer(predicted_per_second=8.0), "per_second is 8, and the counts give 83.33"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_mean_that_contradicts_its_counts_is_refused(case: str, tmp_path: Path) -> None:
    text, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        read(text, tmp_path)


AGREES = {
    "SGLang's length with the first token": sglang(spec_accept_length=106 / 43, spec_accept_rate=63 / 215),
    "SGLang's length, rounded": sglang(spec_accept_length=2.5),
    "SGLang's rate with the target's token": sglang(spec_accept_rate=106 / 258),
    "SGLang's zeros": sglang(spec_accept_length=0, spec_accept_rate=0.0),
    "TensorRT-LLM's means": tensorrt(2.5, 51, acceptance_rate=0.5),
    "steps without a draft": tensorrt(1.75),
    "a rate in percent": tensorrt(acceptance_rate=50.0),
    "rate of perf_metrics": perf_metrics(acceptance_rate=0.5),
    "a benchmark": subset("1.5"),
    "rate of an iteration": iteration(acceptanceRate=0.5),
    "rates by position": tensorrt(per_position_acceptance_rate=[0.6, 0.6, 0.3]),
    "gauges of vLLM": gauges("vllm", "_total", "spec_decode_acceptance_length 2.5"),
    "gauges of llama-server": gauges("llamacpp", "", "draft_mean_accept_len 2.5", "draft_acceptance_rate 0.5"),
    "gauges since the start, and counts between": gauges("vllm", "_total")
    + gauges("vllm", "_total", "spec_decode_acceptance_length 3.9").replace("00", "90").replace("150", "160"),
    "times of an answer": answer(predicted_per_token_ms=12.0, predicted_per_second=83.33),
}


@pytest.mark.parametrize("case", AGREES)
def test_a_mean_by_any_version_s_definition_agrees(case: str, tmp_path: Path) -> None:
    assert read(AGREES[case], tmp_path)[0].speculating


VLLM = "SpecDecoding metrics: Mean acceptance length: 2.50, {}Accepted: 150 tokens, Drafted: 200 tokens, "
VLLM += "Per-position acceptance rate: 0.900, 0.600{}\n"
LLAMA = "eval time = 1000.0 ms / 101 tokens ( {each} ms per token)\n"
LLAMA += "draft acceptance = {rate} ( 60 accepted / 100 generated)"
LENGTH = ", mean acceptance length = {}, acceptance rate per position = ({})"
EXAMPLE = "decoded 371 tokens in 34.412 seconds\nn_drafted = 912\nn_accept  = 313\naccept    = {}%\n"
STATISTICS = "\nstatistics mtp: #calls(b,g,a) = 1 40 40, #gen drafts = 40, #gen tokens = 100, #acc tokens = 60, "
NOTED = {
    "vLLM's rate": (
        VLLM.format("", ", Avg Draft acceptance rate: 70.0%"),
        "Draft acceptance rate, in %, is 70, and the counts give 75",
    ),
    "vLLM's rate of before": (
        VLLM.format("Draft acceptance rate: 70.0%, ", ""),
        "Draft acceptance rate, in %, is 70, and the counts give 75",
    ),
    "vLLM's throughputs": (
        VLLM.format("Accepted throughput: 14.00 tokens/s, Drafted throughput: 20.00 tokens/s, ", ""),
        "Accepted throughput is 14 of 20 tokens/s, and the counts are 150 of 200 tokens",
    ),
    "llama.cpp's rate": (LLAMA.format(each=9.9, rate=0.7), "draft acceptance is 0.7, and the counts give 0.6"),
    "llama.cpp's time": (LLAMA.format(each=19.9, rate=0.6), "ms per token is 19.9, and the counts give 9.901"),
    "llama.cpp's mean and rates": (
        LLAMA.format(each=9.9, rate=0.6) + LENGTH.format("3.50", "0.800, 0.700"),
        "mean acceptance length is 3.5, and the counts give 2.5",
    ),
    "llama.cpp's statistics": (
        LLAMA.format(each=9.9, rate=0.6) + STATISTICS + "#mean acc len = 3.20",
        "mean acc len of mtp is 3.2, and the counts give 2.5",
    ),
    "llama-speculative's percentage": (EXAMPLE.format(45.0), "accept, in %, is 45, and the counts give 34.32"),
}


@pytest.mark.parametrize("case", NOTED)
def test_a_mean_that_contradicts_the_counts_of_its_line_is_noted(case: str, tmp_path: Path) -> None:
    text, words = NOTED[case]
    (run,) = read(text, tmp_path)
    assert any(note.startswith(words) for note in run.notes), run.notes


UNMARKED = {
    "vLLM": VLLM.format(
        "Accepted throughput: 15.00 tokens/s, Drafted throughput: 20.00 tokens/s, ",
        ", Avg Draft acceptance rate: 75.0%",
    ),
    "llama.cpp": LLAMA.format(each=9.9, rate="0.60000") + LENGTH.format("2.50", "0.900, 0.600"),
    "llama.cpp with plain steps": LLAMA.format(each=9.9, rate="0.60000") + LENGTH.format("4.00", "1.000, 1.000, 1.000"),
    "llama-speculative": EXAMPLE.format("34.320"),
}


@pytest.mark.parametrize("case", UNMARKED)
def test_means_that_agree_are_not_noted(case: str, tmp_path: Path) -> None:
    assert not any("differ" in note for note in read(UNMARKED[case], tmp_path)[0].notes)


DECODE = "Decode batch, #running-req: 1, #token: 9, {}gen throughput (token/s): 300.0, #queue-req: 0\n"
RATE = DECODE.format("accept len: {:.2f}, accept rate: {:.2f}, ")


def decode(*lengths: float, target: int, over: int) -> str:
    return "".join(RATE.format(length, (length - target) / over) for length in lengths)


# Tokens over drafts and one, accepted drafts over drafts, accepted drafts over drafts and one: of 3 drafts each.
DEFINITIONS = {"0.4.5": (0, 4), "0.5.10": (1, 3), "0.5.3": (1, 4)}


@pytest.mark.parametrize("version", DEFINITIONS)
def test_a_rate_of_sglang_that_is_not_of_this_length_is_said(version: str, tmp_path: Path) -> None:
    """The rate of blocks of 3 drafts fits gamma 3 by one of the definitions of versions, and not 7."""
    target, over = DEFINITIONS[version]
    text = decode(2.17, 1.95, 3.4, target=target, over=over)
    (run,) = read(text, tmp_path)
    assert run.fitting_lengths is not None
    assert 3 in run.fitting_lengths
    words = "the printed accept rate is that of blocks of"
    assert not any(words in note for note in log_acceptance(run, length=3).notes)
    assert any(words in note and "not of 7" in note for note in log_acceptance(run, length=7).notes)
    said = CliRunner().invoke(app, ["log", str(tmp_path / "on.log"), "--gamma", "7"])
    assert words in said.output
    # Arguments of another server; a tree, whose rate is of its nodes; no rate.
    start = "ServerArgs(speculative_algorithm='EAGLE', speculative_num_steps={0}, speculative_eagle_topk={1}, "
    start += "speculative_num_draft_tokens={2})\n"
    (other,) = read(start.format(7, 1, 8) + text, tmp_path)
    assert any(words in note and "not of 7" in note for note in log_acceptance(other).notes)
    (tree,) = read(start.format(7, 4, 32) + text, tmp_path)
    assert tree.fitting_lengths is None
    (silent,) = read(DECODE.format("accept len: 2.17, ") * 2, tmp_path)
    assert silent.fitting_lengths is None


def test_a_rate_of_no_length_is_said(tmp_path: Path) -> None:
    (run,) = read(decode(2.17, 3.0, target=0, over=1), tmp_path)
    assert run.fitting_lengths == ()
    assert any("of blocks of no number of drafts" in note for note in log_acceptance(run, length=3).notes)


def test_commands_that_compare_say_it_too(tmp_path: Path) -> None:
    old, new = (tmp_path / name for name in ("old.log", "new.log"))
    for path in (old, new):
        path.write_text(decode(2.17, 1.95, 3.4, target=1, over=3))
    said = CliRunner().invoke(app, ["diagnose", str(old), str(new), "--gamma", "7", "--json"])
    assert sum("and not of 7" in note for note in json.loads(said.output)["notes"]) == 2


@pytest.mark.parametrize(("length", "said"), [(2, False), (4, True)])
def test_a_mean_of_vllm_that_is_not_of_this_length_is_said(length: int, said: bool, tmp_path: Path) -> None:
    """150 accepted at 1.5 a block are 100 blocks, of 200 drafts."""
    counts = "Mean acceptance length: 2.50, Accepted: 150 tokens, Drafted: 200 tokens"
    (run,) = read(f"SpecDecoding metrics: {counts}\n", tmp_path)
    notes = log_acceptance(run, length=length).notes
    assert any("a block has 2.00 drafts" in note for note in notes) is said


def test_a_rate_of_sglang_s_answers_without_their_drafts_fits_a_length(tmp_path: Path) -> None:
    """63 accepted drafts in 43 passes are 0.293 of 5 drafts each; 0.9 is of no length."""
    held = {"spec_verify_ct": 43, "spec_accept_token_num": 63, "completion_tokens": 106}
    for rate, length, said in ((63 / 215, 5, False), (63 / 215, 7, True), (0.9, 5, True)):
        (run,) = read(lines({"meta_info": held | {"spec_accept_rate": rate}}), tmp_path)
        notes = log_acceptance(run, length=length).notes
        assert any("the printed accept rate is that of blocks of" in note for note in notes) is said


def test_counts_of_an_answer_that_are_not_read_are_named(tmp_path: Path) -> None:
    (run,) = read(tensorrt(avg_accepted_tokens=5.0, mean_acceptance_length=2.5), tmp_path)
    assert "not read: avg_accepted_tokens" in run.notes
    assert not any(note.startswith("not read") for note in read(tensorrt(2.5), tmp_path)[0].notes)
