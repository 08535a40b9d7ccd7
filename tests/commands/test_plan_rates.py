"""`specsim plan --rate`: its numbers are those of the library, its table fits, and bad input is one line."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.plan import rates
from specsim.commands.plan.handoff import lengths_of_rates
from specsim.latency import roofline
from specsim.lengths.blocks import accepted_length_law
from specsim.speed.load.open_loop import OpenLoop, open_loop
from specsim.speed.load.passes import Percentiles, ServedTimes, simulate_arrivals
from specsim.speed.load.rates import harmful_from, largest_within
from specsim.speed.load.request_lengths import LengthLaw, Lengths
from specsim.speed.load.ways import MEASURED_HOST, Server, Way, alike, predicted_reading, way_of

WORDS = "plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --overhead 0 --max-gamma 4"
SIZES = "--prompt-tokens 256 --output-tokens 64 --batch-limit 16"
LENGTHS = Lengths(*(LengthLaw(np.array([n]), np.ones(1), "") for n in (256, 64)))


def run(line: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, shlex.split(line), env={"COLUMNS": "80"})
    return found.exit_code, found.output


def ways() -> list[Way]:
    times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    laws = [np.ones(1), *(accepted_length_law(np.full(gamma, 0.7)) for gamma in range(1, 5))]
    host = MEASURED_HOST._replace(drafting_s=0.0)
    reading = predicted_reading(times)
    return [way_of(times, alike(law), Server(), reading, context=256 + 32, host=host) for law in laws]


def queues(limit: int = 16) -> list[OpenLoop]:
    return [open_loop(way, Server(), limit, LENGTHS) for way in ways()]


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    code, shown = run(f"{WORDS} {SIZES} --rate 2,20 --within 0.5 --json")
    assert code == 0, shown
    found: dict[str, Any] = json.loads(shown)
    return found


def test_numbers_are_those_of_the_library(answer: dict[str, Any]) -> None:
    """The server is the one of the closed loop; lengths and limits by the closed form, times by the simulation."""
    served = queues()
    assert answer["schema"] == "specsim/plan-rates/2"
    assert list(answer["stable"].values()) == pytest.approx([queue.stable for queue in served])
    for line, rate in zip(answer["lines"], (2.0, 20.0), strict=True):
        assert line["rate"] == rate
        means = [queue.total_s(rate) for queue in served]
        best = min(range(1, 5), key=lambda g: means[g])
        assert line["gamma"] == line["tried"] == best
        assert (line["plain_s"], line["speculative_s"]) == pytest.approx((means[0], means[best]))
        seen = simulate_arrivals(ways()[best], Server(), rate, 16, LENGTHS, requests=2000)
        assert line["speculative"]["total_s"]["p99"] == pytest.approx(seen.total_s.p99)
        assert line["speculative"]["running"] == pytest.approx(seen.running)
        assert line["speedup"]["value"] == pytest.approx(line["plain"]["total_s"]["mean"] / seen.total_s.mean)
        assert line["speedup"]["low"] < line["speedup"]["value"] < line["speedup"]["high"]
        # Little's law: sequences in the system are those that decode, and prompts that wait or are read.
        assert line["plain"]["running"] < rate * line["plain"]["total_s"]["mean"] * 1.1
    hurts = [harmful_from(served[0], queue) for queue in served[1:]]
    assert answer["hurts"] == hurts[answer["gamma"] - 1]
    assert answer["within"][0] == pytest.approx(largest_within(served[0], 0.5))
    reach = [largest_within(queue, 0.5) for queue in served[1:]]
    assert answer["within"][1] == pytest.approx(max(r for r in reach if r is not None))
    assert answer["none_helps"] == (None if None in hurts else max(h for h in hurts if h is not None))


def test_a_full_server_is_the_closed_loop(answer: dict[str, Any]) -> None:
    """The largest stable rate is what so many clients end in a second: the two loads have one server."""
    words = WORDS.removeprefix("plan ")
    code, shown = run(f"plan {words} --prompt-tokens 256 --output-tokens 64 --concurrency 16 --gamma 3 --json")
    assert code == 0, shown
    (point,) = json.loads(shown)["loop"]
    assert answer["stable"]["0"] * 64 == pytest.approx(point["plain_tokens_per_s"], rel=0.05)
    assert answer["stable"]["3"] * 64 == pytest.approx(point["speculative_tokens_per_s"], rel=0.05)


def test_how_much_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count, as seconds are the machine's: two simulations a rate, and one chain a length beside two of the ends."""
    asked = {"chains": 0, "simulations": 0}

    def chain(way: Way, server: Server, limit: int, lengths: Lengths) -> OpenLoop:
        asked["chains"] += 1
        return open_loop(way, server, limit, lengths)

    def simulated(way: Way, server: Server, rate: float, limit: int, lengths: Lengths, *, requests: int) -> ServedTimes:
        asked["simulations"] += 1
        return simulate_arrivals(way, server, rate, limit, lengths, requests=20)

    monkeypatch.setattr(rates, "open_loop", chain)
    monkeypatch.setattr(rates, "simulate_arrivals", simulated)
    line = "plan 0.7 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --rate 0.5,2,8 --within 3"
    code, shown = run(line)
    assert code == 0, shown
    assert "a mean time within 3 s holds up to: 17.03 a second without drafts, 22.02 a second with them" in shown
    assert asked == {"chains": 17 + 2 * 3, "simulations": 2 * 3}


