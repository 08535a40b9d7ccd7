"""Acceptance that `specsim plan` reads from files: hazards, rates, counts, histograms, rows."""

from __future__ import annotations

import json
from itertools import accumulate
from operator import mul
from pathlib import Path

import numpy as np
import pytest
from helpers.planning import COUNTS, PAIR, TIMES, as_json, texts, written
from safetensors.numpy import save_file

import specsim
from specsim.commands.plan import read
from specsim.lengths.blocks import text_survival
from specsim.lengths.hazard_files import read_hazards
from specsim.lengths.hazards import HazardEstimate
from specsim.verify.lookup import chain_rule


def test_hazards_and_histograms(tmp_path: Path) -> None:
    curve = [0.9, 0.7, 0.4]
    exact = written(tmp_path / "a.csv", [{"position": i, "hazard": h} for i, h in enumerate(curve, 1)])
    assert as_json(f"--cost-ratio 0 --hazards {exact}")["points"][0]["tau"]["value"] == pytest.approx(
        float(specsim.block_efficiency(curve))
    )
    log = specsim.estimate_hazards(range(5), 4, counts=COUNTS)
    table = [{"position": i + 1, "tried": log.tried[i], "kept": log.kept[i]} for i in range(4)]
    histogram = tmp_path / "h.json"
    histogram.write_text(json.dumps({"drafted": 4, "counts": COUNTS}))
    ours = specsim.plan(TIMES, log, contexts=[1024])[0]
    for words in (f"--histogram {histogram}", f"--hazards {written(tmp_path / 'b.csv', table)}"):
        found = as_json(f"{PAIR} {words}")
        assert found["points"][0]["tau"] == ours.tau._asdict()
        assert found["points"][0]["speedup"] == ours.speedup._asdict()
        assert "counted in" in found["assumptions"][0]
    # Blocks of different lengths: what was cut short at its second draft counts there, and not at the third.
    mixed = specsim.estimate_hazards([0, 1, 2, 2, 3], [3, 2, 2, 3, 3], counts=[5, 4, 3, 2, 1])
    table = [{"position": i + 1, "tried": mixed.tried[i], "kept": mixed.kept[i]} for i in range(3)]
    again = read_hazards(written(tmp_path / "c.csv", table)).at().counted(3)
    for name in ("hazards", "intervals", "tried", "kept"):
        assert getattr(again, name).tolist() == getattr(mixed, name).tolist()
    histogram.write_text(
        json.dumps({"accepted": [0, 1, 2, 2, 3], "drafted": [3, 2, 2, 3, 3], "counts": [5, 4, 3, 2, 1]})
    )
    assert read.read_histogram(histogram).hazards(3) == mixed.hazards.tolist()


def test_rows_with_their_tokens_follow_the_renewal_law(tmp_path: Path) -> None:
    held = texts(np.random.default_rng(1), [300, 500])
    save_file(held, tmp_path / "r.safetensors")
    given = read.read_rows(tmp_path / "r.safetensors").acceptance
    ratio = np.take_along_axis(held["q"] / held["p"], held["tokens"][:, None], 1)[:, 0]
    for gamma in (1, 4):
        parts = [
            specsim.renewal(text_survival(chain_rule("tokenwise").survival, r, gamma)) for r in np.split(ratio, [300])
        ]
        pooled = given.counted(gamma)
        assert isinstance(pooled, HazardEstimate)
        hazards = pooled.hazards
        assert hazards == pytest.approx(sum(r.hazards * r.tried for r in parts) / sum(r.tried for r in parts))
        exact = 800 / sum(r.blocks for r in parts)  # but for the ends of texts, which hazards leave out
        assert float(specsim.block_efficiency(hazards)) == pytest.approx(exact, rel=0.01)
    mean = float(np.minimum(held["p"], held["q"]).sum(axis=1).mean())
    assert mean > given.hazards(1)[0] + 0.02  # blocks start where drafts are poor: the mean over positions misleads
    point = as_json(f"--cost-ratio 0.1 --rows {tmp_path / 'r.safetensors'}")
    best = given.counted(point["points"][0]["gamma"])
    assert isinstance(best, HazardEstimate)
    tau = point["points"][0]["tau"]
    assert tau["value"] == pytest.approx(float(specsim.block_efficiency(best.hazards)))
    assert tau["high"] - tau["value"] == pytest.approx(1.96 * best.tau(point["points"][0]["gamma"])[1], rel=1e-3)
    assert point["assumptions"][0].endswith("an independent sample of texts; so few that the error is uncertain")
    one = {name: value for name, value in held.items() if name != "lengths"}
    save_file(one, tmp_path / "one.safetensors")
    alone = as_json(f"--cost-ratio 0.1 --rows {tmp_path / 'one.safetensors'}")
    assert alone["points"][0]["tau"]["low"] == alone["points"][0]["tau"]["value"]
    assert alone["assumptions"][0].endswith("of one text, so its error is not known")
    del held["tokens"], held["lengths"]
    save_file(held, tmp_path / "r.safetensors")
    assert read.read_rows(tmp_path / "r.safetensors").acceptance.hazards(1) == [pytest.approx(mean)]


def test_the_case_of_a_head_does_not_matter(tmp_path: Path) -> None:
    for head in ("Position,Hazard", "POSITION, hazard ", "position,hazard"):
        (tmp_path / "h.csv").write_text(f"{head}\n1,0.5\n2,0.25\n")
        assert read_hazards(tmp_path / "h.csv").at().hazards(2) == [0.5, 0.25]


def test_rates_are_not_hazards(tmp_path: Path) -> None:
    """The same numbers under three names: what an engine prints by position is no hazard, and counts have errors."""
    hazards = [0.8, 0.75, 0.7, 0.7, 0.7]
    rates = list(accumulate(hazards, mul))
    paths = {
        name: written(tmp_path / f"{name}.csv", [{"position": i, name: v} for i, v in enumerate(values, first)])
        for name, values, first in (("hazard", hazards, 1), ("rate", rates, 1))
    }
    exact, same = (as_json(f"--cost-ratio 0.1 --hazards {path}") for path in paths.values())
    assert same["points"][0]["tau"] == pytest.approx(exact["points"][0]["tau"])
    assert same["points"][0]["gamma"] == exact["points"][0]["gamma"]
    mistaken = written(tmp_path / "m.csv", [{"position": i, "hazard": v} for i, v in enumerate(rates, 1)])
    assert as_json(f"--cost-ratio 0.1 --hazards {mistaken}")["points"][0]["gamma"] < exact["points"][0]["gamma"]
    counts = [1000, 800, 600, 420]
    log = specsim.estimate_hazards(range(4), 3, counts=[200, 200, 180, 420])
    path = written(tmp_path / "c.csv", [{"position": i, "count": v} for i, v in enumerate(counts)])
    assert read_hazards(path).at().hazards(3) == log.hazards.tolist()
    assert read_hazards(path).at().tau(3) == log.tau(3, wary=True)
