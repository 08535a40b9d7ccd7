"""Forced acceptance: its law is exact, its loop the real one; calibration adds up and refuses what it cannot do."""

from __future__ import annotations

import dataclasses
import itertools
import json
from fractions import Fraction as F
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers.tiny_models import tiny_llama
from typer.testing import CliRunner

import real.cli
from real.decode.clock import PHASES
from real.decode.loop import Loop, decode_batch, keyed
from real.decode.options import DecodeOptions
from real.decode.warp import Warping
from real.models.model import LanguageModel, from_hf
from real.studies.calibrate import calibrate, copy_bandwidth, read_bandwidth
from real.studies.costs import Costs, costs_of
from real.studies.forced import report as forced_report
from real.studies.forced.measure import Forced, Timing, even, measure
from specsim import accepted_length_law, block_efficiency
from specsim.forking import rational
from specsim.verify.chain import tokenwise


def models(vocab: int = 8) -> tuple[LanguageModel, LanguageModel]:
    target, draft = (from_hf(tiny_llama(vocab, seed=s, context=512)) for s in (0, 1))
    return target, draft


@pytest.mark.parametrize("alpha", [(F(1, 2),), (F(1, 2), F(1, 3), F(1)), (F(0), F(1, 5))])
def test_forced_law_is_exact(alpha: tuple[F, ...]) -> None:
    """Forked: the number kept has the law asked for, whatever target and draft say."""
    gamma, half = len(alpha), [F(1, 2), F(1, 2)]
    p, q = np.array([[half] * (gamma + 1)], dtype=object), np.array([[half] * gamma], dtype=object)
    rule = Forced(alpha)

    def program(fork: rational.Fork) -> int:
        u = fork.uniforms(1, rule.uniforms(gamma))
        return int(rule.verify(rule.prepare(p, q), np.zeros((1, gamma), dtype=np.int64), u)[0][0])

    law = rational.law(program)
    expected = accepted_length_law(np.array(alpha, dtype=object)).tolist()
    assert [law.get(n, F(0)) for n in range(gamma + 1)] == expected


def test_even_uniforms_meet_the_law_quickly() -> None:
    """200 blocks give tau to 1 %; independent uniforms would be off by 4 %."""
    target, draft = models()
    alpha, gamma, batch = (0.8,) * 4, 4, 2
    runs = decode_batch(
        target,
        draft,
        [[1, 2], [3, 4, 5]],
        max_tokens=340,
        gamma=gamma,
        uniforms=[even(i) for i in range(batch)],
        rule=Forced(alpha),
    )
    whole = [b.accepted for run in runs for b in run.blocks if b.drafted == gamma]
    assert len(whole) > 190
    assert np.mean(whole) + 1 == pytest.approx(float(block_efficiency(list(alpha))), rel=0.01)


def test_measure_yields_costs_and_timings() -> None:
    target, draft = models()
    found = list(
        measure(
            target, draft, batch=2, context=40, alpha=[0.7] * 4, gammas=[1, 4], calibrated=[1, 2], turns=3, cycles=4
        )
    )
    assert [type(x) for x in found] == [Costs, Timing, Timing]
    costs = found[0]
    assert isinstance(costs, Costs)
    assert costs.gammas == [0, 1, 2]
    for k, timing in enumerate(found[1:]):
        assert isinstance(timing, Timing)
        assert timing.gamma == (1, 4)[k]
        assert timing.cycles == 2 * 4 * 4  # texts x turns, warm-up included, x blocks
        assert timing.tau_measured == pytest.approx(timing.tau_predicted, rel=0.15)
        assert timing.cycle_s_predicted == costs.cycle(timing.gamma)
        assert 0 < timing.speedup_measured < timing.gamma + 1.5


