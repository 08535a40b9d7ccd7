"""Each engine's lines give its numbers; another version, counters that fall and files of no engine end in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from specsim.latency import Timing
from specsim.logs.read import engines, read_log
from specsim.logs.record import EngineLog, timing

SAMPLES = Path(__file__).with_name("samples")  # lines as engines print them
METRICS = (SAMPLES / "vllm_metrics.txt").read_text(encoding="utf-8")
SGLANG = (SAMPLES / "sglang.log").read_text(encoding="utf-8")
LLAMA = (SAMPLES / "llamacpp.log").read_text(encoding="utf-8")
RESPONSE = {"timings": {"predicted_n": 200, "predicted_ms": 11082.606, "draft_n": 347, "draft_n_accepted": 65}}


def iteration(
    index: int, drafted: int = 24, accepted: int = 12, context: int = 0, ms: float = 20.0
) -> dict[str, object]:
    spec = {"numDraftTokens": drafted, "numAcceptedTokens": accepted, "numRequestsWithDraftTokens": 8,
            "acceptanceLength": 2.5, "iterLatencyMS": 5.0, "draftOverhead": 0.25}  # fmt: skip
    batching = {"numScheduledRequests": 8, "numContextRequests": context, "numGenRequests": 8, "numPausedRequests": 0}
    return {"iter": index, "iterLatencyMS": ms, "numActiveRequests": 8, "inflightBatchingStats": batching,
            "specDecodingStats": spec if drafted else {}}  # fmt: skip


TRT = json.dumps([iteration(1, context=8, ms=50.0), iteration(2), iteration(3, ms=22.0)])


def one(folder: Path, text: str) -> EngineLog:
    (folder / "on.log").write_text(text)
    (found,) = read_log(folder / "on.log")
    return found


def test_vllm_metrics(tmp_path: Path) -> None:
    run = one(tmp_path, METRICS)
    assert (run.engine, run.model, run.length) == ("vLLM", "m", 2)
    assert (run.blocks, run.drafted, run.accepted, run.kept) == (100, 200, 130, (80, 50))
    assert run.cycle is not None
    assert run.cycle.value == pytest.approx(0.025)
    assert run.token is not None
    assert run.token.value == pytest.approx(0.012)


def test_two_scrapes_are_the_run_between_them(tmp_path: Path) -> None:
    later = METRICS.replace("} 100.0", "} 160.0").replace("} 200.0", "} 320.0").replace("} 130.0", "} 190.0")
    later = later.replace("} 80.0", "} 120.0").replace("} 50.0", "} 70.0").replace("} 2.5", "} 4.3")
    later = later.replace("} 230.0", "} 350.0")
    run = one(tmp_path, METRICS + later)
    assert (run.blocks, run.drafted, run.accepted, run.kept) == (60, 120, 60, (40, 20))
    assert run.cycle is not None
    assert run.cycle.value == pytest.approx(1.8 / 60)


def test_vllm_without_speculation_has_tokens(tmp_path: Path) -> None:
    off = "".join(
        line + "\n" for line in METRICS.splitlines() if "spec_decode" not in line and "request_time" not in line
    )
    run = one(tmp_path, off)
    assert not run.speculating
    assert run.cycle is None
    assert run.token is not None
    assert run.token.value == pytest.approx(0.025)


def test_vllm_lines_in_every_order_they_had(tmp_path: Path) -> None:
    numbers = (
        "Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712"
    )
    new = f"SpecDecoding metrics: Mean acceptance length: 5.44, {numbers}, Avg Draft acceptance rate: 88.8%"
    old = f"SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, {numbers}"
    assert one(tmp_path, new)._replace(source="") == one(tmp_path, old)._replace(source="")
    run = one(tmp_path, new)
    assert (run.blocks, run.length, run.accepted, run.kept) == (59, 5, 262, (58, 56, 54, 52, 42))


def test_vllm_engines_of_one_server_are_added(tmp_path: Path) -> None:
    both = one(tmp_path, METRICS + METRICS.replace('engine="0"', 'engine="1"'))
    assert (both.blocks, both.drafted, both.accepted, both.kept) == (200, 400, 260, (160, 100))


ENGINE = "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {} tokens/s, Running: {} reqs\n"


def test_vllm_lines_weigh_by_what_runs(tmp_path: Path) -> None:
    """A token of one sequence takes sequences over tokens a second; lines in which nothing runs say nothing."""
    run = one(tmp_path, ENGINE.format(100.0, 1) + ENGINE.format(300.0, 5) + ENGINE.format(0.0, 0))
    assert run.batch == 3
    assert run.token is not None
    assert run.token.value == pytest.approx(6 / 400)
    assert run.token.error is not None


def test_vllm_blocks_that_differ_are_not_counted(tmp_path: Path) -> None:
    line = "SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 30 tokens, Drafted: 44 tokens, "
    line += "Per-position acceptance rate: 0.900, 0.600"
    run = one(tmp_path, line)  # 44 / 2 = 22 blocks would mean 2.36
    assert run.blocks is None
    assert run.kept == ()
    assert "not known" in run.notes[0]


def test_sglang(tmp_path: Path) -> None:
    run = one(tmp_path, SGLANG)
    assert (run.engine, run.model, run.length, run.verified, run.batch) == ("SGLang", "Qwen3-8B", 3, 4, 1)
    assert run.tau is not None
    assert run.tau.value == pytest.approx((2.17 + 1.95 + 1.80) / 3)
    assert run.token is not None
    assert run.token.value == pytest.approx(2 / (178.86 + 165.41))


def test_sglang_of_several_requests_and_without_speculation(tmp_path: Path) -> None:
    more = SGLANG.replace("#running-req: 1, #token: 258", "#running-req: 3, #token: 258")
    run = one(tmp_path, more)
    assert run.batch == 2
    assert run.token is not None
    assert run.token.value == pytest.approx(4 / (178.86 + 165.41))
    off = one(tmp_path, re.sub(r"accept len: [\d.]+, accept rate: [\d.]+, ", "", more))
    assert (off.speculating, off.length, off.verified, off.tau) == (False, None, None, None)


EXAMPLE = """decoded  371 tokens in   34.412 seconds, speed:   10.781 t/s
n_drafted = 912
n_accept  = 313

