"""guidellm's benchmarks.json: times and clients of each benchmark, and drafts only where chunks show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import read
from typer.testing import CliRunner

from specsim.cli import app
from specsim.logs.measures import log_tau
from specsim.logs.read import read_log

SAMPLE = Path(__file__).with_name("samples") / "guidellm.json"


def request(tokens: int, chunks: int, token_ms: float, start: float = 1e9) -> dict[str, Any]:
    """An answer as report schema 2 has it."""
    last = start + (tokens - 1) * token_ms / 1e3
    timings = {"first_token_iteration": start, "last_token_iteration": last, "token_iterations": chunks}
    return {
        "output_metrics": {"text_tokens": tokens, "total_tokens": tokens},
        "info": {"timings": timings},
        "output_tokens": tokens,
        "inter_token_latency_ms": token_ms if tokens > 1 and chunks else None,
    }


def benchmark(requests: list[dict[str, Any]], clients: float, **others: Any) -> dict[str, Any]:
    held = {"successful": requests, "incomplete": [], "errored": [], "total": None}
    return {
        "config": {"strategy": {"type_": "concurrent"}},
        "metrics": {"request_concurrency": {"successful": {"mean": 0.5}, "total": {"mean": clients}}},
        "requests": held | others,
    }


def report(*benchmarks: dict[str, Any], version: int = 2) -> str:
    metadata = {"version": version, "guidellm_version": "0.7.3"}
    return json.dumps({"metadata": metadata, "config": {}, "benchmarks": list(benchmarks)})


def test_each_benchmark_is_a_run_at_its_clients(tmp_path: Path) -> None:
    plain = benchmark([request(101, 100, 10.0), request(51, 51, 12.0), request(1, 1, 0.0)], 1.0)
    busy = benchmark([request(101, 101, 20.0)], 7.9, errored=[{}], incomplete=[{}, {}])
    one, many = read(report(plain, busy), tmp_path, "off.json")
    assert (one.source, one.speculating, one.batch) == ("off.json, benchmark 1", False, 1.0)
    assert one.token is not None
    assert one.token.value == pytest.approx(0.011)
    assert one.token.error == pytest.approx(0.001)
    assert any("1 answers of one token" in note for note in one.notes)
    assert any("taken for one without speculation: the file does not say it" in note for note in one.notes)
    assert many.batch == 7.9
    assert "1 errored requests are left out" in many.notes
    assert "2 incomplete requests are left out" in many.notes


def test_chunks_of_several_tokens_are_steps_with_drafts(tmp_path: Path) -> None:
    """A ratio of sums, each without the first token; whether each step had a draft is not known."""
    (run,) = read(report(benchmark([request(101, 51, 6.0), request(201, 51, 5.0)], 8.0)), tmp_path)
    assert (run.speculating, run.coverage) == (True, None)
    tau = log_tau(run, length=4)
    assert tau.value == pytest.approx(300 / 100)
    # Residuals 100 - 3 * 50 and 200 - 3 * 50, over 100 chunks.
    assert tau.error == pytest.approx((2 * 2 * 50**2) ** 0.5 / 100)
    assert any("a server or client that joins chunks makes more of them" in note for note in run.notes)


def test_a_file_of_guidellm_itself() -> None:
    """Version 0.8.1 with two clients, before a server that sent three tokens a chunk every 10 ms; shortened."""
    (run,) = read_log(SAMPLE)
    assert (run.engine, run.speculating) == ("guidellm", True)
    assert log_tau(run, length=4).value == 3.0
    assert run.batch == pytest.approx(2, abs=0.1)
    assert run.token is not None
    assert run.token.value == pytest.approx(0.0043, abs=0.0005)


def test_the_commands_read_it(tmp_path: Path) -> None:
    off, on = tmp_path / "off.json", tmp_path / "on.json"
    off.write_text(report(benchmark([request(101, 101, 10.0), request(101, 101, 10.2)], 1.0)))
    on.write_text(report(benchmark([request(101, 41, 6.0), request(101, 41, 6.1)], 1.0)))
    ended = CliRunner().invoke(app, ["diagnose", str(off), str(on), "--gamma", "4"])
    assert ended.exit_code == 0, ended.output
    assert "1.67" in ended.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (report(benchmark([request(101, 85, 10.0)], 1.0)), r"chunks of the stream have 1\.19 tokens in the mean"),
        (report(benchmark([], 1.0)), "holds no successful requests"),
        (report(benchmark([request(1, 1, 0.0)], 1.0)), "no answer has two tokens or more with their times"),
        (report(), "has no benchmarks"),
        (report(benchmark([request(9, 9, 1.0)], 1.0), version=1), "schema version 1; 2 is read"),
        (report(benchmark([request(9, 9, 1.0)], -1.0)), r"request_concurrency\.total\.mean is '-1\.0'"),
        (report(benchmark([request(9, 9, 1.0) | {"inter_token_latency_ms": 2.0}], 1.0)), "they differ"),
        (report(benchmark([request(9, 9, 1.0) | {"output_metrics": {"text_tokens": None}}], 1.0)), "reported no usage"),
        (report(benchmark([request(9, 9, 1.0) | {"info": {}}], 1.0)), "request 1: timings"),
    ],
)  # fmt: skip
def test_what_it_does_not_say_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        read(text, tmp_path)