def test_phases_add_up_and_lines_extend() -> None:
    costs = Costs(
        [0, 1, 2, 3],
        *([0.0, 1.0, 2.0, 3.0],) * 2,
        [10.0, 11.0, 11.5, 12.0],
        *([1.0] * 4,) * 2,
        [12.0, 15.0, 17.5, 20.0],
        [0.0] * 4,
    )
    assert costs.cycle(2) == 17.5
    assert costs.phase("verify", 8) == pytest.approx(14.5)  # 11 + 0.5 (8 - 1): the step from 0 to 1 bends no line
    assert costs.cycle(8) == pytest.approx(8 + 8 + 14.5 + 2)
    falls = dataclasses.replace(costs, verify_s=[10.0, 14.0, 11.0, 11.5])
    assert falls.phase("verify", 2) == 11.0  # measured: as it is
    assert falls.phase("verify", 8) == 11.5  # beyond: the median, not a line downwards
    one = Costs([0, 2], [0.0, 4.0], [0.0, 2.0], [9.0, 9.5], [1.0, 1.0], [1.0, 1.0], [11.0, 17.5], [0.0, 0.0])
    assert one.cycle(4) == pytest.approx(8 + 4 + 9.5 + 2)


def test_one_estimator_for_what_is_timed_and_what_is_extrapolated() -> None:
    """Under load each block loses a second in a phase at random: no median of a phase sees it, every cycle does."""
    rng, visits = np.random.default_rng(0), {}
    for gamma in range(7):
        quiet = np.array([1.0 * gamma, 0.1 * gamma, 10.0, 1.0, 1.0])
        delayed = [quiet + np.eye(5)[rng.integers(5)] for _ in range(200)]
        visits[gamma] = [[block.tolist() for block in delayed[i : i + 4]] for i in range(0, 200, 4)]
        old = sum(np.median(np.array(delayed), axis=0))
        assert old == pytest.approx(quiet.sum())  # what the sum of medians says: a second too few
    every, few = costs_of(visits), costs_of({g: visits[g] for g in (0, 1, 2, 3)})
    for gamma in range(7):
        assert every.cycle(gamma) == pytest.approx(13 + 1.1 * gamma, rel=1e-12)
        assert few.cycle(gamma) == pytest.approx(13 + 1.1 * gamma, rel=0.02)  # phases are means: their noise remains
    for k in range(4):
        assert sum(getattr(few, f"{name}_s")[k] for name in PHASES) == pytest.approx(few.cycle_s[k], rel=1e-12)
    assert costs_of({0: [[[1.0, 0, 0, 0, 0]] * 3, [[3.0, 0, 0, 0, 0]] * 3]}).cycle_s == [2.0]  # over visits, not blocks


def test_calibration_takes_its_blocks_back(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))  # a second a look: the machine plays no part
    target, draft = models()
    texts = [[1, 2, 3, 4], [5, 6, 7]]
    costs = calibrate(target, draft, texts, warping=Warping(), rule=tokenwise, gammas=[2, 1], repeats=3)
    assert texts == [[1, 2, 3, 4], [5, 6, 7]]
    assert costs.gammas == [0, 1, 2]
    assert all(c > 0 for c in costs.cycle_s)
    assert costs.draft_s[0] == costs.sample_s[0] == 0
    for k in range(3):
        assert sum(getattr(costs, f"{name}_s")[k] for name in PHASES) == costs.cycle_s[k]


def assert_a_rewound_loop_repeats_its_rows() -> None:
    """Not the tokens alone, which differ little: every number that the rule is told, for texts of two lengths."""
    told: list[np.ndarray] = []

    def prepare(p: Any, q: Any) -> Any:
        told.append(np.concatenate([np.asarray(w).ravel() for w in (p, q)]))
        return tokenwise.prepare(p, q)

    rule: Any = SimpleNamespace(prepare=prepare, uniforms=tokenwise.uniforms, verify=tokenwise.verify)
    uniforms, options = [keyed(0, 0), keyed(0, 1)], DecodeOptions(3, rule=rule)
    prompts = [[1, 2, 3], [4, 5, 6, 7, 1]]
    loop = Loop(*models(), prompts, 9, uniforms, options)
    first = loop.block([0, 1], 3)
    for i, new in enumerate(first):
        loop.keep(i, new, 3, lambda text, safe: None)
        del loop.texts[i][len(prompts[i]) :]
    loop.rewind([3, 5])
    assert loop.block([0, 1], 3) == first
    assert np.abs(told[0] - told[1]).max() < 1e-5


