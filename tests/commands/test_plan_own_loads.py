"""Loads from measured times: `--costs` and `--log` with `--concurrency` and `--rate`, against processes of simpy."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers.planning import as_json, run
from helpers.server_processes import Processes, requests_at, tokens_per_s
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.commands.plan import rates
from specsim.lengths.blocks import accepted_length_law
from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.ways import Server, Way, alike

# Milliseconds of a pass over `tokens` of each of `batch` sequences: so one of a prompt has 10 + 0.02 a token.
STEP, TOKEN, RATIO = 10.0, 0.02, 0.05
LENGTHS = Lengths(*(LengthLaw(np.array([n]), np.ones(1), "") for n in (512, 100)))
WORDS = f"0.8 --cost-ratio {RATIO} --overhead 0 --gamma 3 --prompt-tokens 512 --output-tokens 100"


def milliseconds(tokens: int, batch: int) -> float:
    return STEP + TOKEN * tokens * batch


def passes(path: Path, *, prompt: bool = True, batches: tuple[int, ...] = (1, 4, 8, 16)) -> Path:
    rows = [f"{m},{b},562,{milliseconds(m, b)}" for m in (1, 2, 4, 5) for b in batches]
    rows += [f"512,1,562,{milliseconds(512, 1)}"] * prompt
    path.write_text("\n".join(["tokens,batch,context,ms", *rows]) + "\n")
    return path


@pytest.fixture
def costs(tmp_path: Path) -> Path:
    return passes(tmp_path / "passes.csv")


def way(gamma: int) -> Way:
    """The way to decode by hand: what the file says, as a formula."""

    def cycle_s(batch: int) -> float:
        return (milliseconds(gamma + 1, batch) + gamma * RATIO * milliseconds(1, batch)) / 1e3

    law = accepted_length_law(np.full(gamma, 0.8)) if gamma else np.ones(1)
    return Way(gamma, alike(law), cycle_s, lambda n: milliseconds(n, 1) / 1e3, RATIO if gamma else 0.0, 0.0)


@pytest.mark.parametrize("clients", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_a_loop_of_measured_passes_is_that_of_an_independent_simulation(costs: Path, clients: int) -> None:
    (point,) = as_json(f"{WORDS} --costs {costs} --concurrency {clients}")["loop"]
    for gamma, name in ((0, "plain"), (3, "speculative")):
        seen = tokens_per_s(Processes(way(gamma), Server(), LENGTHS, clients), clients, 25.0)
        assert point[f"{name}_tokens_per_s"] == pytest.approx(seen, rel=0.03)


def test_requests_at_a_rate_are_those_of_an_independent_simulation(
    costs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 1500)
    answer = as_json(f"{WORDS} --costs {costs} --rate 6 --batch-limit 16")
    (line,) = answer["lines"]
    others = requests_at(Processes(way(3), Server(), LENGTHS, 16), 6.0, 500)
    assert line["speculative"]["total_s"]["mean"] == pytest.approx(
        np.mean([request.done - request.came for request in others]), rel=0.05
    )
    tpot_s = [(request.done - request.first) / 99 for request in others]
    assert line["speculative"]["tpot_s"]["p95"] == pytest.approx(np.quantile(tpot_s, 0.95), rel=0.06)
    assert any("reading a prompt adds to a cycle what it takes alone" in words for words in answer["assumptions"])


def test_a_time_to_the_first_token_says_how_prompts_are_read(tmp_path: Path, costs: Path) -> None:
    """Instead of a pass over the prompt; beside one it is a wait, or says that prompts are read faster."""
    bare = passes(tmp_path / "bare.csv", prompt=False)
    told, measured = (
        as_json(f"{WORDS} --costs {path} --concurrency 4 {more}")["loop"][0]
        for path, more in ((bare, f"--ttft-ms {milliseconds(512, 1)}"), (costs, ""))
    )
    for name in ("plain_tokens_per_s", "speculative_tokens_per_s"):
        assert told[name] == pytest.approx(measured[name])
    late = as_json(f"{WORDS} --costs {costs} --concurrency 1 --ttft-ms 70.24")["loop"][0]
    assert late["plain"]["ttft_s"]["mean"] == pytest.approx(0.07024)


def test_errors_of_repeated_passes_are_the_interval(tmp_path: Path, costs: Path) -> None:
    alone = as_json(f"{WORDS} --costs {costs} --concurrency 4")["loop"][0]["speedup"]
    assert alone["low"] is None
    assert "not known" in run(f"{WORDS} --costs {costs} --concurrency 4")
    head, *rows = costs.read_text().splitlines()
    repeated = tmp_path / "repeated.csv"
    noisy = [
        f"{r.rpartition(',')[0]},{float(r.rpartition(',')[2]) * factor}" for r in rows for factor in (0.99, 1, 1.01)
    ]
    repeated.write_text("\n".join([head, *noisy]) + "\n")
    words = f"{WORDS} --costs {repeated} --concurrency 4"
    known, hidden = (as_json(text)["loop"][0]["speedup"] for text in (words, words.replace("--overhead 0", "")))
    assert known["low"] < known["value"] < known["high"]
    assert known["value"] == pytest.approx(alone["value"]), "times are medians"
    # Without --overhead the low end allows for work of the host that is in no value.
    assert hidden["value"] == known["value"]
    assert hidden["high"] == known["high"]
    assert hidden["low"] < 0.95 * known["low"]


def test_prompts_are_long_passes_of_one_sequence(tmp_path: Path) -> None:
    path = passes(tmp_path / "both.csv")
    path.write_text(path.read_text() + "512,4,562,60\n600,4,562,70\n")
    assert dict(specsim.read_pass_times(path).prompts) == {512: pytest.approx((0.02024,))}


def test_llama_bench_says_how_prompts_are_read(tmp_path: Path) -> None:
    """pp512 is no pass of a block, and reads the prompt of the one client that llama-bench has."""
    fields = {"n_batch": 2048, "n_ubatch": 512, "n_depth": 0}
    tests = [
        fields | {"n_prompt": n, "n_gen": 0, "avg_ns": 1e6 * (10 + 0.02 * n), "samples_ns": [1e6 * (10 + 0.02 * n)] * 3}
        for n in (2, 5, 512)
    ]
    tests.append(fields | {"n_prompt": 0, "n_gen": 128, "avg_ns": 128e7, "samples_ns": [128e7] * 3})
    path = tmp_path / "bench.json"
    path.write_text(json.dumps(tests))
    assert dict(specsim.read_pass_times(path).prompts) == {512: pytest.approx((0.02024,) * 3)}
    (point,) = as_json(f"{WORDS} --costs {path} --concurrency 1 --context 0")["loop"]
    assert point["plain"]["ttft_s"]["mean"] == pytest.approx(0.02024)
    refused = run(f"{WORDS} --costs {path} --concurrency 1", 2)
    assert "--concurrency needs cycles at context 562, in the middle of an answer, and --costs has context 0" in refused


REFUSED = [
    ("--costs {bare} --concurrency 4", "--concurrency needs the time of reading prompts, and --costs has no pass over"),
    ("--costs {bare} --concurrency 4 --ttft-ms 5", "and a plain step takes 10 ms; expected a longer time"),
    ("--costs {p} --concurrency 32", "cycles of 1 to 32 sequences, and --costs has batch 1, 4, 8, 16: give passes of"),
    ("--costs {p} --concurrency 32", "batch 32, too, or give --concurrency 16"),
    ("--costs {p} --rate 1", "give passes of batch 64, too, or give --batch-limit 16"),
    ("--costs {high} --concurrency 8", "and --costs has batch 4, 8: give passes of batch 1, too\n"),
    ("--costs {p} --concurrency 4 --context 4k", "context 4096, as --context says, and --costs has context 562"),
    ("--costs {p} --concurrency 4 --context 4k", "measure passes there, or give --context 562"),
    ("--costs {unsaid} --concurrency 1", "which --costs does not say: add a column batch"),
]


@pytest.mark.parametrize(("words", "message"), REFUSED, ids=[f"{words} {i}" for i, (words, _) in enumerate(REFUSED)])
def test_what_measured_times_lack_is_named(tmp_path: Path, costs: Path, words: str, message: str) -> None:
    bare, high = passes(tmp_path / "bare.csv", prompt=False), passes(tmp_path / "high.csv", batches=(4, 8))
    with high.open("a") as file:
        file.write("600,1,562,22\n")
    unsaid = tmp_path / "unsaid.csv"
    unsaid.write_text("tokens,ms\n1,10\n4,11\n512,20\n")
    assert message in run(f"{WORDS} {words.format(p=costs, bare=bare, high=high, unsaid=unsaid)}", 2)


def test_the_context_of_cycles_is_said_as_far_as_it_is_known(tmp_path: Path, costs: Path) -> None:
    said = run(f"{WORDS} --costs {costs} --concurrency 4")
    assert "- every cycle costs what it does at context 562, in the middle of an answer\n" in said
    bare = tmp_path / "bare.csv"
    bare.write_text("tokens,batch,ms\n1,1,10\n4,1,11\n512,1,20\n")
    said = run(f"{WORDS} --costs {bare} --concurrency 1")
    assert "- every cycle costs what it does at the context of the measured passes, which is not said\n" in said


def test_prompts_longer_than_any_that_was_read_are_refused(costs: Path) -> None:
    spread = WORDS.replace("--prompt-tokens 512", "--prompt-tokens 400+-300")
    assert "prompts of 512 tokens at most" in run(f"{spread} --costs {costs} --concurrency 4", 2)
    words = WORDS.replace("--prompt-tokens 512", "--prompt-tokens 900")
    said = run(f"{words} --costs {costs} --concurrency 4", 2)
    assert (
        "prompt_tokens goes up to 900, and --costs has prompts of 512 tokens at most: measure a pass over 900" in said
    )


@pytest.fixture
def logs(tmp_path: Path) -> str:
    """Two logs of batches 1 and 8, without speculation and with four drafts a block."""
    off, on = tmp_path / "off.csv", tmp_path / "on.csv"
    off.write_text("speculation,batch,token_ms\noff,1,10\noff,8,12\n")
    head = "speculation,batch,token_ms,length,blocks,drafted,accepted"
    on.write_text(f"{head}\non,1,5,4,1000,4000,2000\non,8,9,4,1000,4000,1500\n")
    return f"--log {off} --log {on}"


def test_a_loop_of_logged_cycles_writes_what_was_logged(logs: str) -> None:
    """At each batch that ran tokens per second are those of the log; its prompts are in its times."""
    answer = as_json(f"{logs} --concurrency 1,8 --gamma 4 --output-tokens 400")
    for point, (clients, off_ms, on_ms) in zip(answer["loop"], ((1, 10, 5), (8, 12, 9)), strict=True):
        assert point["plain_tokens_per_s"] == pytest.approx(1e3 * clients / off_ms)
        # The last block of an answer ends beyond it.
        assert point["speculative_tokens_per_s"] == pytest.approx(1e3 * clients / on_ms, rel=0.01)
        assert point["plain"]["ttft_s"] is None
        assert point["speculative"]["total_s"]["mean"] == pytest.approx(0.4 * on_ms, rel=0.02)
    assert answer["prompt"] is None
    assert any("have the reading of prompts in them" in words for words in answer["assumptions"])
    said = run(f"{logs} --concurrency 8 --gamma 4")
    assert "first token" not in said
    assert "P95 and P99 are longer\n" in said
    assert "each number of clients has the acceptance of the nearest logged batch" in said


def test_a_log_without_speculation_has_the_reading_of_prompts_in_it(logs: str) -> None:
    off = logs.partition(" --log ")[0]
    words = f"0.7 {off} --cost-ratio 0.05 --verify-cost 1,1.1,1.2 --concurrency 1,8 --output-tokens 100"
    assert [point["plain_tokens_per_s"] for point in as_json(words)["loop"]] == pytest.approx([100, 8e3 / 12])


def test_forced_acceptance_is_that_of_the_clients(logs: str) -> None:
    """A log of 1 and one of 8 sequences: each load has its own, and no engine is told two at once."""
    for clients, accepted in ((1, 2.0), (2, 2.0), (8, 1.5)):
        words = f"plan {logs} --concurrency {clients} --gamma 4 --emit vllm-synthetic"
        outcome = CliRunner().invoke(app, shlex.split(words))
        told, notes = outcome.stdout, outcome.stderr
        assert sum(json.loads(told)["synthetic_acceptance_rates"]) == pytest.approx(accepted, rel=1e-3)
        assert f"at batch {8 if clients == 8 else 1}" in notes
        assert "each number of clients has the acceptance of the nearest logged batch" in notes
    said = run(f"{logs} --concurrency 1,8 --gamma 4 --emit vllm-synthetic", 2)
    assert "concurrency 1 and 8 have different acceptance in the logs, and vllm-synthetic forces one: give one" in said


def test_requests_at_a_rate_of_logged_cycles(logs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 400)
    answer = as_json(f"{logs} --rate 0.1,2 --batch-limit 8 --gamma 4 --output-tokens 100")
    slow, busy = answer["lines"]
    assert slow["tau"] == pytest.approx(2.5, rel=0.02), "the acceptance of the largest batch"
    assert slow["plain"]["total_s"]["mean"] == pytest.approx(1.0, rel=0.03)
    assert answer["stable"]["0"] == pytest.approx(8 / (100 * 0.012))
    assert busy["plain"]["running"] == pytest.approx(2 * busy["plain"]["total_s"]["mean"], rel=0.1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--concurrency 8 --prompt-tokens 9", "--log has the reading of its prompts in its times: leave out --prompt-"),
        ("--concurrency 8 --ttft-ms 9", "leave out --ttft-ms (with --costs prompts are read apart)"),
        ("--concurrency 16", "needs cycles of 16 sequences, and --log has batch 1, 8: give logs of batch 16, too"),
        (
            "--rate 1",
            "cycles of 1 to 64 sequences, and --log has batch 1, 8: give logs of batch 64, too, or give --batch",
        ),
        ("--concurrency 4 --context 9", "logs do not say the contexts of their requests; leave it out"),
    ],
)
def test_what_logs_do_not_say_is_named(logs: str, words: str, message: str) -> None:
    assert message in run(f"{logs} --gamma 4 {words}", 2)
