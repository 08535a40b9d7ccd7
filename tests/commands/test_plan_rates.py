"""`specsim plan --rate`: its numbers are those of the library, its table fits, and bad input is one line."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from typer.testing import CliRunner

from specsim import harmful_rate, largest_rate, request_times, roofline, service_costs, simulate_requests, stable_rate
from specsim.cli import app
from specsim.commands.plan import rates
from specsim.speed.load import rates as load_rates
from specsim.speed.load.closed import RequestTimes
from specsim.speed.load.events import Simulated
from specsim.speed.load.service import Service

WORDS = "plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0 --max-gamma 4"
SIZES = "--prompt-tokens 256 --output-tokens 64 --batch-limit 16"


def run(line: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, shlex.split(line), env={"COLUMNS": "80"})
    return found.exit_code, found.output


def sides() -> list[Service]:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    sizes = {"prompt": 256, "output": 64, "limit": 16}
    return [service_costs(times, 0.7 if g else None, gamma=g, **sizes) for g in range(5)]


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    code, shown = run(f"{WORDS} {SIZES} --rate 2,20 --within 0.5 --json")
    assert code == 0, shown
    found: dict[str, Any] = json.loads(shown)
    return found


def test_numbers_are_those_of_the_library(answer: dict[str, Any]) -> None:
    ways = sides()
    assert answer["stable"] == pytest.approx([stable_rate(way) for way in ways])
    for line, rate in zip(answer["lines"], (2.0, 20.0), strict=True):
        assert line["rate"] == rate
        means = [request_times(way, rate).total_s for way in ways]
        best = min(range(1, 5), key=lambda g: means[g])
        assert line["gamma"] == best
        assert line["plain"]["total_s"] == pytest.approx(means[0])
        assert line["drafts"]["total_s"] == pytest.approx(means[best])
        seen = simulate_requests(ways[best], rate, requests=1000, runs=4)
        assert line["drafts_seen"]["total"]["p99"] == pytest.approx(seen.total.p99)
        assert line["drafts_seen"]["first"]["mean"]["value"] == pytest.approx(seen.first.mean.value)
    hurts = [harmful_rate(ways[0], way) for way in ways[1:]]
    assert answer["hurts"] == hurts[answer["gamma"] - 1]
    assert answer["within"][0] == pytest.approx(largest_rate(ways[0], 0.5))
    reach = [largest_rate(way, 0.5) for way in ways[1:]]
    assert answer["within"][1] == pytest.approx(max(r for r in reach if r is not None))
    assert answer["none_helps"] == (None if None in hurts else max(h for h in hurts if h is not None))


def test_how_much_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count, as seconds are the machine's: at all 16 lengths, five times as many latencies were asked for once."""
    asked = {"times": 0, "requests": 0}

    def times(service: Service, rate: float) -> RequestTimes:
        asked["times"] += 1
        return request_times(service, rate)

    def simulated(service: Service, rate: float, *, requests: int, runs: int, level: float) -> Simulated:
        asked["requests"] += requests * runs
        return simulate_requests(service, rate, requests=10, runs=2, level=level)

    monkeypatch.setattr(load_rates, "request_times", times)
    monkeypatch.setattr(rates, "request_times", times)
    monkeypatch.setattr(rates, "simulate_requests", simulated)
    line = "plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --rate 0.5,2,8 --within 3"
    code, shown = run(line)
    assert code == 0, shown
    assert "a mean latency within 3 s holds up to: 20.15 a second without drafts, 25.27 a second with them" in shown
    assert 0 < asked["times"] <= 500
    assert asked["requests"] == 3 * 2 * 4000


def test_the_table_fits_and_the_answer_comes_first() -> None:
    code, shown = run(f"{WORDS} {SIZES} --rate 2,20")
    assert code == 0
    lines = shown.splitlines()
    assert lines[0].startswith("At 2 requests a second a request takes ")
    table = lines[lines.index("") + 1 : lines.index("", 2)]
    assert len(table) == 3 + 6
    assert max(map(len, table)) <= 80
    marked = run(f"{WORDS} {SIZES} --rate 2 --markdown")[1]
    assert marked.count("\n| ") == 5, "a head, a rule, three lines"


def test_where_no_length_helps_it_is_off() -> None:
    code, shown = run(
        "plan 0.05 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --max-gamma 2 --rate 1 --json"
    )
    assert code == 0
    found = json.loads(shown)
    assert found["lines"][0]["gamma"] == 0
    assert found["lines"][0]["drafts"]["total_s"] > found["lines"][0]["plain"]["total_s"]
    assert found["hurts"] == found["none_helps"] == 0
    assert "speculation with 1 draft hurts at every rate" in found["sentence"]


BAD = [
    ("--rate 0", r"rate[0] is 0; it must be above 0 and below the largest stable rate, "),
    ("--rate 2,-1", r"rate[1] is -1; it must be above 0 and below the largest stable rate, "),
    ("--rate 2,9999", r"rate[1] is 9999; it must be above 0 and below the largest stable rate, "),
    ("--rate fast", "rate[0] is 'fast'"),
    ("--rate 2 --batch 8", "--rate says nothing of --batch; leave out one of them"),
    ("--rate 2 --emit vllm", "--rate says nothing of --emit; leave out one of them"),
    ("--rate 2 --within 0", "within is 0.0; it must lie in (0, inf)"),
    ("--rate 2 --batch-limit 0", "batch_limit must be at least 1, got 0"),
    ("--rate 2 --output-tokens 99999", "output_tokens is 99999; it must be at most 16384"),
    ("--prompt-tokens 64", "--prompt-tokens goes with --rate"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_one_line(words: str, message: str) -> None:
    code, shown = run(f"{WORDS} {words}")
    assert code == 2
    assert message in shown
    assert len(shown.splitlines()) == 1
    if "largest stable" in message:
        best = max(stable_rate(way) for way in _default_sides())
        assert f"{best:.4g} requests a second" in shown


def _default_sides() -> list[Service]:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    return [service_costs(times, 0.7 if g else None, gamma=g, prompt=512, output=256, limit=64) for g in range(5)]


def test_rates_need_seconds() -> None:
    code, shown = run("plan 0.7 --cost-ratio 0.1 --rate 2")
    assert code == 2
    assert "give --target, --draft and --hardware, not --cost-ratio" in shown
