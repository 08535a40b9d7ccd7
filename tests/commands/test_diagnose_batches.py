"""`specsim diagnose` by the requests that run, of several logs, and of numbers that cannot be so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim.cli import app


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.stdout if code == 0 else found.stderr


LINE = "INFO 01-01 10:00:{:02} x Avg generation throughput: {} tokens/s, Running: {} reqs\n"
SPEC = (
    "SpecDecoding metrics: Mean acceptance length: 2.50, Accepted: 150 tokens, Drafted: 200 tokens, "
    "Per-position acceptance rate: 0.900, 0.600\n"
)
SPEEDS = {1: 2.13, 8: 1.7, 32: 1.2, 64: 0.83}


def of_vllm(speeds: dict[int, float], spec: str) -> str:
    rows = [(running, 100 * running * speed) for running, speed in speeds.items() for _ in range(2)]
    return "".join(LINE.format(i, rate, running) + spec for i, (running, rate) in enumerate(rows))


def of_sglang(speeds: dict[int, float], spec: str) -> str:
    line = "Decode batch, #running-req: {}, #token: 1, {}gen throughput (token/s): {}, #queue-req: 0\n"
    rows = [(running, 100 * running * speed) for running, speed in speeds.items() for _ in range(3)]
    start = "speculative_num_steps=3, speculative_num_draft_tokens=4\n"
    return start + "".join(line.format(running, spec, rate) for running, rate in rows)


def of_tensorrt(speeds: dict[int, float], spec: str) -> str:
    """A cycle emits 2.5 tokens of each request, a step one."""
    rows = []
    for running, speed in speeds.items():
        stats = {
            "numDraftTokens": 2 * running,
            "numAcceptedTokens": 1.5 * running,
            "numRequestsWithDraftTokens": running,
        }
        ms = 2.5 * 10 / speed if spec else 10.0
        batching = {"numGenRequests": running}
        one = {"iterLatencyMS": ms, "inflightBatchingStats": batching, "specDecodingStats": stats if spec else {}}
        rows += [one, one]
    return json.dumps(rows)


@pytest.mark.parametrize(("write", "spec"), [(of_vllm, SPEC), (of_sglang, "accept len: 2.50, "), (of_tensorrt, "x")])
def test_a_log_is_split_by_the_requests_that_run(write: Callable[..., str], spec: str, tmp_path: Path) -> None:
    """2.13x at one request and 0.83x at 64, which together were 1.03x at a batch of 26.25."""
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    speeds = SPEEDS if write is not of_tensorrt else {2 * n: speed for n, speed in SPEEDS.items()}
    off.write_text(write(dict.fromkeys(speeds, 1.0), ""))
    on.write_text(write(speeds, spec))
    shown = json.loads(run("diagnose", off, on, "--json"))
    assert {batch: speed["value"] for batch, speed in shown["by_batch"]} == pytest.approx(speeds)
    table = run("diagnose", off, on, "--csv").split("batch,speedup", 1)[1].split("\n\n")[0].splitlines()[1:]
    wanted = [[batch, *(speed[name] for name in ("value", "low", "high"))] for batch, speed in shown["by_batch"]]
    assert [[float(cell) if cell else None for cell in row.split(",")] for row in table] == wanted
    said = run("diagnose", off, on)
    smallest, largest = min(speeds), max(speeds)
    assert said.startswith(f"Faster (2.13x as measured at batch {smallest})")
    assert f"switch it off from batch {largest} on: it is slower there in every log" in said


def test_an_interval_of_two_batches_counts_for_neither(tmp_path: Path) -> None:
    """Where the number of requests has just changed, the tokens are of both numbers."""
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    off.write_text(of_vllm({1: 1.0, 64: 1.0}, ""))
    rows = [(1, 30.0), (1, 200.0), (64, 900.0), (64, 5760.0)]
    on.write_text("".join(LINE.format(i, rate, running) + SPEC for i, (running, rate) in enumerate(rows)))
    shown = json.loads(run("diagnose", off, on, "--json"))
    assert {batch: speed["value"] for batch, speed in shown["by_batch"]} == pytest.approx({1: 2.0, 64: 0.9})


def test_batches_on_the_way_to_others_are_left_out_with_a_word(tmp_path: Path) -> None:
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    speeds = {1: 2.0, 64: 0.9}
    for path, rates, spec in ((off, dict.fromkeys(speeds, 1.0), ""), (on, speeds, SPEC)):
        long = [of_vllm({running: rates[running]}, spec) * 6 for running in speeds]
        path.write_text(long[0] + LINE.format(0, 5.0, 20) + spec + long[1])
    shown = json.loads(run("diagnose", off, on, "--json"))
    assert {batch: speed["value"] for batch, speed in shown["by_batch"]} == pytest.approx(speeds)
    assert any("running requests 20 are left out" in note for note in shown["notes"])


def test_a_batch_at_which_nothing_was_drafted_still_speculates(tmp_path: Path) -> None:
    """vLLM switches drafts off above a batch: that part of the log is no run without speculation."""
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    off.write_text(of_vllm({1: 1.0, 64: 1.0}, ""))
    on.write_text(of_vllm({1: 2.0}, SPEC) + of_vllm({64: 0.9}, ""))
    shown = json.loads(run("diagnose", off, on, "--json"))
    assert [(batch, speed["value"]) for batch, speed in shown["by_batch"]] == [(1, 2.0), (64, pytest.approx(0.9))]


def test_no_log_is_dropped_without_a_word(tmp_path: Path) -> None:
    head = "speculation,length,batch,tau,tokens_per_s\n"
    rows = {"off": "off,,1,,10\n", "a": "on,3,1,2.8,20\n", "b": "on,3,1,2.8,15\n", "c": "on,3,8,2.8,90\n"}
    for name, row in rows.items():
        (tmp_path / f"{name}.csv").write_text(head + row)
    said = run("diagnose", *(tmp_path / f"{name}.csv" for name in rows))
    assert "a.csv      1               3  2.00" in said
    assert "b.csv      1               3  1.50" in said
    assert "c.csv: batch 8 left out, for no log without speculation is of that batch" in said
    # Logs are known by what they say, in any order.
    assert run("diagnose", *(tmp_path / f"{name}.csv" for name in ("a", "off"))).startswith("Faster (2.00x")


DOUBTS = {
    "a cycle cheaper than a step": (
        "off,,,,100\non,3,2.0,,1000\n",
        "Not plausible (10.00x as measured): a cycle costs 0.20 plain steps, and the pass of the target in it",
    ),
    "parts dearer than the cycle": (
        "off,,,,100\non,3,2.0,90,100\n",
        "Not plausible (1.00x as measured): verifying and fixed work take -7.00 plain steps, less than none",
    ),
}


@pytest.mark.parametrize("case", DOUBTS)
def test_what_cannot_be_is_said_to_be_implausible(case: str, tmp_path: Path) -> None:
    rows, said = DOUBTS[case]
    (tmp_path / "runs.csv").write_text("speculation,length,tau,draft_ms,tokens_per_s\n" + rows)
    assert run("diagnose", tmp_path / "runs.csv").startswith(said)
    assert json.loads(run("diagnose", tmp_path / "runs.csv", "--json"))["verdict"] == "implausible"


UNKNOWN = "speculation,length,tau,cycle_ms,tokens_per_s\n"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        # No tokens of a cycle: the length alone says what is possible.
        ("off,,,,100\non,3,,,15000\n", "(150.00x as measured): 3 drafts a block give 4 times at most; likely the logs"),
        ("off,,,,100\non,1,,,300\n", "(3.00x as measured): 1 draft a block gives 2 times at most; likely"),
        # Neither tokens nor length: no drafter is known to make so much.
        ("off,,,,100\non,,,,15000\n", "(150.00x as measured): no log says how many drafts a block has, and 16 give 17"),
        # A cycle that is timed, and costs more than a plain step, does not make tokens faster than it emits them.
        ("off,,,,100\non,3,2.0,12,15000\n", "(150.00x as measured): a cycle emits 2.00 tokens, the most that it can"),
    ],
)
def test_a_speedup_above_what_drafts_can_give_is_doubted(rows: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(UNKNOWN + rows)
    assert run("diagnose", tmp_path / "runs.csv").startswith(f"Not plausible {said}")
    assert json.loads(run("diagnose", tmp_path / "runs.csv", "--json"))["verdict"] == "implausible"


def test_a_second_log_is_doubted_too(tmp_path: Path) -> None:
    """Logs of one batch are solved together: one that cannot be makes the answer doubtful, and is named."""
    (tmp_path / "runs.csv").write_text(UNKNOWN + "off,,,,100\non,3,2.0,,150\non,2,2.0,,15000\n")
    said = run("diagnose", tmp_path / "runs.csv")
    assert said.startswith("Not plausible (1.50x as measured)")
    assert "note: implausible: runs.csv, batch 1, 2 drafts is 150.00x: a cycle emits 2.00 tokens, the most" in said


@pytest.mark.parametrize("rows", ["off,,,,100\non,3,,,390\n", "off,,,,100\non,,,,1600\n"])
def test_what_drafts_can_give_is_not_doubted(rows: str, tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text(UNKNOWN + rows)
    assert run("diagnose", tmp_path / "runs.csv").startswith("Faster")


def test_intervals_of_times_do_not_go_below_zero(tmp_path: Path) -> None:
    rows = "off,,,,100\non,3,2.0,0.1,190\n"
    (tmp_path / "runs.csv").write_text("speculation,length,tau,draft_ms,tokens_per_s\n" + rows)
    shown = json.loads(run("diagnose", tmp_path / "runs.csv", "--noise", 0.2, "--json"))
    assert all(part["steps"]["low"] >= 0 for part in shown["parts"])
    assert shown["doubts"] == []


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ("100,300,0", "implausible: none of 300 drafts accepted; likely the draft belongs to another target"),
        ("5000,15000,3", "implausible: 3 of 15000 drafts accepted"),
    ],
)
def test_no_draft_of_many_accepted_is_implausible(counts: str, words: str, tmp_path: Path) -> None:
    rows = f"off,,,,100\non,{counts},50\n"
    (tmp_path / "runs.csv").write_text("speculation,blocks,drafted,accepted,tokens_per_s\n" + rows)
    assert words in run("log", tmp_path / "runs.csv")
    assert words in run("diagnose", tmp_path / "runs.csv")


def test_more_tokens_than_drafts_and_one_are_refused(tmp_path: Path) -> None:
    off, on = tmp_path / "off.log", tmp_path / "on.log"
    off.write_text(of_sglang({1: 1.0}, ""))
    on.write_text(of_sglang({1: 2.0}, "accept len: 4.20, "))
    other = tmp_path / "other.log"
    other.write_text(on.read_text())
    for words in (("diagnose", off, on), ("log", on), ("diagnose", on, other)):
        assert "4.20 tokens a call; 3 drafts give 4 at most: likely" in run(*words, code=2)
