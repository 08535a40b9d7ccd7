"""`train-drafters`, and the systems that its weights are for: mechanics, with two steps of training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import real.cli
from real.decode.given_text import Along
from real.draft import _weights, heads
from real.papers.lab import drafter_training, drafters, finished, offsets, records
from real.papers.lab.contract import Lab, Record, checked
from real.papers.lab.rollouts import Rollouts
from real.papers.lab.writing import pair
from real.papers.systems import kangaroo
from real.studies.intervals import Estimate
from specsim.control import row_signals

NAMES = ("exit_1", "heads", "trigram", "feature")


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two steps on texts of 16 tokens; weights and texts in folders of their own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(_weights, "WEIGHTS", tmp_path)
    monkeypatch.setattr(drafter_training, "VALIDATED", 1)
    for name, maker in drafters.makers().items():
        few = {"steps": 2, "batch": 2, "share": 0.0125, "starts": 4}
        monkeypatch.setitem(maker.RECIPES, name, maker.RECIPES[name] | few)
    return tmp_path


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["train-drafters", *map(str, words)])


def test_what_is_shipped_is_what_recipes_make() -> None:
    """Every drafter has its weights, made by the recipe in its file; nothing else lies there; all of it is small."""
    known = drafters.makers()
    assert set(NAMES) <= known.keys()
    files = {path.relative_to(_weights.WEIGHTS).with_suffix("").as_posix(): path.stat().st_size
             for path in _weights.WEIGHTS.rglob("*.safetensors")}  # fmt: skip
    assert files.keys() == known.keys()
    for name, maker in known.items():
        assert maker.shipped(name) is not None
    large = sum(size for name, size in files.items() if name.startswith("smollm2/"))
    assert (large < 10_000_000, sum(files.values()) - large < 6_000_000) == (True, True)


def test_training_makes_weights_that_draft(small: Path) -> None:
    ended = run(*NAMES, "--work", small / "work", "--json")
    assert ended.exit_code == 0, ended.output
    made = json.loads(ended.stdout)["drafters"]
    assert [one["name"] for one in made] == list(NAMES)
    assert all(len(one["kept"]) == 4 and 0 < min(one["kept"]) <= max(one["kept"]) < 1 for one in made)
    assert sorted(path.stem for path in small.glob("*.safetensors")) == sorted(NAMES)
    assert not list((small / "work").glob("*.checkpoint"))
    first = _weights.path_of("heads").read_bytes()
    assert run("heads", "--work", small / "work").exit_code == 0
    assert _weights.path_of("heads").read_bytes() == first, "the same recipe makes the same weights"


def test_ctrl_c_keeps_what_is_saved(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*told: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(heads, "lesson", stopped)
    ended = run("exit_1", "heads", "--work", small / "work")
    assert (ended.exit_code, "exit_1" in ended.stdout) == (130, True)
    assert "interrupted: 1 of 2 drafters are saved; the same command carries on" in ended.stderr
    assert [path.stem for path in small.glob("*.safetensors")] == ["exit_1"]


def test_a_run_that_goes_on_trains_no_finished_drafter_anew(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only until it comes to its end: the same command then trains all of them again."""
    calls: list[str] = []
    honest, lesson = drafters._trained_row, heads.lesson
    monkeypatch.setattr(drafters, "_trained_row", lambda name, *told: (calls.append(name), honest(name, *told))[1])

    def stopped(*told: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(heads, "lesson", stopped)
    assert run("exit_1", "heads", "--work", small / "work").exit_code == 130
    monkeypatch.setattr(heads, "lesson", lesson)
    again = run("exit_1", "heads", "--work", small / "work", "--json")
    assert [one["name"] for one in json.loads(again.stdout)["drafters"]] == ["exit_1", "heads"]
    assert calls == ["exit_1", "heads", "heads"]
    assert run("exit_1", "--work", small / "work").exit_code == 0
    assert calls[3:] == ["exit_1"]


@pytest.mark.parametrize("change", ["weights", "recipe", "file"])
def test_what_has_changed_since_is_not_finished(change: str, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, calls = finished.Finished(small / "work" / "finished.json", {"heads": heads}), list[str]()

    def make(name: str, said: Any) -> dict[str, Any]:
        calls.append(name)
        _weights.path_of(name).write_bytes(b"weights")
        return {"name": name}

    for _ in range(2):
        assert done.after(make)("heads", calls.append) == {"name": "heads"}
    assert calls == ["heads", "was finished before"]
    if change == "weights":
        _weights.path_of("heads").write_bytes(b"others")
    elif change == "recipe":
        monkeypatch.setitem(heads.RECIPES, "heads", heads.RECIPES["heads"] | {"steps": 3})
    else:
        done.path.write_text("{torn")
    done.after(make)("heads", calls.append)
    assert calls[2:] == ["heads"]


def test_bad_names_are_one_line(small: Path) -> None:
    ended = run("exit_1", "none")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("error: drafter 'none' is unknown; known: exit_0, exit_1, ")
    ended = run("--target", "bundled")
    assert ended.stderr == "error: target 'bundled' is unknown; known: tiny, smollm2\n"
    with pytest.raises(ValueError, match=r"^weights of heads are not there: `specsim-real train-drafters heads` makes"):
        heads.shipped()


def test_weights_of_drafters_are_in_a_record(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kangaroo, "MODELS", ("draft/exit_0", "draft/exit_1"))
    with pytest.raises(ValueError, match=r"^weights of draft/exit_0 are not there: .*train-drafters exit_0"):
        records.weights(kangaroo)
    for name in kangaroo.EXITS["tiny"]:
        _weights.path_of(name).write_bytes(name.encode())
    found = records.weights(kangaroo)
    assert set(found) == set(kangaroo.MODELS)
    assert len(set(found.values())) == 2
    monkeypatch.setattr(kangaroo, "MODELS", ("elsewhere/exit_0",))
    with pytest.raises(ValueError, match=r"^MODELS has 'elsewhere/exit_0'"):
        records.weights(kangaroo)


def test_kept_by_offset() -> None:
    """In blocks of one text whose second half is drafted for certain, and that are compared with themselves."""
    p = np.full(4, 0.5)
    poor, rich = (Along(np.array([[a, b]] * 3 + [[a, 0.0]]), p) for a, b in ((0.25, 0.125), (0.5, 1.0)))
    total, count = offsets.hazard_sums([poor, rich])
    assert (total.sum(0) / count.sum(0)).tolist() == [0.75, 0.625]


def test_kangaroo_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kangaroo, "ETAS", (0.2, 0.9))
    found = checked(kangaroo.run(Lab(share=0.01)), kangaroo.HEADLINE)
    loop = f"T = 0{kangaroo.LOOP}"
    assert 1 <= found.measured[f"tokens a block with eta, {loop}"].value <= kangaroo.MOST + 1
    # A last block with room for one token has no draft.
    assert 0 < found.measured[f"drafts a block with eta, {loop}"].value <= kangaroo.MOST
    assert kangaroo.TESTED_GAIN in found.measured
    assert found.exact["best eta, T = 0"] in (0.2, 0.9)
    assert kangaroo.verdict(found) in ("shows", "does not show", "contradicts")


def test_costs_of_kangaroo() -> None:
    """By hand: 6 layers of 803,328 weights each and a head of 524,288; a fixed block costs what `early_exit` says."""
    from specsim import early_exit

    cost = kangaroo.cost_of("tiny")
    layer = 4 * 256**2 + 3 * 256 * 704 + 2 * 256
    whole, block = 6 * layer + 2048 * 256, 4 * 256**2 + 512
    assert (cost.shared["exit_0"], cost.shared["exit_1"]) == (0, pytest.approx(layer / whole))
    assert cost.more["exit_1"] == pytest.approx((block + 2048 * 256) / whole)
    hazards = [0.4, 0.2, 0.25]  # 1 + 0.4 + 0.08 + 0.02 = 1.5 tokens a block
    speed = 1.5 / cost.of_cycle("exit_1")[3]
    assert speed == pytest.approx(float(early_exit(hazards, shared=layer / whole, adapter=cost.more["exit_1"]).speedup))
    medusa = 4 * (256**2 + 256 * 2048)
    assert kangaroo.saved(pair().target, "exit_1") == pytest.approx(1 - block / medusa)


def test_the_best_exit_reads_least_for_its_tokens() -> None:
    """The cheaper of two equally good exits is chosen, and the better of two that cost the same, with its length."""
    rows = np.random.default_rng(0).dirichlet(np.ones(5), (4, 3, kangaroo.MOST))
    where = np.broadcast_to(np.arange(1, kangaroo.MOST + 1), rows.shape[:-1])
    signals = row_signals(rows, rows.argmax(-1), where)
    poor, rich = (Rollouts(np.full((4, 3, kangaroo.MOST), a), signals, np.arange(4), np.ones(4)) for a in (0.3, 0.9))
    settings = [kangaroo.Setting("static", {"gamma": most}, most) for most in range(1, kangaroo.MOST + 1)]
    cost = kangaroo.Cost({"a": 0.1, "b": 0.1}, {"a": 0.1, "b": 0.1})
    assert kangaroo.best({"a": poor, "b": rich}, cost, settings) == ("b", settings[5])
    cost = kangaroo.Cost({"a": 0.1, "b": 0.3}, {"a": 0.1, "b": 0.1})
    assert kangaroo.best({"a": poor, "b": poor}, cost, settings) == ("a", settings[0])


A, B, C = Estimate(2.0, 1.5, 2.5), Estimate(1.0, -0.5, 1.5), Estimate(-1.0, -1.5, -0.5)


@pytest.mark.parametrize(
    ("speed", "gain", "fewer", "verdict"),
    [
        (A, A, 0.9, "shows"),
        (A, A, 0.88, "does not show"),
        (A, A, -0.1, "contradicts"),
        (A, B, 0.9, "does not show"),
        (B, A, 0.9, "does not show"),
        (C, A, 0.9, "contradicts"),
        (A, C, 0.9, "contradicts"),
    ],
)
def test_verdicts_of_kangaroo(speed: Estimate, gain: Estimate, fewer: float, verdict: str) -> None:
    measured = {kangaroo.HEADLINE: speed, kangaroo.TESTED_GAIN: gain}
    assert kangaroo.verdict(Record({kangaroo.FEWER: fewer}, measured, {})) == verdict
