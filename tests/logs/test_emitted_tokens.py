"""Blocks emit their accepted drafts and one token: far more or fewer than were generated are named, or refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.log_files import lines, read
from typer.testing import CliRunner

from specsim.cli import app

TOKENS = "vllm:generation_tokens_total"
STEPS = "vllm:inter_token_latency_seconds"
ANSWERS = "vllm:time_to_first_token_seconds_count"


def metrics(tokens: int | None = None, steps: int | None = None, answers: int | None = None) -> str:
    """100 blocks of 3 drafts that keep 150: 250 tokens."""
    counts = (("drafts", 100), ("draft_tokens", 300), ("accepted_tokens", 150))
    text = "".join(f"vllm:spec_decode_num_{name}_total {n}\n" for name, n in counts)
    text += "" if tokens is None else f"{TOKENS} {tokens}\n"
    text += "" if answers is None else f"{ANSWERS} {answers}\n"
    return text + ("" if steps is None else f"{STEPS}_sum 2.0\n{STEPS}_count {steps}\n")


def line(rate: float, second: str) -> str:
    start = f"INFO 08-04 10:00:{second} [loggers.py:310] "
    return (
        f"{start}Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s, Running: 4 reqs\n"
        f"{start}SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 150 tokens, Drafted: 200 tokens, "
        "Per-position acceptance rate: 0.900, 0.600\n"
    )


def answer(tokens: int) -> str:
    metric = {"acceptance_histogram": [2, 2, 1, 1], "num_spec_tokens": 3}
    return lines({"usage": {"completion_tokens": tokens}, "metrics": {"speculative_decoding": metric}})


def aiperf(tokens: int) -> str:
    sizes = {"output_sequence_length": {"value": tokens, "unit": "tokens"}}
    acceptance = {"acceptance_histogram": {"0": 2, "1": 2, "2": 1, "3": 1}, "num_spec_tokens": 3}
    return lines({"metadata": {}, "metrics": sizes, "spec_decode_acceptance": acceptance})


def question(steps: int, tokens: int) -> str:
    choice = {"turns": ["x"], "new_tokens": [tokens], "wall_time": [1.0], "decoding_steps": [steps]}
    return lines({"question_id": 1, "choices": [choice]})


def tensorrt(drafting: int) -> str:
    stats = {"numRequestsWithDraftTokens": drafting, "numDraftTokens": 3 * drafting, "numAcceptedTokens": drafting}
    batching = {"numContextRequests": 0, "numGenRequests": 8}
    return json.dumps([{"iterLatencyMS": 20.0, "inflightBatchingStats": batching, "specDecodingStats": stats}])


def server(tokens: int) -> str:
    counts = (("drafts", 100), ("draft_tokens", 300), ("accepted_tokens", 150))
    text = "".join(f"llamacpp:spec_decode_num_{name} {n}\n" for name, n in counts)
    return f"{text}llamacpp:tokens_predicted_total {tokens}\nllamacpp:tokens_predicted_seconds_total 8.0\n"


def request(tokens: int) -> str:
    """50 blocks that keep 60 drafts of 100."""
    return (
        f"eval time = 1000.0 ms / {tokens} tokens\ndraft acceptance = 0.60000 ( 60 accepted / 100 generated), "
        "mean acceptance length = 2.20, acceptance rate per position = (0.700, 0.500)\n"
    )


REFUSED = {
    "vLLM's tokens": (
        metrics(tokens=200),
        "100 blocks with 150 accepted drafts emit 250 tokens, and 200 were",
    ),
    "vLLM's tokens, none": (metrics(tokens=0), "emit 250 tokens, and 0 were generated"),
    "vLLM's steps, none": (metrics(steps=0), "100 blocks with drafts and 0 decoding steps"),
    "llama-server's tokens, none": (server(0), "emit 250 tokens, and 0 were generated"),
    "vLLM's tokens and answers": (metrics(tokens=220, answers=10), "emit 250 tokens, and 210 were generated"),
    "vLLM's steps": (metrics(steps=60), "100 blocks with drafts and 60 decoding steps; expected no fewer steps"),
    "vLLM's steps and tokens": (
        metrics(tokens=260, steps=500),
        "500 decoding steps with 150 .* emit 650 tokens, and",
    ),
    "vLLM's tokens, far fewer": (
        metrics(tokens=2510, steps=100, answers=10),
        "100 decoding steps with 150 accepted drafts emit 250 tokens, and 2500 were generated",
    ),
    "an answer of vLLM": (answer(9), "6 blocks with 7 accepted drafts emit 13 tokens, and 8 were generated"),
    "a request of aiperf": (aiperf(9), "6 blocks with 7 accepted drafts emit 13 tokens, and 8 were generated"),
    "steps of Spec-Bench": (question(30, 20), "30 steps made 20 tokens; expected no more steps than new_tokens"),
    "requests of TensorRT-LLM": (tensorrt(16), "16 requests with draft tokens in iterations of 8 requests"),
    "llama-server's counters": (server(200), "emit 250 tokens, and 200 were generated"),
    "lines of llama.cpp": (request(101), "50 blocks with 60 accepted drafts emit 110 tokens, and 100 were generated"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_blocks_that_emit_more_than_was_generated_are_refused(case: str, tmp_path: Path) -> None:
    text, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        read(text, tmp_path)


# What the ends of answers explain, and what is said of it.
CUT = {
    "vLLM's tokens": (metrics(tokens=240), "emit 250 tokens, and 240 were generated"),
    "vLLM's tokens and answers": (metrics(tokens=255, answers=10), ""),
    "an answer of vLLM": (answer(12), ""),
    "a request of aiperf": (aiperf(12), ""),
    "llama-server's counters": (server(240), "emit 250 tokens, and 240 were generated"),
    "lines of llama.cpp": (request(110), "drafts accepted behind the end of an answer"),
    "lines of llama.cpp that fit": (request(111), ""),
    "first tokens that are not counted": (metrics(tokens=400, steps=100), ""),
}


@pytest.mark.parametrize("case", CUT)
def test_answers_that_end_inside_a_block_are_read(case: str, tmp_path: Path) -> None:
    text, words = CUT[case]
    (run,) = read(text, tmp_path)
    said = [note for note in run.notes if "emit" in note or "behind the end" in note]
    assert [words in note for note in said] == ([True] if words else [])


@pytest.mark.parametrize(("rate", "noted"), [(15.0, True), (25.0, False), (250.0, False)])
def test_throughput_below_the_blocks_is_said(rate: float, noted: bool, tmp_path: Path) -> None:
    """200 blocks with 300 accepted drafts in 20 seconds are 25 tokens a second, or one interval of two is timed."""
    (run,) = read(line(rate, "00") + line(rate, "10") + line(rate, "20"), tmp_path)
    assert any("more than the throughput of their intervals" in note for note in run.notes) is noted


def test_far_more_tokens_than_blocks_emit_are_steps_without_a_draft(tmp_path: Path) -> None:
    """Of 2,500 tokens behind the first 2,350 steps emit: 100 had a draft, which every answer says."""
    path = tmp_path / "on.txt"
    path.write_text(metrics(tokens=2510, answers=10))
    said = CliRunner().invoke(app, ["log", str(path)]).output
    assert "share of the target calls that had drafts" in said
    assert "plan these drafts with --draft ngram (or suffix) and --drafted-share 0.0426" in said