draft:
llama_perf_context_print: prompt eval time =  9000.00 ms /   200 tokens
llama_perf_context_print:        eval time =  5800.00 ms /   900 runs

target:
llama_perf_context_print:        eval time =     0.00 ms /     1 runs
"""


def test_llama_speculative_has_the_draft_s_own_time(tmp_path: Path) -> None:
    run = one(tmp_path, EXAMPLE)
    assert (run.blocks, run.drafted, run.accepted) == (58, 912, 313)
    assert run.token is not None
    assert run.token.value == pytest.approx(34.412 / 371)
    assert run.draft is not None
    assert run.draft.value == pytest.approx(5.8 / 58)
    target = EXAMPLE.replace("draft:\n", "target:\n" + "eval time = 1.0 ms / 1 runs\n\ndraft:\n")
    assert one(tmp_path, target).draft == run.draft


def test_llama(tmp_path: Path) -> None:
    run = one(tmp_path, LLAMA)
    assert (run.engine, run.blocks, run.drafted, run.accepted) == ("llama.cpp", 87, 259, 167)
    assert run.token is not None
    assert run.token.value == pytest.approx(2.29672 / 256)
    assert run.draft is not None
    assert run.draft.value == pytest.approx((0.005 + 325.555 + 0.114) / 87e3)
    old = LLAMA.replace("draft acceptance =", "draft acceptance rate =")
    assert one(tmp_path, old).accepted == 167
    answer = one(tmp_path, json.dumps(RESPONSE))
    assert (answer.blocks, answer.drafted, answer.accepted) == (199 - 65, 347, 65)


def test_tensorrt_llm(tmp_path: Path) -> None:
    run = one(tmp_path, TRT)
    assert (run.engine, run.blocks, run.drafted, run.accepted, run.batch) == ("TensorRT-LLM", 16, 48, 24, 8)
    assert run.cycle is not None
    assert run.cycle.value == pytest.approx(0.021)
    assert run.draft is not None
    assert run.draft.value == pytest.approx(0.005)
    lines = "\n".join(json.dumps(row) for row in json.loads(TRT))
    assert one(tmp_path, lines) == run
    off = one(tmp_path, json.dumps([iteration(i, drafted=0) for i in range(3)]))
    assert not off.speculating
    assert off.token is not None
    assert off.token.value == pytest.approx(0.020)


def test_tensorrt_llm_tokens_ranks_and_drafters_inside(tmp_path: Path) -> None:
    """A token is a cycle over tau; other ranks repeat the first; a drafter in the target's pass has no time."""
    rows = json.loads(TRT)
    run = one(tmp_path, TRT)
    assert run.token is not None
    assert run.token.value == pytest.approx(0.021 / 2.5)
    repeated = [row | {"attentionDpRank": rank} for row in rows for rank in (0, 1)]
    assert one(tmp_path, json.dumps(repeated)) == run
    for row in rows:
        row["specDecodingStats"]["iterLatencyMS"] = 0.0
    assert one(tmp_path, json.dumps(rows)).draft is None


