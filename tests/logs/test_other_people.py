"""Logs as people have them: coloured, cut off, put together, of several engines; each by the name of its case."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from specsim.logs.measures import log_acceptance, log_tau
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog


def read(text: str | bytes, folder: Path, name: str = "on.log") -> EngineLog:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    (run,) = read_log(folder / name)
    return run


def engine(time: str, rate: float = 25.0, running: int = 4, number: str = "000") -> str:
    return (
        f"INFO 08-04 {time} [loggers.py:310] Engine {number}: Avg prompt throughput: 0.0 tokens/s, Avg generation "
        f"throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 0 reqs\n"
    )


def drafts(time: str, times: int = 1, rates: str = "0.900, 0.600", mean: float = 2.5) -> str:
    """100 blocks of two drafts that keep 90 and 60, so many times, over ten seconds."""
    return (
        f"INFO 08-04 {time} [metrics.py:120] SpecDecoding metrics: Mean acceptance length: {mean}, "
        f"Accepted throughput: {15 * times:.2f} tokens/s, Drafted throughput: {20 * times:.2f} tokens/s, "
        f"Accepted: {150 * times} tokens, Drafted: {200 * times} tokens, "
        f"Per-position acceptance rate: {rates}, Avg Draft acceptance rate: 75.0%\n"
    )


BOTH = "".join(engine(t) + drafts(t) for t in ("10:00:00", "10:00:10"))
IDLE = (
    "INFO 08-04 10:00:20 [metrics.py:96] SpecDecoding metrics: Draft acceptance rate: nan%, Mean acceptance length: "
    "nan, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: nan, nan\n"
)
READ = {
    "as printed": BOTH,
    "coloured numbers": BOTH.replace("150", "\x1b[1;36m150\x1b[0m").replace("4 reqs", "\x1b[1;36m4\x1b[0m reqs"),
    "an idle line of nan": BOTH + engine("10:00:20", 0.0, 0) + IDLE,
    "cut off in the counts": BOTH + engine("10:00:20") + drafts("10:00:20")[:150],
    "cut off in the rates": BOTH + engine("10:00:20") + drafts("10:00:20").split(", 0.600")[0],
    "cut off between the lines": BOTH + engine("10:00:20"),
    "lines of containers": "".join(json.dumps({"log": line + "\n"}) + "\n" for line in BOTH.splitlines()),
    "an hour without requests": BOTH.replace("10:00:10", "11:00:10"),
    "a minute without requests": BOTH.replace("10:00:10", "10:01:00"),
}


@pytest.mark.parametrize("case", READ)
def test_vllm_lines_are_read(case: str, tmp_path: Path) -> None:
    run = read(READ[case], tmp_path)
    assert (run.blocks, run.drafted, run.accepted, run.kept, run.coverage) == (200, 400, 300, (180, 120), 1.0)


def test_engines_that_share_requests_are_added_up(tmp_path: Path) -> None:
    """Two engines emit 500 tokens in an interval, 300 of them accepted, in 200 steps of 200 blocks."""
    lines = (engine(t) + engine(t, number="001") + drafts(t, 2) for t in ("10:00:00", "10:00:10", "10:00:20"))
    run = read("".join(lines), tmp_path)
    assert (run.blocks, run.coverage, run.batch) == (600, 1.0, 4)


EAGLE = "speculative_config=SpeculativeConfig(method='eagle3', num_spec_tokens=2)\n"
ARGUMENTS = (
    "server_args=ServerArgs(model_path='Qwen3-8B', speculative_algorithm='{}', speculative_num_steps={}, "
    "speculative_eagle_topk={}, speculative_num_draft_tokens={}, speculative_adaptive={})\n"
)
EAGLE3 = ARGUMENTS.format("EAGLE3", 3, 1, 4, False)


def decode(running: int, tau: float, rank: str = "", rate: float = 300.0) -> str:
    return (
        f"[2026-09-02 10:00:00{rank}] Decode batch, #running-req: {running}, #token: 99, token usage: 0.08, "
        f"accept len: {tau:.2f}, accept rate: 0.60, cuda graph: True, gen throughput (token/s): {rate:.2f}, "
        "#queue-req: 0\n"
    )


COUNTS = "n_drafted = 912\nn_accept  = 313"
TIMINGS = "eval time = 1000.00 ms / 100 tokens\n"
COUNTED = {
    "numDraftTokens": 24,
    "numAcceptedTokens": 12,
    "numRequestsWithDraftTokens": 8,
    "acceptanceLength": 2.5,
}
TRT = {
    "iter": 0,
    "iterLatencyMS": 20.0,
    "inflightBatchingStats": {"numContextRequests": 0, "numGenRequests": 8},
    "specDecodingStats": COUNTED,
}
LONGER = COUNTED | {"acceptanceLength": 3.5}
REFUSED: dict[str, tuple[str | bytes, str]] = {
    "vLLM of 2 and 4 drafts": (
        BOTH + engine("11:00:00") + drafts("11:00:00", rates="0.900, 0.700, 0.500, 0.400"),
        "holds lines with 2 and with 4 rates by position; split it",
    ),
    "vLLM off, then on": (
        f"speculative_config=None\n{engine('09:00:00')}{EAGLE}{BOTH}",
        r"servers of several kinds \(speculative_config=None and SpeculativeConfig\(method='eagle3'",
    ),
    "SGLang of 3 and 5 steps": (
        EAGLE3 + decode(1, 2.0) * 2 + ARGUMENTS.format("EAGLE3", 5, 1, 6, False) + decode(1, 2.0) * 2,
        r"holds servers of several kinds \(speculative_algorithm='EAGLE3', speculative_num_steps=3",
    ),
    "gzip": (b"\x1f\x8b\x08\x00 and so on", r"is packed by gzip; unpack it first \(gunzip\)"),
    "Parquet": (b"PAR1 and so on", "is a Parquet file, and text is read here"),
    "zstd": (b"\x28\xb5\x2f\xfd and so on", "is packed by zstd"),
    "llama.cpp, a negative count": (
        TIMINGS + "draft acceptance = -0.6 ( -60 accepted / 90 generated)\n", "'draft acceptance' in a line without"
    ),
    "llama-speculative, cut off in a count": (
        "decoded  371 tokens in   34.412 seconds\n" + COUNTS[:-1], "expected n_drafted and n_accept beside"
    ),
    "TensorRT-LLM that counts otherwise": (
        json.dumps([TRT | {"specDecodingStats": LONGER}]), r"acceptanceLength is 3.5, and its counts give 2.5"
    ),
    "columns by semicolons": ("speculation;blocks\non;3\n", "columns separated by ;; expected commas"),
    "columns by tabs": ("speculation\tblocks\non\t3\n", "columns separated by tabs; expected commas"),
    "more positions than drafts": ("speculation,length,kept\non,2,8;6;4\n", "kept has 3 positions, and length is 2"),
    "more drafts than the length": ("speculation,length,blocks,drafted\non,2,10,30\n", "drafted over blocks give 3"),
    "SGLang's gauges": ("sglang:spec_accept_length 2.9\n", "any engine's counts can be read as our CSV"),
    "mlx-lm": ("Generation: 256 tokens, 45.1 tokens-per-sec\n", "any engine's counts can be read as our CSV"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_refused(case: str, tmp_path: Path) -> None:
    text, words = REFUSED[case]
    with pytest.raises(ValueError, match=words) as refused:
        read(text, tmp_path)
    assert str(refused.value).startswith("on.log")


def test_a_line_of_sglang_counts_as_many_blocks_as_requests_run(tmp_path: Path) -> None:
    """1 request of 4 tokens a call, and 63 of 2: (4 + 126) / 64 tokens, not 3."""
    run = read(EAGLE3 + decode(1, 4.0) + decode(63, 2.0), tmp_path)
    assert log_tau(run).value == pytest.approx(130 / 64)
    assert run.length == 3


def test_alike_lines_of_sglang_are_no_certainty(tmp_path: Path) -> None:
    measures = log_acceptance(read(EAGLE3 + decode(4, 2.8) * 4, tmp_path)).measures
    assert measures["tau"] == (pytest.approx(2.8), None, None)


LENGTHS = {
    "a chain": (ARGUMENTS.format("EAGLE3", 3, 1, 4, False), 3),
    "a tree is as deep as its steps": (ARGUMENTS.format("EAGLE", 5, 8, 32, False), 5),
    "a block in one pass": (ARGUMENTS.format("DFLASH", 1, 1, 16, False), 15),
    "lengths that adapt": (ARGUMENTS.format("EAGLE3", 3, 1, 4, True), None),
    "n-grams": (ARGUMENTS.format("NGRAM", None, 1, 12, False), None),
}


@pytest.mark.parametrize("case", LENGTHS)
def test_the_length_of_sglang_is_that_of_its_arguments(case: str, tmp_path: Path) -> None:
    text, length = LENGTHS[case]
    assert read(text + decode(1, 2.0) * 2, tmp_path).length == length


def test_lines_of_sglang_are_those_of_a_rank(tmp_path: Path) -> None:
    """A prompt of one rank leaves out that rank's next line, and no other's; idle and cut lines count for nothing."""
    prompt = "[2026-09-02 10:00:00 DP1] Prefill batch, #new-seq: 1\n"
    first = decode(1, 2.0, " DP0", 100.0) + decode(1, 2.0, " DP1", 100.0)
    text = first + prompt + decode(1, 2.0, " DP0", 100.0) + decode(1, 2.0, " DP1", 7.0) + decode(0, 0.0, " DP0", 0.0)
    cut = decode(1, 2.0, " DP1", 100.0).split("00.00, #queue")[0]
    run = read(EAGLE3 + text + cut, tmp_path)
    assert (run.token is not None and run.token.value, log_tau(run).value) == (0.01, 2.0)


ANSWER = '{"timings":{"predicted_n":100,"predicted_ms":1000.0,"draft_n":90,"draft_n_accepted":60}}'


def test_a_stream_of_events_is_read(tmp_path: Path) -> None:
    """100 tokens, the first of the prompt's pass: 99 - 60 cycles."""
    run = read(f'data: {{"choices":[{{"delta":{{}}}}]}}\n\ndata: {ANSWER}\n\ndata: [DONE]\n', tmp_path)
    assert (run.blocks, run.drafted) == (39, 90)


@pytest.mark.parametrize("rate", ["0.00000", "nan", "-nan(ind)"])
def test_a_server_that_drafted_nothing_speculates(rate: str, tmp_path: Path) -> None:
    run = read(TIMINGS + f"draft acceptance = {rate} ( 0 accepted / 0 generated)\n", tmp_path)
    assert (run.speculating, run.length) == (True, 0)
    with pytest.raises(ValueError, match="nothing was drafted"):
        log_acceptance(run)


def test_iterations_that_were_saved_twice_count_once(tmp_path: Path) -> None:
    assert read(json.dumps([TRT, TRT, TRT | {"iter": 1}]), tmp_path).blocks == 16


def test_a_length_that_is_the_most_is_not_the_mean(tmp_path: Path) -> None:
    """300 drafts in 100 blocks of up to 4: half of them accepted."""
    found = log_acceptance(read("speculation,length,blocks,drafted,accepted\non,4,100,300,150\n", tmp_path))
    assert found.measures["draft_rate"].value == pytest.approx(0.5)
    assert "blocks differ in length (3.00 drafts in the mean)" in found.notes
    assert math.isclose(found.measures["tau"].value, 2.5)
