"""A row of each kind of study is what the library says of its inputs."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers import studies

import specsim
from specsim.commands.sweep import work
from specsim.commands.sweep.study import parsed, points

ROOT = Path(__file__).parents[3]


def rows(text: str) -> list[dict[str, Any]]:
    study = parsed(tomllib.loads(text), "study.toml")
    given = list(points(study))
    return [{**one, **found} for one, found in zip(given, work.computed(study.kind.name, given), strict=True)]


def test_plan_rows_are_predictions() -> None:
    for row in rows(studies.PLAN):
        found = specsim.predict(specsim.latency.constant(row["cost_ratio"]), row["alpha"], gamma=row["gamma"])
        assert (row["speedup"], row["tau"]) == (found.speedup.value, found.tau.value)
        assert (row["speedup_low"], row["unit"], row["refused"]) == (found.speedup.low, "target steps", None)


def test_plan_rows_of_models_are_predictions() -> None:
    text = (
        'kind = "plan"\n[grid]\nalpha = 0.8\ngamma = 3\ntarget = "llama-3.1-70b"\ndraft = ["llama-3.2-1b", "ngram"]\n'
    )
    found = rows(text + 'hardware = "h100-sxm"\ntp = 4\nbatch = [1, 64]\ncontext = 2048\noverhead = 1.5\n')
    times = specsim.roofline("llama-3.1-70b", "llama-3.2-1b", "h100-sxm", tensor_parallel=4, overhead_s=1.5e-3)
    for row, batch in zip(found, (1, 64, 1, 64), strict=True):
        one = specsim.predict(times, 0.8, gamma=3, batch=batch, context=2048)
        if row["draft"] == "llama-3.2-1b":
            assert (row["speedup"], row["speedup_low"]) == (one.speedup.value, one.speedup.low)
        else:
            assert (row["draft_time"], row["speedup_low"]) == (0.0, None)
            assert row["cycle_time"] == pytest.approx(one.cycle.value - one.draft)


def test_rows_of_models_that_do_not_fit_are_refused() -> None:
    text = 'gamma = 3\ntarget = "llama-3.1-70b"\ndraft = "llama-3.2-1b"\nhardware = "h100-sxm"\ntp = [1, 4]\n'
    alone, shared = rows(f'kind = "plan"\n[grid]\nalpha = 0.8\n{text}')
    assert "batch 1, context 1024 does not fit: weights and caches take at least 142 GB of 80" in alone["refused"]
    assert (alone.get("speedup"), shared["refused"]) == (None, None)
    tree = text.replace("gamma = 3", 'ranks = "0.7,0.2"\ntree = "2,2"').replace("[1, 4]", "1")
    (one,) = rows(f'kind = "tree"\n[grid]\n{tree}')
    assert "does not fit" in one["refused"]


def test_tree_rows_are_the_planners() -> None:
    best, chain = rows('kind = "tree"\n[grid]\nranks = "0.7,0.2"\ntree = ["best:6", "1,1"]\ncost_ratio = 0.05\n')
    made = specsim.fastest_shapes(specsim.latency.constant(0.05), [0.7, 0.2], nodes=6).tree
    assert best["shape"] == ",".join(str(int(p)) for p in made.parents)
    assert best["speedup"] == pytest.approx(float(made.speedup))
    assert chain["tau"] == pytest.approx(1 + 0.7 + 0.49)
    assert chain["speedup"] == pytest.approx((1 + 0.7 + 0.49) / 1.1)
    (wide,) = rows('kind = "tree"\n[grid]\nranks = "0.7,0.2"\ntree = "2,2"\ncost_ratio = 0.05\n')
    assert (wide["nodes"], wide["levels"]) == (6, 2)
    with pytest.raises(ValueError, match=r"ranks is '0.7,0.4': acceptances sum to 1.1, above 1"):
        rows('kind = "tree"\n[grid]\nranks = "0.7,0.4"\ntree = "2,2"\ncost_ratio = 0.05\n')


def test_acceptance_rows_are_exact() -> None:
    text = 'kind = "acceptance"\n[grid]\ntarget = "law:.5,.3,.2"\ndraft = "law:.1,.3,.6"\nnum_drafts = 2\n'
    found = rows(text + 'rule = ["recursive", "rejection", "kseq"]\n')
    assert found[0]["acceptance"] == pytest.approx(0.64)
    assert found[0]["optimum"] == pytest.approx(0.69)
    assert found[1]["refused"]  # one rejected draft is all that it verifies
    assert "acceptance" not in found[1]
    assert found[2]["acceptance"] == specsim.acceptance_rate(
        [0.5, 0.3, 0.2], [0.1, 0.3, 0.6], rule="kseq", num_drafts=2
    )


def test_the_optimum_is_that_of_the_scheme() -> None:
    text = 'kind = "acceptance"\n[grid]\ntarget = "law:.5,.3,.2"\ndraft = "law:.1,.3,.6"\nnum_drafts = 2\n'
    (found,) = rows(text + 'rule = "recursive_wor"\n')
    p, q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
    best = float(specsim.optimal_acceptance(p, q, num_drafts=2, scheme="without_replacement"))
    assert found["optimum"] == pytest.approx(best)
    assert best > float(specsim.optimal_acceptance(p, q, num_drafts=2)) + 0.01


def test_block_rows_are_exact() -> None:
    text = (
        'kind = "block"\n[grid]\ntarget = "law:1/3,2/3"\ndraft = "law:2/3,1/3"\ngamma = 2\n'
        + 'rule = ["tokenwise", "block"]'
    )
    assert [row["tau"] for row in rows(text)] == pytest.approx([19 / 9, 20 / 9])


def test_simulated_rows_are_the_simulators() -> None:
    found = rows(studies.SIMULATE)
    told = {"blocks": 2000, "sequences": 50}
    last = specsim.simulate([1 / 3, 2 / 3], [2 / 3, 1 / 3], rule="block", gamma=2, seed=3, **told)
    assert (found[-1]["tau"], found[-1]["kept"]) == (last.tau, last.histogram.tolist())
    assert (found[-1]["tau_low"], found[-1]["tau_high"]) == last.tau_interval(0.99)
    assert len({row["tau"] for row in found[:4]}) == 4  # another seed, another text


def test_a_law_depends_on_its_words_alone() -> None:
    from specsim.commands.sweep.kinds._laws import law

    drawn = law("dirichlet:50:0.1:7")
    law.cache_clear()
    assert law("dirichlet:50:0.1:7").tolist() == drawn.tolist()
    assert law("dirichlet:50:0.1:8").tolist() != drawn.tolist()
    for words in ("law:1/0", "law:.5,.4", "zipf:0:1", "zipf:9", "dirichlet:3:0:1", "uniform:3", ""):
        with pytest.raises(ValueError, match=r"give law:|sums to"):
            law(words)


def test_a_compared_row_is_the_record_of_one_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command itself is run by a slow test; here its words, its record and its refusals."""
    record = json.loads((ROOT / "real" / "results" / "bundled.json").read_text())
    asked: list[list[str]] = []

    def run(words: list[str], **told: Any) -> Any:
        asked.append(words)
        Path(words[words.index("--out") + 1]).write_text(json.dumps(record))
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    row, _ = rows('kind = "compare"\n[grid]\ngamma = 1\nseed = [4, 5]\nmax_tokens = 8\n')
    pair: Mapping[str, Any] = record["pairs"][0]
    assert (row["tau_predicted"], row["tau_high"]) == (pair["tau"]["predicted"], pair["tau"]["interval"][1])
    assert (row["speedup_measured"], row["speedup_low"]) == (
        pair["speedup"]["measured"],
        pair["speedup"]["interval"][0],
    )
    assert asked[0][1:4] == ["-m", "real", "compare"]
    assert asked[0][-2:] == ["--", "tiny"]
    for words in (["--gamma", "1"], ["--seed", "4"], ["--max-tokens", "8"]):
        assert words[1] == asked[0][asked[0].index(words[0]) + 1]
    monkeypatch.setattr(
        subprocess, "run", lambda words, **told: SimpleNamespace(returncode=2, stderr="error: no such model\n")
    )
    assert rows('kind = "compare"\n[grid]\ngamma = 1\n')[0]["refused"] == "no such model"
    needs = "error: specsim-real needs torch: install the extra `real` (specsim-llm[real])\n"
    monkeypatch.setattr(subprocess, "run", lambda words, **told: SimpleNamespace(returncode=2, stderr=needs))
    with pytest.raises(ImportError, match="needs torch"):
        rows('kind = "compare"\n[grid]\ngamma = 1\n')