CSV = (SAMPLES / "runs.csv").read_text(encoding="utf-8")


def test_our_own(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(CSV)
    off, on = read_log(tmp_path / "runs.csv")
    assert off.token is not None
    assert off.token.error is not None
    assert off.token.error > 0
    assert (on.blocks, on.kept, on.length) == (10, (8, 4), 2)
    held = {"engine": "vLLM", "model": "m", "runs": [{"speculation": "on", "kept": [8, 4], "blocks": 10, "drafted": 20,
            "accepted": 12, "length": 2, "tokens_per_s": 120}]}  # fmt: skip
    same = one(tmp_path, json.dumps(held))
    assert same == on._replace(engine="vLLM", model="m", source="on.log")


def test_times_of_our_own(tmp_path: Path) -> None:
    """tokens_per_s is of the whole batch; each part has its own place, in seconds."""
    head = "speculation,batch,length,tau,tokens_per_s,cycle_ms,draft_ms,verify_ms,overhead_ms\n"
    run = one(tmp_path, head + "on,4,2,2.5,200,30,4,24,2\n")
    assert [t.value for t in (run.token, run.cycle, run.draft, run.verify, run.overhead) if t] == pytest.approx(
        [4 / 200, 0.030, 0.004, 0.024, 0.002]
    )
    assert timing([2.0, 4.0]) == Timing(3.0, 1.0)  # the error of a mean


OLD = "INFO metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598"
LONG = "eval time = 10.0 ms / {} tokens\ndraft acceptance = 1 ( 30 accepted / {} generated)"
BAD = {
    "empty": (" \n", "on.log is empty; expected a log of"),
    "no engine": ("hello\nworld\n", "on.log begins with 'hello'; expected a log with one of these"),
    "another version": ("vllm:nothing_like_it 3\n", "none of the counters .* expected vLLM 0.9 or later"),
    "two engines": (METRICS + SGLANG, "holds lines of SGLang and of vLLM; expected those of one engine"),
    "vLLM V0": (OLD, "vLLM before 0.9 .* expected 0.9 or later"),
    "falls": (
        METRICS + METRICS.replace("} 130.0", "} 129.0"),
        "line 18: .*accepted_tokens_total falls from 130 to 129",
    ),
    "models": (METRICS + METRICS.replace('"m"', '"n"'), "holds the models m, n; expected one"),
    "positions": (
        METRICS.replace('position="1"', 'position="2"'),
        r"counts positions \[0, 2\]; expected all from 0 on",
    ),
    "sum": (METRICS.replace("} 130.0", "} 131.0"), "positions sum to 130 accepted drafts, the total is 131"),
    "number": (METRICS.replace("} 130.0", "} many"), "is 'many'; expected a finite number that is not negative"),
    "accept len": (SGLANG.replace("1.95", "0.95"), "line 4: accept len is 0.95; expected 1 or more"),
    "no decode": ("\n".join(SGLANG.splitlines()[:3]), "no decode line but those right behind a prompt"),
    "too many": (LONG.format(20, 30), "30 drafts accepted among 20 tokens"),
    "accepted above drafted": (LONG.format(90, 20), "30 drafts accepted of 20 drafted"),
    "prompts only": (json.dumps([iteration(1, context=8)]), "no iteration that only decodes"),
    "fields": (TRT.replace('"numAcceptedTokens": 12, ', ""), "specDecodingStats has no numAcceptedTokens"),
    "key": (CSV.replace("drafted", "draftd"), "'draftd' is read by nobody; did you mean drafted"),
    "speculation": (CSV.replace("on,2", "maybe,2"), "speculation is 'maybe'; expected on or off"),
    "more kept": (CSV.replace("8;4", "4;8"), "8 blocks kept draft 2, more than the 4"),
    "tau": ("speculation,length,tau,token_ms\non,2,3.5,10\n", "tau is 3.5; expected 1 or more and at most 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_log_is_refused_in_a_line(case: str, tmp_path: Path) -> None:
    text, said = BAD[case]
    (tmp_path / "on.log").write_text(text)
    with pytest.raises(ValueError, match=said) as refused:
        read_log(tmp_path / "on.log")
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("on.log")


def test_the_folder_is_the_list() -> None:
    assert {module.NAME for module in engines()} == {
        "vLLM",
        "serving benchmark",
        "SGLang",
        "llama.cpp",
        "TensorRT-LLM",
        "own",
        "per-request metrics",
        "SGLang answers",
        "TensorRT-LLM perf_metrics",
        "aiperf",
        "guidellm",
        "Spec-Bench",
        "traces",
        "speculators",
        "llama.cpp metrics",
    }
