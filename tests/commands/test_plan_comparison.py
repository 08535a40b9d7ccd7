"""`specsim plan --comparison`: times and acceptance of a record of `specsim-real compare`, chains or trees."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.planning import as_json, run

from specsim.commands.plan.comparison import CHAINS, RULES, TREES, read_comparison
from specsim.trees import depths, optimal_tree

RESULTS = Path(__file__).parents[2] / "real" / "results"
RECORDS = sorted(
    path for path in RESULTS.glob("*.json") if json.loads(path.read_text()).get("schema") in (CHAINS, RULES, TREES)
)
RANKS = [0.55, 0.11, 0.06, 0.04]


def line(levels: int, tokens: int, draft: float, verify: float) -> dict[str, Any]:
    """A row of a record of trees: seconds, beside a plain step of two."""
    parts = {"draft": (0, 0.75 * draft), "sample": (0, 0.25 * draft), "verify": (1.8, verify), "rule": (0.1, 0.03)}
    costs = {f"{name}_s": list(values) for name, values in parts.items()}
    costs |= {"host_s": [0.1, 0.01], "cycle_s": [2.0, draft + verify + 0.04], "gammas": [0, levels]}
    return {"levels": levels, "pass": {"tokens": tokens}, "costs": costs}


def record(lines: list[tuple[int, int, float, float]], **more: Any) -> dict[str, Any]:
    mean = {"mean": 0.55, "ranks": None}
    return {"schema": TREES, "rows": [line(*each) for each in lines], "shape_ranks": RANKS, "acceptance": mean} | more


def saved(path: Path, held: Any) -> Path:
    path.write_text(json.dumps(held))
    return path


MEASURED = [(1, 2, 0.1, 2.0), (2, 3, 0.2, 2.2), (4, 5, 0.5, 2.4), (4, 9, 0.7, 3.0), (3, 9, 0.4, 3.2)]


def test_times_are_those_of_the_record(tmp_path: Path) -> None:
    """In plain steps: t(m), medians of lines with one m; c by level, what one level more adds; the rest of a cycle."""
    found = read_comparison(saved(tmp_path / "r.json", record(MEASURED)))
    assert [found.latency.target(m, 1, 0).value for m in (1, 2, 3, 5, 7, 9)] == pytest.approx(
        [1.0, 1.0, 1.1, 1.2, 1.375, 1.55]
    )
    assert found.steps == pytest.approx((0.05, 0.05, 0.1, 0.1))
    assert found.latency.overhead(1, 0).value == pytest.approx(0.02)
    assert found.latency.draft(1, 0).value == pytest.approx(0.05 * np.median([1, 1, 1.25, 1.75, 4 / 3]))
    assert (found.most, found.drafts.ranks, found.latency.unit) == (9, tuple(RANKS), "target steps")


def test_the_shape_is_the_fastest_by_these_times(tmp_path: Path) -> None:
    path = saved(tmp_path / "r.json", record(MEASURED))
    found, read = as_json(f"--comparison {path}"), read_comparison(path)
    times = {m: read.latency.target(m, 1, 0).value for m in range(1, 10)}
    best = optimal_tree(RANKS, draft_s=list(read.steps), verify_s=times, overhead_s=0.02)
    assert 1 < len(best.parents) <= 8
    (tree,) = found["trees"]
    assert tree["parents"] == best.parents.tolist()
    assert (tree["levels"], tree["speedup"]["value"]) == (depths(best.parents).max(), pytest.approx(best.speedup))
    assert found["asked"]["comparison"] == str(path)
    assert "r.json timed passes over 9 tokens at most: no larger block is tried" in found["notes"]
    assert "times are those of r.json, one text at a time, at the lengths of its texts" in found["assumptions"]
    for doubt in found["doubts"]:
        assert doubt["speedup"] < best.speedup


def test_levels_that_cost_more_make_shallower_trees(tmp_path: Path) -> None:
    """The same passes, and the same time to draft four levels: what the last of them adds decides the depth."""
    shapes = []
    for deep in (0.3, 3.0):
        lines = [(2, 3, 0.2, 2.0), (3, 5, 0.3, 2.0), (4, 9, deep, 2.0)]
        shapes.append(as_json(f"--comparison {saved(tmp_path / 'r.json', record(lines))}")["trees"][0])
    assert [shape["levels"] for shape in shapes] == [4, 3]


@pytest.mark.parametrize("path", RECORDS, ids=[path.stem for path in RECORDS])
def test_every_record_that_is_kept_is_read(path: Path) -> None:
    found = as_json(f"--comparison {path}")
    assert found["points"][0]["speedup"]["value"] >= 1
    assert found["points"][0]["unit"] == "target steps"


def test_a_record_of_chains_predicts_what_it_predicted_itself() -> None:
    """Hazards at the largest gamma in place of those of each gamma, and steps of one length: 5 % at most."""
    path = RESULTS / "widened.json"
    held, found = json.loads(path.read_text()), as_json(f"--comparison {path}")
    timed = [row for row in held["pairs"] if row["gamma"] in held["costs"]["gammas"]]
    own = [row["speedup"]["predicted"] for row in timed]
    assert [one["value"] for one in found["curve"][1:]] == pytest.approx(own, rel=0.05)
    assert found["trees"] == []
    assert "widened.json has no acceptance by rank: trees are planned with --ranks, too" in found["notes"]
    assert any("as a decoder of 8 drafts meets them" in said for said in found["assumptions"])


def test_another_acceptance_goes_with_the_times_of_a_record() -> None:
    path = RESULTS / "block.json"
    assert "under rule 'tokenwise'" in " ".join(as_json(f"--comparison {path}")["assumptions"])
    found = as_json(f"--comparison {path} --ranks 0.7,0.15,0.05")
    assert len(found["trees"]) == 1
    assert any("declared, not measured" in said for said in found["assumptions"])
    assert as_json(f"0.9 --comparison {path}")["points"][0]["tau"]["value"] > found["points"][0]["tau"]["value"]


def test_without_ranks_the_mean_is_all_that_is_known(tmp_path: Path) -> None:
    found = as_json(f"--comparison {saved(tmp_path / 'r.json', record(MEASURED, shape_ranks=None))}")
    assert found["trees"] == []
    assert any("the mean acceptance along the texts of r.json" in said for said in found["assumptions"])


def test_a_plan_of_a_record_is_shown_and_emitted(tmp_path: Path) -> None:
    path = saved(tmp_path / "r.json", record(MEASURED))
    assert "speedup of the best tree" in run(f"--comparison {path}")
    assert "speculative" in run(f"--comparison {path} --emit sglang")


@pytest.mark.slow
def test_a_plan_of_a_record_is_drawn(tmp_path: Path) -> None:
    run(f"--comparison {saved(tmp_path / 'r.json', record(MEASURED))} --plot {tmp_path / 'p.png'}")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def changed(place: str, value: Any) -> dict[str, Any]:
    """A good record with another value at a place, or without it."""
    held: Any = copy.deepcopy(record(MEASURED))
    *way, last = [int(key) if key.isdigit() else key for key in place.split(".")]
    home = held
    for key in way:
        home = home[key]
    if value is None:
        del home[last]
    else:
        home[last] = value
    return held  # type: ignore[no-any-return]


BAD: list[tuple[Any, str]] = [
    ([1], "r.json has schema None; a comparison has specsim-compare/2, specsim-chains/1 or specsim-compare-trees/1"),
    ({"schema": "specsim-forced/1"}, "r.json has schema 'specsim-forced/1'; a comparison has"),
    ({"schema": TREES}, "r.json has no rows"),
    ({"schema": CHAINS}, "r.json has no costs"),
    ({"schema": RULES, "runs": []}, "r.json has no runs[0]"),
    ({"schema": RULES, "runs": [{"costs": {"gammas": [0]}}]}, "r.json has no line whose cycles were timed"),
    (record([]), "r.json has no line whose cycles were timed"),
    (record([(2, 3, 0.0, 2.0)]), "r.json: cycles were timed as a whole, as a GPU's are: draft and pass are not told"),
    (changed("rows.1.costs", None), "r.json has no rows[1].costs"),
    (changed("rows.1.costs.rule_s", None), "r.json has no rows[1].costs.rule_s"),
    (changed("rows.1.costs.rule_s", 3), "r.json: rows[1].costs.rule_s is no list of numbers"),
    (changed("rows.1.costs.rule_s", [1.0]), "r.json: rows[1].costs.rule_s has 1 entries; entry 1 is needed"),
    (changed("rows.1.costs.rule_s", [1.0, "x"]), "r.json: rows[1].costs.rule_s[1] must be one number, got 'x'"),
    (changed("rows.2.costs.draft_s", [0, -1.0]), "r.json: rows[2].costs.draft_s[1] is -1.0; it must lie in [0, inf)"),
    (changed("rows.2.costs.verify_s", [1, 0]), "r.json: rows[2].costs.verify_s[1] is 0.0; it must lie in (0, inf)"),
    (changed("rows.0.pass", {"tokens": 1}), "r.json: rows[0].pass.tokens must be at least 2, got 1"),
    (changed("rows.0.levels", 1.5), "r.json: rows[0].levels must be an integer, got 1.5"),
    (changed("shape_ranks", [0.7, 0.6]), "r.json: shape_ranks sums to 1.3; one sibling at most is kept"),
    (changed("shape_ranks", [0.7, 1.6]), "r.json: shape_ranks[1] is 1.6; it must lie in [0, 1]"),
    (changed("acceptance", None) | {"shape_ranks": None}, "r.json has no acceptance"),
]


@pytest.mark.parametrize(("held", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_records_end_with_one_line(held: Any, message: str, tmp_path: Path) -> None:
    said = run(f"--comparison {saved(tmp_path / 'r.json', held)}", code=2)
    assert said.startswith("error: ")
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--cost-ratio 0.1", "--comparison has costs of its own; leave out --cost-ratio"),
        ("--target llama-3.1-8b --overhead 1", "--comparison has costs of its own; leave out --target, --overhead"),
        ("--dtype fp8", "--dtype: it says nothing of a --comparison"),
        ("--batch 1,8", "--comparison has the costs of one text at a time; leave out --batch, got 1,8"),
        (
            "--ranks 0.5 0.5",
            "give one of alpha, --ranks, --hazards, --histogram, --rows, --tau; got alpha, ranks",
        ),
    ],
)
def test_what_a_comparison_does_not_go_with(words: str, message: str) -> None:
    said = run(f"--comparison {RESULTS / 'widened.json'} {words}", code=2)
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(("text", "message"), [("{", "r.json is no JSON: "), ("[" * 9999, "is nested too deep")])
def test_files_that_are_no_records(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    assert message in run(f"--comparison {tmp_path / 'r.json'}", code=2)
    assert "gone.json cannot be read: No such file" in run(f"--comparison {tmp_path / 'gone.json'}", code=2)
