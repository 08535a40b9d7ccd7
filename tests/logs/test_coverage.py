"""Steps without a draft: report 01, an n-gram on vLLM, and its siblings in counters, other engines and methods."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.logs.measures import log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog, per_step

REPORTS = Path(__file__).with_name("reports")


def report(name: str) -> EngineLog:
    (run,) = read_log(REPORTS / name)
    return run


def read(text: str, folder: Path) -> EngineLog:
    (folder / "on.log").write_text(text)
    (run,) = read_log(folder / "on.log")
    return run


def test_report_01_steps_without_drafts_are_counted() -> None:
    """33,991 tokens less 5,306 accepted are 28,685 steps, of which 2,901 had a draft."""
    run = report("01-on.log")
    steps = per_step(run)
    assert (run.blocks, run.accepted, steps.blocks) == (2901, 5306, 28_685)
    found = log_acceptance(run).measures
    assert found["tau"].value == pytest.approx(33_991 / 28_685)
    assert found["drafted_tau"].value == pytest.approx(8207 / 2901)
    assert found["coverage"].value == pytest.approx(2901 / 28_685)
    assert found["output_share"].value == pytest.approx(5306 / 33_991)
    assert found["draft_rate"].value == pytest.approx(5306 / 8703)
    hazards = log_acceptance(run).hazards
    assert hazards is not None
    assert hazards.hazards == pytest.approx([0.730, 0.818, 0.841], abs=5e-4)


ENGINE = "INFO 01-01 {} x: Avg generation throughput: {} tokens/s, Running: 4 reqs\n"
SPEC = "SpecDecoding metrics: Mean acceptance length: 2.50, {}Accepted: 150 tokens, Drafted: 200 tokens, "
RATES = "Per-position acceptance rate: 0.900, 0.600\n"
DENSE = ENGINE.format("10:00:00", 0.1) + ENGINE.format("10:00:10", 25.0)  # 100 blocks, 250 tokens
SPARSE = ENGINE.format("10:00:00", 0.1) + ENGINE.format("10:00:10", 55.0)  # 550 - 150 = 400 steps
NGRAM = "speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=2)\n"
EAGLE = NGRAM.replace("ngram", "eagle3")
LATER = "vllm:inter_token_latency_seconds_sum{} 2.0\nvllm:inter_token_latency_seconds_count{} "
COUNTERS = (
    "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 200\n"
    "vllm:spec_decode_num_accepted_tokens_total 150\n"
)


@pytest.mark.parametrize(
    ("text", "coverage"),
    [
        (SPARSE + SPEC.format("") + RATES, 100 / 400),
        (DENSE + SPEC.format("") + RATES, 1.0),
        # The interval by the throughput beside the counts, as later versions print it.
        (ENGINE.format("x", 55.0) + SPEC.format("Drafted throughput: 20.0 tokens/s, ") + RATES, 100 / 400),
        # An idle hour between two lines is no interval of an hour.
        (
            SPARSE
            + SPEC.format("")
            + RATES
            + ENGINE.format("10:00:20", 0.0)
            + ENGINE.format("11:00:00", 55.0)
            + SPEC.format("")
            + RATES,
            100 / 400,
        ),
        # After an idle time the throughput of drafts is over all of it, and that of tokens over ten seconds.
        (DENSE + SPEC.format("Drafted throughput: 2.0 tokens/s, ") + RATES, 1.0),
        # Nothing times the interval: known for a method that always drafts, and not for one that looks drafts up.
        (ENGINE.format("x", 55.0) + SPEC.format("") + RATES, None),
        (NGRAM + ENGINE.format("x", 55.0) + SPEC.format("") + RATES, None),
        (NGRAM.replace("ngram", "suffix") + ENGINE.format("x", 55.0) + SPEC.format("") + RATES, None),
        (EAGLE + ENGINE.format("x", 55.0) + SPEC.format("") + RATES, 1.0),
        (
            '+ vllm serve x --speculative-config {"model": "y/EAGLE3", "method": "eagle3"}\n'
            + ENGINE.format("x", 55.0)
            + SPEC.format("")
            + RATES,
            1.0,
        ),
        # Counters: a latency is observed once a step; else tokens less first tokens and accepted drafts.
        (COUNTERS + LATER + "400\n", 100 / 400),
        (COUNTERS + LATER + "100\n", 1.0),
        (COUNTERS + "vllm:generation_tokens_total 560\nvllm:time_to_first_token_seconds_count 10\n", 100 / 400),
        (COUNTERS + "vllm:generation_tokens_total 250\n", 1.0),
        (COUNTERS, None),
    ],
)
def test_report_01_siblings_in_vllm(text: str, coverage: float | None, tmp_path: Path) -> None:
    run = read(text, tmp_path)
    assert run.coverage == (None if coverage is None else pytest.approx(coverage))
    found = log_acceptance(run, length=2)
    assert found.measures["tau"].value == pytest.approx(1 + 1.5 * (coverage or 1.0))
    assert ("drafted_tau" in found.measures) == (coverage == 100 / 400)
    assert any("the log does not say" in note for note in found.notes) == (coverage is None)


def test_report_01_a_sibling_in_tensorrt_llm(tmp_path: Path) -> None:
    """Of eight requests that decode two had a draft: 16 steps emit 16 + 6 tokens, in two iterations of 20 ms."""
    stats = {"numDraftTokens": 6, "numAcceptedTokens": 3, "numRequestsWithDraftTokens": 2}
    row = {"iterLatencyMS": 20.0, "inflightBatchingStats": {"numGenRequests": 8}, "specDecodingStats": stats}
    run = read(json.dumps([row, row]), tmp_path)
    assert (run.blocks, run.coverage, per_step(run).blocks) == (4, 0.25, 16)
    assert log_acceptance(run).measures["tau"].value == pytest.approx(22 / 16)
    assert run.token is not None
    assert run.token.value == pytest.approx(0.020 * 16 / 22)


def test_report_01_a_sibling_in_llamacpp(tmp_path: Path) -> None:
    """A drafter of n-grams found 10 drafts for 100 tokens: 99 - 15 = 84 steps."""
    text = (
        "eval time = 1000.0 ms / 100 tokens\ndraft acceptance = 0.5 ( 15 accepted / 30 generated)\n"
        "statistics ngram_mod: #calls(b,g,a) = 1 84 10, #gen drafts = 10, #acc drafts = 7, #gen tokens = 30, "
        "#acc tokens = 15, #mean acc len = 2.50, #acc rate/pos = (0.700, 0.500, 0.300), dur(b,g,a) = 0.0, 1.0, 0.1 ms\n"
    )
    run = read(text, tmp_path)
    assert (run.blocks, run.kept, run.coverage) == (10, (7, 5, 3), pytest.approx(10 / 84))
    assert log_acceptance(run).measures["tau"].value == pytest.approx(99 / 84)