def test_rewound_loops_repeat_their_block() -> None:
    assert_a_rewound_loop_repeats_its_rows()


@pytest.mark.parametrize("off", [-1, 1])
def test_a_loop_rewound_to_another_length_is_caught(off: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def rewind(loop: Loop, lengths: list[int]) -> None:
        for i, length in enumerate(lengths):
            loop._cycle.rollback(i, length - 1 + off)

    monkeypatch.setattr(Loop, "rewind", rewind)
    with pytest.raises(AssertionError):
        assert_a_rewound_loop_repeats_its_rows()


def test_bandwidths_count_bytes() -> None:
    for measure_one in (copy_bandwidth, read_bandwidth):
        assert 1e8 < measure_one(torch.device("cpu"), size=1 << 22, repeats=3) < 1e13


def test_bandwidths_on_a_clock_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call takes two seconds: a copy of 64 bytes moves 128 in them, a sum reads 64."""

    def ticking(clock: Any, phase: str) -> None:
        clock.seconds[phase] = 2.0 if phase else 0.0

    monkeypatch.setattr("real.decode.clock.Clock.mark", ticking)
    assert copy_bandwidth(torch.device("cpu"), size=64) == 64
    assert read_bandwidth(torch.device("cpu"), size=64) == 32


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": [1.2]}, "alpha"),
        ({"alpha": [0.5]}, "alpha has 1 entries; gamma 2 needs as many"),
        ({"context": 500}, "context 500: texts may grow to .* positions, the models hold 512"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"batch": 40}, "context 40 must be more than batch 40: texts of a batch differ in length"),
        ({"calibrated": []}, "gammas is empty"),
    ],
)
def test_bad_values(changes: dict[str, Any], message: str) -> None:
    target, draft = models()
    arguments = {"batch": 1, "context": 40, "alpha": [0.5] * 2, "gammas": [2], "calibrated": [1], **changes}
    with pytest.raises(ValueError, match=message):
        list(measure(target, draft, **arguments))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["nothing"], "shape 'nothing' is unknown; known: llama-3.1-8b"),
        (["tiny", "tiny", "--context", "24,5000"], "context 5000: texts may grow to"),
        (["tiny", "tiny", "--alpha", "1.5", "--context", "24"], "alpha"),
        (["tiny", "tiny", "--batch", "0"], "batch must be at least 1, got 0"),
        (["tiny", "tiny", "--device", "meta"], "device 'meta' cannot be used"),
    ],
)
def test_command_refuses_before_any_work(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(real.cli.app, ["forced", *options])
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert list(tmp_path.iterdir()) == []


def test_command_records_and_shows(tmp_path: Path) -> None:
    out = tmp_path / "forced.json"
    options = ["forced", "tiny", "tiny", "--batch", "1,2", "--context", "24", "--gamma", "1-3", "--calibrate", "1,2"]
    result = CliRunner().invoke(real.cli.app, [*options, "--turns", "2", "--dtype", "float32", "--out", str(out)])
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text())
    assert record["schema"] == forced_report.SCHEMA
    assert record["complete"] is True
    assert [(r["batch"], r["context"], len(r["rows"])) for r in record["runs"]] == [(1, 24, 3), (2, 24, 3)]
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    text = forced_report.markdown(record, "plot.png")
    assert text.count("\n| ") >= 3
    assert forced_report.summary(record) in text
    errors = [abs(row["speedup"]["error"]) for run in record["runs"] for row in run["rows"]]
    assert f"median error of the predicted speedup {np.median(errors):.1%}, " in text
    beyond = [abs(run["rows"][2]["speedup"]["error"]) for run in record["runs"]]
    assert f"{np.median(beyond):.1%} over the lengths not calibrated" in text
    assert forced_report.markdown({**record, "runs": []}, "plot.png") == "No setting was finished."
