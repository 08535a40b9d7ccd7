"""Several chain rules in one run: same prompts, same uniforms, each predicted from texts alone."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy import stats
from typer.testing import CliRunner

import real.cli
import real.studies.compare.measure
from real.decode.blocks import Score
from real.studies import intervals
from real.studies.compare import rules_report
from real.studies.compare.rows import over_positions
from specsim.base.arrays import pick
from specsim.verify.chain import block, tokenwise

SMALL = ("compare", "tiny", "--count", "3", "--max-tokens", "8", "--gamma", "1-3", "--widen", "0")


def run(out: Path, *arguments: str) -> Any:
    return CliRunner().invoke(real.cli.app, [*arguments, "--out", str(out)])


def found(out: Path, *arguments: str) -> dict[str, Any]:
    result = run(out, *arguments)
    assert result.exit_code == 0, result.output
    return dict(json.loads(out.read_text()))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("chains") / "chains.json"
    found(out, *SMALL, "--rule", "tokenwise,block")
    return out


def test_two_rules_in_one_run(recorded: Path) -> None:
    record = json.loads(recorded.read_text())
    assert (record["schema"], record["complete"]) == ("specsim-chains/1", True)
    assert [one["rule"] for one in record["runs"]] == ["tokenwise", "block"]
    first, second = (one["pairs"] for one in record["runs"])
    assert [row["gamma"] for row in first] == [row["gamma"] for row in second] == [1, 2, 3]
    assert [(gain["rule"], gain["gamma"]) for gain in record["gains"]] == [("block", g) for g in (1, 2, 3)]
    for old, new, gain in zip(first, second, record["gains"], strict=True):
        for how in ("predicted", "measured"):
            assert gain["tau"][how] == pytest.approx(new["tau"][how] / old["tau"][how], rel=1e-12)
            cycles = old["cycle_s"][how] / new["cycle_s"][how]
            assert gain["speed"][how] == pytest.approx(gain["tau"][how] * cycles, rel=1e-12)
    # With one draft the rules are one rule, and the uniforms are the same: the same blocks, prompt by prompt.
    same = record["gains"][0]["tau"]
    assert (same["predicted"], same["measured"], same["difference_interval"]) == (1, 1, [0, 0])
    assert first[0]["blocks_keeping_at_least"]["measured"] == second[0]["blocks_keeping_at_least"]["measured"]
    assert second[2]["tau"]["predicted"] > first[2]["tau"]["predicted"]
    assert recorded.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    shown = CliRunner().invoke(real.cli.app, ["table", str(recorded)]).output
    assert "| block over tokenwise: predicted | measured |" in shown
    assert "temperature 1, no filters; 3 prompts, up to 8 tokens each" in shown


def test_a_rule_is_what_it_is_alone(recorded: Path, tmp_path: Path) -> None:
    """Neither prediction nor counts depend on what else is in the run."""
    both, alone = json.loads(recorded.read_text()), found(tmp_path / "alone.json", *SMALL, "--rule", "block")
    for a, b in zip(both["runs"][1]["pairs"], alone["pairs"], strict=True):
        assert {k: v for k, v in a["tau"].items() if k != "difference_interval"} == {
            k: v for k, v in b["tau"].items() if k != "difference_interval"
        }
        assert a["blocks_keeping_at_least"] == b["blocks_keeping_at_least"]
    both["provenance"]["warping"] |= {"temperature": 0.7, "top_k": 20}
    assert "temperature 0.7, top_k 20;" in rules_report.markdown(both, "plot.png")


def keeps_none() -> Any:
    """A lossless rule that keeps no draft: what is decoded with it must be seen to miss block's prediction."""

    def verify(plan: Any, drafts: Any, u: Any) -> tuple[Any, Any]:
        token = pick(plan.p[..., 0, :], u[..., -1])
        return array_namespace(token).zeros_like(token), token

    return SimpleNamespace(prepare=block.prepare, uniforms=block.uniforms, verify=verify)


def test_a_miss_is_named(recorded: Path) -> None:
    """An interval that leaves out 0, of a rule or of a gain, turns the verdict; one that holds it does not."""
    record = json.loads(recorded.read_text())
    for row in (*(row for one in record["runs"] for row in one["pairs"]), *record["gains"]):
        row["tau"]["difference_interval"] = [-0.1, 0.1]
    assert rules_report.missed(record) == []
    record["runs"][1]["pairs"][1]["tau"]["difference_interval"] = [0.1, 0.2]
    record["gains"][1]["tau"]["difference_interval"] = [-0.2, -0.1]
    assert rules_report.missed(record) == ["block, gamma 2", "gain of block, gamma 2"]
    assert "7 of 9 differences" in rules_report.verdict(record)
    assert "all but block, gamma 2; gain of block, gamma 2" in rules_report.verdict(record)


