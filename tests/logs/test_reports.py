"""Logs of public reports that were misread, by the number of the report, and their siblings in other engines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from specsim.logs.measures import counted_run, log_acceptance, log_tau
from specsim.logs.read import read_log
from specsim.logs.record import EngineLog

REPORTS = Path(__file__).with_name("reports")


def report(name: str) -> EngineLog:
    (run,) = read_log(REPORTS / name)
    return run


def read(text: str, folder: Path) -> EngineLog:
    (folder / "on.log").write_text(text)
    (run,) = read_log(folder / "on.log")
    return run


ENGINE = "INFO 01-01 {} x: Avg generation throughput: {} tokens/s, Running: 4 reqs\n"
SPEC = "SpecDecoding metrics: Mean acceptance length: 2.50, {}Accepted: 150 tokens, Drafted: 200 tokens, "
RATES = "Per-position acceptance rate: 0.900, 0.600\n"
NGRAM = "speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=2)\n"
LATER = "vllm:inter_token_latency_seconds_sum{} 2.0\nvllm:inter_token_latency_seconds_count{} "
COUNTERS = (
    "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 200\n"
    "vllm:spec_decode_num_accepted_tokens_total 150\n"
)


def test_report_12_rounds_of_mlx_vlm_are_read() -> None:
    mid, short = report("12-mid.json"), report("12-short.json")
    assert (mid.blocks, mid.length, mid.drafted, mid.accepted) == (4, 7, 28, 18)
    assert log_acceptance(mid).measures["tau"].value == pytest.approx(19 / 4)
    assert log_acceptance(mid).measures["draft_rate"].value == pytest.approx(18 / 28)
    assert (short.blocks, short.length, log_tau(short).value) == (1, 7, 1)
    high = log_acceptance(mid).measures["tau"].high
    assert high is not None
    assert high <= 8


def timings(**changes: object) -> str:
    return json.dumps({"timings": {"predicted_n": 20, "predicted_ms": 240.0, **changes}})


@pytest.mark.parametrize(
    ("text", "tau", "coverage"),
    [
        (timings(draft_rounds=4, draft_n=28, draft_n_accepted=18) + "\n" + timings(draft_rounds=8, draft_n=56,
         draft_n_accepted=11), 38 / 12, 1.0),
        (timings(draft_rounds=9, draft_n=27, draft_n_accepted=10), 19 / 9, 1.0),
        (timings(draft_n=28, draft_n_accepted=15), 19 / 4, 1.0),
    ],
)  # fmt: skip
def test_report_12_siblings_of_rounds(text: str, tau: float, coverage: float, tmp_path: Path) -> None:
    run = read(text, tmp_path)
    assert (log_tau(run, length=7).value, run.coverage) == (pytest.approx(tau), coverage)


def test_report_12_more_rounds_than_tokens_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="30 blocks emitted 19 tokens"):
        read(timings(draft_rounds=30, draft_n=90, draft_n_accepted=9), tmp_path)
    nothing = read(timings(draft_rounds=19, draft_kind="dflash", draft_n=0, draft_n_accepted=0), tmp_path)
    assert (nothing.speculating, nothing.length) == (True, 0)


def test_report_13_positions_and_blocks_of_llamacpp_are_read() -> None:
    run = report("13-on.log")
    assert (run.blocks, run.drafted, run.accepted, run.kept) == (87, 259, 167, (70, 55, 42))
    found = log_acceptance(run)
    assert found.hazards is not None
    assert found.hazards.hazards == pytest.approx([70 / 87, 55 / 70, 42 / 55])
    assert found.measures["tau"].value == pytest.approx(1 + 167 / 87)
    assert found.measures["tau"].low is not None


def test_report_13_siblings(tmp_path: Path) -> None:
    text = (REPORTS / "13-on.log").read_text(encoding="utf-8")
    # Without the statistics of the server the mean length and the rates of the request tell the same.
    request = "\n".join(line for line in text.splitlines() if "statistics" not in line)
    assert read(request, tmp_path)[7:11] == report("13-on.log")[7:11]
    # Statistics of other requests, too: the request's own line counts.
    other = text.replace("#gen tokens =    259", "#gen tokens =    518").replace(
        "#gen drafts =     87", "#gen drafts = 174"
    )
    assert read(other, tmp_path).blocks == 87
    # Two drafters of one server are added up.
    half = "draft acceptance = 0.5 ( 30 accepted / 60 generated)\n"
    stats = (
        "statistics {}: #calls(b,g,a) = 1 10 10, #gen drafts = 10, #gen tokens = 30, #acc tokens = 15, "
        "#acc rate/pos = ({}), dur(b,g,a) = 0.0, 1.0, 0.1 ms\n"
    )
    both = (
        "eval time = 1000.0 ms / 51 tokens\n"
        + half
        + stats.format("a", "0.8, 0.4, 0.3")
        + stats.format("b", "0.5, 0.5, 0.5")
    )
    assert read(both, tmp_path)[7:11] == (20, 60, 30, (13, 9, 8))
    # Before June 2026: totals alone. The first token is of the prompt's pass: 19 tokens, 15 kept, 4 cycles.
    old = read(
        "eval time = 100.0 ms / 20 tokens\ndraft acceptance rate = 0.75 ( 15 accepted / 20 generated)\n", tmp_path
    )
    assert (old.blocks, log_tau(old).value) == (4, 4.75)


def test_report_15_histograms_of_requests_are_read() -> None:
    vllm, trt = report("15-vllm.json"), report("15-trtllm.json")
    assert (vllm.engine, vllm.blocks, vllm.length, vllm.kept) == ("vLLM", 43, 3, (4, 3, 3))
    assert log_tau(vllm).value == pytest.approx(53 / 43)
    assert (trt.engine, trt.blocks, trt.length, trt.kept) == ("TensorRT-LLM", 20, 3, (12, 12, 6))
    assert (log_tau(trt).value, trt.coverage) == (2.5, 1.0)


def answer(name: str) -> dict[str, object]:
    held: dict[str, object] = json.loads((REPORTS / name).read_text(encoding="utf-8"))
    return held


def test_report_15_siblings(tmp_path: Path) -> None:
    vllm, trt = answer("15-vllm.json"), answer("15-trtllm.json")
    # The whole response of TensorRT-LLM, several answers, and one a line.
    whole = read(json.dumps({"choices": [trt]}), tmp_path)
    assert whole == report("15-trtllm.json")._replace(source="on.log")
    assert read(json.dumps([vllm, vllm]), tmp_path).kept == (8, 6, 6)
    assert read(json.dumps(vllm) + "\n" + json.dumps(vllm), tmp_path).kept == (8, 6, 6)
    # The tokens of the answer say how many steps had no draft: 111 - 1 - 10 = 100 steps, 43 with a draft.
    run = read(json.dumps(vllm | {"usage": {"completion_tokens": 111}}), tmp_path)
    assert run.coverage == pytest.approx(0.43)
    assert read(json.dumps(trt | {"avg_decoded_tokens_per_iter": 1.75}), tmp_path).coverage == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"acceptance_histogram": [39, 1, 0]}, "3 numbers in acceptance_histogram; blocks of 3 drafts keep 0, ..., 3"),
        ({"num_accepted_draft_tokens": 11}, "counts 10 accepted drafts, not 11"),
        ({"num_spec_steps": 44}, "counts 43 blocks, not 44"),
        ({"acceptance_histogram": {"0": 43}}, "counts 0 accepted drafts, not 10"),
        ({"acceptance_histogram": {"no": 39}}, "expected numbers of accepted drafts"),
        ({"acceptance_histogram": 39}, "acceptance_histogram is no list"),
        ({"acceptance_histogram": [39, 1, 0, -3]}, "is '-3'"),
        (
            {
                "acceptance_histogram": [0, 0, 0, 0],
                "num_spec_steps": 0,
                "num_accepted_draft_tokens": 0,
                "draft_acceptance_rate": None,
                "mean_acceptance_length": None,
            },
            "without blocks",
        ),
    ],
)
def test_report_15_histograms_that_do_not_add_up(change: dict[str, object], words: str, tmp_path: Path) -> None:
    held = json.loads((REPORTS / "15-vllm.json").read_text(encoding="utf-8"))
    held["metrics"]["speculative_decoding"] |= change
    with pytest.raises(ValueError, match=words):
        read(json.dumps(held), tmp_path)


def test_report_17_counts_need_no_time() -> None:
    run = report("17-runs.csv")
    assert (run.blocks, log_tau(run).value) == (11_043, pytest.approx(1 + 38_611 / 11_043))
    hazards = log_acceptance(run).hazards
    assert hazards is not None
    assert hazards.hazards[:2] == pytest.approx([8411 / 11_043, 6800 / 8411])


def test_report_18_a_run_of_2023_speculates() -> None:
    run = report("18-off.log")
    assert (run.speculating, run.blocks, run.drafted, run.accepted) == (True, 82, 132, 47)
    assert log_tau(run).value == pytest.approx(129 / 82)
    assert run.token is not None
    assert run.token.value == pytest.approx(248.34 / 129)
    assert run.draft is not None
    assert run.draft.value == pytest.approx(27.36044 / 82)


SGLANG = (
    "Decode batch. #running-req: 1, #token: 108, gen throughput (token/s): 0.39,\n"
    "Decode batch. #running-req: 1, #token: 186, gen throughput (token/s): 178.86,\n"
)
TIMES = "llama_print_timings: eval time = 27360.44 ms / 214 runs\n"
STATS = "statistics ngram: #calls(b,g,a) = 1 9 0, #gen drafts = {0}, #gen tokens = {0}, dur(b,g,a) = 0.0, 0.0, 0.0 ms\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n_drafted = 132\nn_accept = 47\n" + TIMES, "speculates .*n_drafted.* but says neither 'draft acceptance"),
        ("draft:\n\n" + TIMES, "speculates .*'draft:'"),
        (TIMES + STATS.format(9), "speculates .*statistics ngram"),
        (
            "server_args=ServerArgs(speculative_algorithm='EAGLE')\n" + SGLANG,
            "speculates .* no decode line has 'accept len",
        ),
        ("decoded 9 tokens in 1.0 seconds\nn_accept = 3\n", "expected n_drafted and n_accept beside"),
    ],
)
def test_report_18_siblings_are_not_taken_as_runs_without(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=words):
        read(text, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        TIMES + STATS.format(0),
        NGRAM + ENGINE.format("10:00:00", 55.0),
        COUNTERS.replace(" 100", " 0").replace(" 200", " 0").replace(" 150", " 0") + LATER + "400\n",
    ],
)
def test_report_18_siblings_that_drafted_nothing(text: str, tmp_path: Path) -> None:
    run = read(text, tmp_path)
    assert (run.speculating, run.length, run.drafted or 0) == (True, 0, 0)


def test_report_20_the_draft_s_contexts_are_added_up() -> None:
    run = report("20-on.log")
    assert run.blocks == 100
    assert run.draft is not None
    assert run.draft.value == pytest.approx((23.77 + 2240) / 1e3 / 100)


def test_report_23_the_note_says_that_no_rates_are_printed() -> None:
    run = report("23-on.log")
    found = log_acceptance(counted_run(run, 2), length=2)
    assert any("no rates by position are printed" in note for note in found.notes)
    assert not any("differ in length" in note for note in found.notes)
    assert counted_run(run, 2).blocks == 33
    assert found.measures["tau"][0] == 3
    assert found.measures["tau"].low == pytest.approx(3 - 1.96 * (2 / 33 / 33) ** 0.5, abs=1e-4)


def test_report_23_a_printed_mean_tells_tau_where_blocks_differ(tmp_path: Path) -> None:
    """30 accepted at a mean of 2.5 are 20 blocks; 44 drafts by two a block would be 22."""
    text = SPEC.format("").replace("150", "30").replace("200", "44") + RATES
    run = read(text, tmp_path)
    assert log_tau(run, length=3).value == pytest.approx(2.5)
    assert counted_run(run, 2).blocks is None


def test_report_32_utf_16_is_read_by_its_mark(tmp_path: Path) -> None:
    run = report("32-on.log")
    assert (run.blocks, log_tau(run).value) == (527, pytest.approx(1 + 944 / 527))
    text = (REPORTS / "32-on.log").read_text(encoding="utf-16")
    assert read(text, tmp_path) == run._replace(source="on.log")