@pytest.mark.parametrize(
    "words", ["--context 8k", "--prompt-tokens 900+-300", "--unchunked", "--gamma 2", "--prefix-share 0.9"]
)
def test_options_of_the_server_count_at_a_rate(
    words: str, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each changes the largest rate as it should: longer contexts and prompts lower it, a prefix cache raises it."""
    monkeypatch.setattr(rates, "REQUESTS", 20)
    code, shown = run(f"{WORDS} {SIZES} {words} --rate 2 --json")
    assert code == 0, shown
    found = json.loads(shown)["stable"]
    if words.startswith("--gamma"):
        assert list(found) == ["0", "2"]
    elif words.startswith("--prefix"):
        assert found["3"] > 1.05 * answer["stable"]["3"]
    else:
        assert found["3"] < 0.99 * answer["stable"]["3"]


def test_counted_acceptance_widens_the_interval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 50)
    widths = []
    for factor in (1, 100):
        path = tmp_path / f"{factor}.json"
        path.write_text(json.dumps({"drafted": 3, "counts": [4 * factor, 3 * factor, 2 * factor, 6 * factor]}))
        words = WORDS.replace("0.7", f"--histogram {path}").replace("--max-gamma 4", "--gamma 3")
        code, shown = run(f"{words} {SIZES} --rate 2 --json")
        assert code == 0, shown
        speedup = json.loads(shown)["lines"][0]["speedup"]
        widths.append(speedup["high"] - speedup["low"])
    assert widths[0] > 1.5 * widths[1]


def test_lengths_at_rates_in_an_engines_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best length for the sequences that decode in the mean at each rate."""
    monkeypatch.setattr(rates, "REQUESTS", 300)
    words = f"{WORDS} {SIZES} --rate 2,25".replace("plan 0.7", "plan 0.5")
    lines = json.loads(run(f"{words} --json")[1])["lines"]
    sizes = [max(round(line["speculative" if line["gamma"] else "plain"]["running"]), 1) for line in lines]
    result = CliRunner().invoke(app, shlex.split(f"{words} --emit vllm"))
    told = json.loads(result.stdout)
    entries = told["num_speculative_tokens_per_batch_size"]
    assert entries[-1][1] == sizes[-1]
    assert {batch: length for _, batch, length in entries}[sizes[-1]] == lines[-1]["gamma"]
    assert f"predicted for 2, 25 requests a second, at which {sizes[0]}, {sizes[1]} sequences decode" in result.stderr


def test_where_plain_decoding_is_faster_its_sequences_are_the_batch() -> None:
    times = Percentiles(1.0, 1.0, 1.0, 1.0)
    plain, speculative = (ServedTimes(1.0, running, None, None, times, 10) for running in (4.0, 9.0))
    line = rates.Line(2.0, 0, 1, 1.1, None, plain, speculative, 1.0, 2.0)
    slower = rates.Answer("", (line,), {0: 9.0}, 1, 0.0, 0.0, None, None, (), ())
    assert lengths_of_rates(slower).by_batch == ((4, 0),)


def test_the_table_fits_and_the_answer_comes_first() -> None:
    code, shown = run(f"{WORDS} {SIZES} --rate 2,20")
    assert code == 0
    lines = shown.splitlines()
    assert lines[0].startswith("At 2 requests a second a request takes ")
    table = lines[lines.index("") + 1 : lines.index("", 2)]
    assert len(table) == 3 + 2
    assert max(len(line) for line in lines if "  " in line) <= 80
    marked = run(f"{WORDS} {SIZES} --rate 2 --markdown")[1]
    assert marked.count("\n| ") == 3 + 5, "heads, rules, one line, and three"


def test_a_rate_that_one_way_cannot_serve_is_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "REQUESTS", 20)
    code, shown = run(f"{WORDS} --rate 22")
    assert code == 0
    assert "At 22 requests a second only speculation keeps up; " in shown
    assert "\nnever: at this rate the queue grows without end\n" in shown
    assert "\nnever: " not in run(f"{WORDS} --rate 2")[1]