@pytest.mark.slow
def test_predictions_do_not_see_the_measurement(tmp_path: Path, monkeypatch: Any) -> None:
    """Another decoder behind the name leaves the predictions as they were, and the verdict says that they miss."""
    arguments = (
        "compare",
        "tiny",
        "--count",
        "10",
        "--max-tokens",
        "12",
        "--gamma",
        "2",
        "--widen",
        "0",
        "--rule",
        "tokenwise,block",
    )
    honest = found(tmp_path / "honest.json", *arguments)
    assert rules_report.missed(honest) == []
    decode = real.studies.compare.measure.decode

    def planted(*args: Any, **kwargs: Any) -> Any:
        return decode(*args, **kwargs | ({"rule": keeps_none()} if kwargs["rule"] is block else {}))

    monkeypatch.setattr(real.studies.compare.measure, "decode", planted)
    other = found(tmp_path / "other.json", *arguments)
    assert rules_report.missed(other) == ["block, gamma 2", "gain of block, gamma 2"]
    assert "1 of 3 differences" in rules_report.verdict(other)
    assert "all but block, gamma 2; gain of block, gamma 2" in rules_report.verdict(other)
    for a, b in zip(honest["runs"], other["runs"], strict=True):
        assert a["pairs"][0]["tau"]["predicted"] == b["pairs"][0]["tau"]["predicted"]
    assert other["runs"][1]["pairs"][0]["tau"]["measured"] == 1


def test_interrupted_run_keeps_every_rule(tmp_path: Path, monkeypatch: Any) -> None:
    out, decode, runs = tmp_path / "chains.json", real.studies.compare.measure.decode, []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        runs.append(kwargs["rule"])
        if len(runs) == 3 + 7 + 5:  # three texts, one prompt with plain decoding and six blocks, the second begun
            raise KeyboardInterrupt
        return decode(*args, **kwargs)

    monkeypatch.setattr(real.studies.compare.measure, "decode", interrupted)
    result = run(out, *SMALL, "--rule", "tokenwise,block")
    assert result.exit_code == 130
    assert "interrupted: 1 of 3 prompts kept; the same command carries on" in result.output
    record = json.loads(out.read_text())
    assert [len(one["pairs"]) for one in record["runs"]] == [3, 3]
    assert {row["target_calls"]["tokens"] for one in record["runs"] for row in one["pairs"]} == {8}
    assert "Incomplete: interrupted." in rules_report.markdown(record, "plot.png")
    assert "one prompt: no intervals" in rules_report.verdict(record)
    assert runs[3:10] == [*[block, tokenwise] * 3, tokenwise]  # turn about; the next prompt the other way


@pytest.mark.parametrize("cut", [0, 1])
def test_a_record_cut_off_anywhere_can_be_shown(cut: int, recorded: Path, tmp_path: Path) -> None:
    """A killed run leaves what was last written: fewer rows of the later rules, fewer gains."""
    record = json.loads(recorded.read_text())
    record["complete"], record["gains"] = False, record["gains"][:cut]
    record["runs"][1]["pairs"] = record["runs"][1]["pairs"][:cut]
    lines = rules_report.markdown(record, "plot.png").splitlines()
    assert len({line.count("|") for line in lines[:5]}) == 1
    assert "Incomplete: still running." in "\n".join(lines)
    rules_report.write_plot(tmp_path / "cut.png", record)


def test_a_token_of_probability_0_has_a_ratio() -> None:
    """The target wrote it in another block size; half types round differently there."""
    text = Score(p=np.array([0.5, 0.0, 0.0, 0.4]), q=np.array([0.25, 0.1, 0.0, 0.8]), acceptance=np.ones(4))
    assert text.ratio.tolist() == [0.5, 1, 0, 2]
    for rule in (tokenwise, block):
        assert over_positions([text], rule, 1) == pytest.approx(1 + (0.5 + 1 + 0 + 1) / 4)


def test_student_interval_of_a_mean_is_the_textbook_s() -> None:
    """A ratio of sums with equal denominators is a mean: the jackknife's standard error is s / sqrt(n), exactly."""
    x, ones = np.random.default_rng(0).normal(size=7), np.ones(7)
    found = intervals.jackknife((x, ones), lambda a, b: a / b, level=0.999)
    half = stats.t.ppf(0.9995, 6) * x.std(ddof=1) / math.sqrt(7)
    assert found == pytest.approx((x.mean(), x.mean() - half, x.mean() + half))


def test_few_prompts_keep_the_level() -> None:
    """Six prompts, ratio of counts: at level 95 % at least 93 % of intervals hold it."""
    rng = np.random.default_rng(1)
    blocks = rng.integers(5, 10, (1000, 6))
    tokens = blocks + rng.binomial(blocks, 0.4)
    found = [intervals.ratio(*pair) for pair in zip(tokens, blocks, strict=True)]
    assert sum(one.low <= 1.4 <= one.high for one in found) >= 930


@pytest.mark.slow
def test_measured_tau_of_both_rules_covers_the_prediction(tmp_path: Path) -> None:
    """Every difference within its simultaneous interval; tau is of texts, so no layers are added to take time."""
    record = found(
        tmp_path / "block.json",
        "compare",
        "tiny",
        "--rule",
        "tokenwise,block",
        "--gamma",
        "2,8,16",
        "--count",
        "10",
        "--max-tokens",
        "32",
        "--seed",
        "2",
        "--widen",
        "0",
    )
    assert rules_report.missed(record) == []
