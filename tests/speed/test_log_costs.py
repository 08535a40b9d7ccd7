"""Plans from an engine's own logs: the measured speedup where it ran, bounds and lines between, refusals elsewhere."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from helpers.planning import as_json, run
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.latency import Timing
from specsim.logs.record import EngineLog

OFF = EngineLog("own", "off.csv", False, batch=1.0, token=Timing(0.010, 0.0001))
ON = EngineLog(
    "own", "on.csv", True, batch=1.0, length=4.0, blocks=1000, drafted=4000, accepted=2100, kept=(800, 600, 450, 250),
    token=Timing(0.006, 0.0001),
)  # fmt: skip
SHORT = ON._replace(
    source="short.csv", length=2.0, drafted=2000, accepted=1400, kept=(800, 600), token=Timing(0.005, 0.0001)
)


def test_at_a_length_that_ran_the_plan_has_the_measured_speedup() -> None:
    costs = specsim.log_costs([OFF], [ON])
    prediction = specsim.predict(costs.latency, costs.acceptance[1], gamma=4)
    assert prediction.speedup.value == pytest.approx(0.010 / 0.006)
    assert prediction.tau.value == pytest.approx(3.1)
    # The error is of both times, and of tau as well.
    of_times = (0.0001 / 0.010) ** 2 + (0.0001 / 0.006) ** 2
    assert prediction.variance_time == pytest.approx(of_times)
    assert (costs.batches, costs.lengths) == ((1,), (4,))


def test_a_shorter_block_takes_the_time_of_the_shortest_that_ran() -> None:
    """The most that it can take: so a shorter block is never chosen for a time that nobody measured."""
    costs = specsim.log_costs([OFF], [ON])
    assert [costs.latency.target(tokens, 1, 0).value for tokens in (2, 3, 4, 5)] == pytest.approx([3.1 * 0.006] * 4)
    best = specsim.plan(costs.latency, costs.acceptance[1], max_gamma=4)[0]
    assert best.gamma == 4
    with pytest.raises(ValueError, match=r"tokens 6 was not measured: on.csv has tokens 1, 5"):
        costs.latency.target(6, 1, 0)


def test_between_two_lengths_times_lie_on_a_line_and_each_has_its_own_tau() -> None:
    costs = specsim.log_costs([OFF], [ON, SHORT])
    cycles = [costs.latency.target(tokens, 1, 0).value for tokens in (3, 4, 5)]
    assert cycles == pytest.approx([2.4 * 0.005, (2.4 * 0.005 + 3.1 * 0.006) / 2, 3.1 * 0.006])
    acceptance = costs.acceptance[1]
    assert [acceptance.tau(gamma).value for gamma in (0, 1, 2, 3, 4)] == pytest.approx([1, 1.8, 2.4, 2.85, 3.1])
    assert "between runs of 2, 4 drafts the times of cycles lie on lines" in costs.latency.assumptions


def test_each_batch_has_its_own_times_and_acceptance() -> None:
    off8 = OFF._replace(batch=8.2, token=Timing(0.012, 0.0001))
    on8 = ON._replace(batch=8.0, accepted=1000, kept=(500, 300, 150, 50), token=Timing(0.013, 0.0001))
    costs = specsim.log_costs([OFF, off8], [ON, on8])
    assert costs.batches == (1, 8)
    predictions = [specsim.predict(costs.latency, costs.acceptance[b], gamma=4, batch=b) for b in (1, 8)]
    assert [p.speedup.value for p in predictions] == pytest.approx([0.010 / 0.006, 0.012 / 0.013])
    # A batch of one kind alone is left out, and said.
    costs = specsim.log_costs([OFF], [ON, on8])
    assert costs.batches == (1,)
    assert "on.csv: batch 8 left out, for no log without speculation is of it" in costs.notes
    # So is one at which the engine drafted nothing.
    idle = on8._replace(length=0.0, blocks=None, drafted=0, accepted=0, kept=())
    assert "on.csv drafted nothing at batch 8: left out" in specsim.log_costs([OFF, off8], [ON, idle]).notes


def test_a_timed_cycle_stands_in_where_no_token_is_timed() -> None:
    costs = specsim.log_costs([OFF], [ON._replace(token=None, cycle=Timing(0.02, 0.001))])
    assert costs.latency.target(5, 1, 0) == (0.02, 0.001)


REFUSED = [
    (ON._replace(coverage=None), "does not say in how many steps there was a draft"),
    (ON._replace(coverage=0.4), "40 % of the steps had a draft"),
    (ON._replace(length=None), "on.csv: it does not say how many drafts a block has; give --gamma"),
    (ON._replace(length=3.5), "3.50 drafts a block in the mean; a plan needs blocks of one length"),
    (ON._replace(verified=9.0), "verifies 9 tokens with 4 draft steps, a tree"),
    (ON._replace(accepted=None, kept=()), "does not say how many tokens a target call emits"),
    (ON._replace(token=Timing(0.001, 1e-6)), "on.csv is 10.00 times as fast, which cannot be"),
    (ON._replace(cycle=Timing(0.1, 0.001)), "which cannot be: a cycle of 100 ms that emits 3.10 tokens"),
    (ON._replace(batch=8.0), "the logs are of batches 1 off and 8 on; expected one batch in both"),
    (ON._replace(token=None), "has no time per token or cycle"),
    (ON._replace(engine="vLLM"), "expected one engine"),
]


@pytest.mark.parametrize(("on", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_a_log_cannot_say_is_refused(on: EngineLog, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        specsim.log_costs([OFF], [on])


def test_lengths_that_ran_at_some_batches_only_are_refused() -> None:
    off8 = OFF._replace(batch=8.0)
    with pytest.raises(ValueError, match="a run with 2 drafts is of batch 8, and none of batch 1; give logs of the sa"):
        specsim.log_costs([OFF, off8], [ON, ON._replace(batch=8.0), SHORT._replace(batch=8.0)])


def vllm(folder: Path, name: str, rates: list[tuple[int, float]], drafts: bool) -> Path:
    """A log of vLLM: throughput by running requests, and with drafts 100 blocks of 3 an interval."""
    lines = []
    for k, (running, rate) in enumerate(rates):
        stamp = f"INFO 05-01 12:{k // 6:02d}:{10 * (k % 6):02d} [loggers.py:123]"
        throughput = f"Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {rate} tokens/s"
        lines.append(f"{stamp} Engine 000: {throughput}, Running: {running} reqs, Waiting: 0 reqs")
        if drafts:
            blocks = round(10 * rate / 2.8)
            kept = [round(blocks * share) for share in (0.8, 0.6, 0.4)]
            shares = ", ".join(f"{count / blocks:.3f}" for count in kept)
            lines.append(
                f"{stamp} SpecDecoding metrics: Mean acceptance length: {1 + sum(kept) / blocks:.2f}, Accepted "
                f"throughput: {sum(kept) / 10:.2f} tokens/s, Drafted throughput: {3 * blocks / 10:.2f} tokens/s, "
                f"Accepted: {sum(kept)} tokens, Drafted: {3 * blocks} tokens, Per-position acceptance rate: {shares}, "
                f"Avg Draft acceptance rate: {100 * sum(kept) / blocks / 3:.1f}%"
            )
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_command_plans_each_batch_of_an_engines_log(tmp_path: Path) -> None:
    off = vllm(tmp_path, "off.log", [(1, 100.0)] * 4 + [(8, 640.0)] * 4, drafts=False)
    on = vllm(tmp_path, "on.log", [(1, 160.0)] * 4 + [(8, 560.0)] * 4, drafts=True)
    words = f"--log {off} --log {on} --drafted-share 1"
    answer = as_json(words)
    assert [(p["batch"], p["context"], p["gamma"]) for p in answer["points"]] == [(1, None, 3), (8, None, 0)]
    assert answer["points"][0]["speedup"]["value"] == pytest.approx(1.6, rel=0.01)
    assert answer["doubts"][0]["assumption"] in ("the time of a cycle", "the acceptance", "other work")
    text = run(words)
    assert "all of a cycle stands in the pass that verifies" in text
    assert "verifying 4 tokens costs" not in text
    assert "the draft's speed" not in text
    assert run(f"{words} --batch 1").count("unknown") >= 2
    assert "batch 4 is of no pair of logs, which have 1, 8" in run(f"{words} --batch 4", 2)
    assert "--emit takes one acceptance, and the logs have another at each batch" in run(f"{words} --emit csv", 2)


def test_an_engine_is_told_the_length_of_a_batch_that_ran(tmp_path: Path) -> None:
    """Batches below it were not measured; what drafts, and the contexts, logs do not say."""
    off = vllm(tmp_path, "off.log", [(8, 640.0)] * 4, drafts=False)
    on = vllm(tmp_path, "on.log", [(8, 960.0)] * 4, drafts=True)
    words = f"--log {off} --log {on} --drafted-share 1"
    (point,) = as_json(words)["points"]
    assert (point["batch"], point["gamma"]) == (8, 3)
    ended = CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --emit sglang")])
    assert "--speculative-num-steps 3 " in ended.stdout
    assert "no --draft says what drafts: this is for a draft model" in ended.stderr
    forced = CliRunner().invoke(app, ["plan", *shlex.split(f"{words} --emit tensorrt-llm-synthetic")])
    assert "no --draft says" not in forced.stderr
    assert "batch 1 was not measured" in run(f"{words} --emit vllm", 2)
    assert "the times of --log do not say their context: give --costs" in run(f"{words} --emit csv", 2)


def test_plain_steps_alone_need_what_they_do_not_say(tmp_path: Path) -> None:
    off = vllm(tmp_path, "off.log", [(1, 100.0)] * 4, drafts=False)
    assert "says nothing of drafting and verifying: give a log with speculation" in run(f"0.8 --log {off}", 2)
    (point,) = as_json(f"0.8 --log {off} --cost-ratio 0.1 --verify-cost 1,1.1,1.2 --overhead 0")["points"]
    assert (point["gamma"], point["plain"]) == (2, pytest.approx(0.010))
    assert point["cycle"]["value"] == pytest.approx(0.010 * 1.4)
    assert "verify_cost[0] is 2; t(1)" in run(f"0.8 --log {off} --cost-ratio 0.1 --verify-cost 2,3", 2)


BAD = [
    ("--log {on}", "on.log: no run without speculation; a plan needs its time: give --log OFF --log ON"),
    ("0.8 --log {off} --log {on} --cost-ratio 0.1", "leave out ALPHA, --cost-ratio"),
    ("--log {off} --log {on} --drafted-share 0.5", "--drafted-share below 1 says that some steps had no draft"),
    ("--log {off} --log {on} --drafted-share 1 --max-gamma 8", "--max-gamma is 8, and the logs ran 3 drafts at most"),
    ("--log {off} --log {on} --drafted-share 1 --context 1k", "logs do not say the contexts of their requests"),
    ("--log {off} --log {on} --rate 2", "give logs of batch 64, too, or give --batch-limit 1"),
    ("--log {off} --costs p.csv", "--log and --costs both say what passes cost"),
    ("--log gone.log", "gone.log cannot be read: No such file or directory"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[words for words, _ in BAD])
def test_what_does_not_go_with_logs_is_refused(tmp_path: Path, words: str, message: str) -> None:
    off = vllm(tmp_path, "off.log", [(1, 100.0)] * 4, drafts=False)
    on = vllm(tmp_path, "on.log", [(1, 160.0)] * 4, drafts=True)
    assert message in run(words.format(off=off, on=on), 2)