def test_where_no_length_helps_it_is_off() -> None:
    code, shown = run(
        "plan 0.05 --target llama-3.1-8b --draft llama-3.2-1b --hardware h100-sxm --max-gamma 2 --rate 1 --json"
    )
    assert code == 0
    found = json.loads(shown)
    assert found["lines"][0]["gamma"] == 0
    assert found["lines"][0]["tried"] == 1
    assert found["lines"][0]["speedup"]["value"] < 1
    assert found["hurts"] == found["none_helps"] == 0
    assert "speculation with 1 draft hurts at every rate" in found["sentence"]


BAD = [
    ("--rate 0", r"rate[0] is 0; it must be above 0 and below the largest stable rate, "),
    ("--rate 2,-1", r"rate[1] is -1; it must be above 0 and below the largest stable rate, "),
    ("--rate 2,9999", r"rate[1] is 9999; it must be above 0 and below the largest stable rate, "),
    ("--rate fast", "rate[0] is 'fast'"),
    ("--rate 2 --batch 8", "--rate says nothing of --batch; leave out one of them"),
    ("--rate 2 --emit json", "--emit json is a table by batch and context; with --rate give --json or --csv"),
    ("--rate 2 --within 0", "within is 0.0; it must lie in (0, inf)"),
    ("--rate 2 --batch-limit 0", "batch_limit must be at least 1, got 0"),
    ("--rate 2 --output-tokens 99999", "output_tokens is 99999; it must be at most 16384"),
    ("--prompt-tokens 64", "--prompt-tokens goes with --concurrency or --rate"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[words for words, _ in BAD])
def test_bad_input_is_one_line(words: str, message: str) -> None:
    code, shown = run(f"{WORDS} {words}")
    assert code == 2
    assert message in shown
    assert len(shown.splitlines()) == 1
    if "largest stable" in message:
        assert "24.29 requests a second, with 2 drafts a block (plain decoding: 19.6)" in shown


def test_rates_need_seconds() -> None:
    code, shown = run("plan 0.7 --cost-ratio 0.1 --rate 2")
    assert code == 2
    assert "give --target, --draft and --hardware, or --costs, not --cost-ratio" in shown
