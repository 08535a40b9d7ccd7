"""The problem that options of `specsim plan` describe: acceptance, costs, the points, and the limits of the search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from specsim.commands.plan.options import PlanOptions
from specsim.commands.plan.problem import read_problem
from specsim.commands.plan.search import MAX_PREDICTIONS, Search, check_size, read_search

PAIR = {"alpha": 0.8, "target": "llama-3.1-8b", "draft": "llama-3.2-1b", "hardware": "h100-sxm"}


def declared(**more: Any) -> PlanOptions:
    """Options with costs that are given as a number."""
    return PlanOptions(**({"alpha": 0.8, "cost_ratio": 0.1} | more))


def test_points_are_every_batch_and_context() -> None:
    search = read_problem(PlanOptions(**PAIR, batch="1,8", context="0,2k", max_gamma=5, nodes=9, level=0.5)).search
    assert search == Search((1, 8), (0, 2048), 5, 9, 0.5)


def test_under_a_rate_the_point_is_a_full_batch_at_the_end_of_an_answer() -> None:
    search = read_search(PlanOptions(**PAIR, rate="2", prompt_tokens=100, output_tokens=50, batch_limit=7))
    assert (search.batches, search.contexts) == ((7,), (150,))


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_lies_inside_0_and_1(level: float) -> None:
    with pytest.raises(ValueError, match="level"):
        read_search(declared(level=level))


@pytest.mark.parametrize(("points", "noted"), [({"batch": "2,8"}, 1), ({"context": "1k,2k"}, 1), ({}, 0)])
def test_declared_costs_are_the_same_everywhere(points: dict[str, str], noted: int) -> None:
    problem = read_problem(declared(**points))
    assert problem.search.batches == (2 if "batch" in points else 1,)
    assert problem.search.contexts == (1024,)
    assert sum("one point says all" in note for note in problem.notes) == noted


def test_steps_without_a_draft_count_in_costs_and_in_acceptance() -> None:
    problem = read_problem(declared(drafted_share=0.25))
    with_draft = problem.drafts.acceptance.tau(3).value
    assert problem.acceptance.tau(3).value == pytest.approx(1 + 0.25 * (with_draft - 1))
    assert problem.costs.latency.draft(1, 0).value == pytest.approx(0.1)
    assert problem.latency.draft(1, 0).value == pytest.approx(0.025)


def test_lengths_end_where_the_costs_do() -> None:
    """Passes over quantised weights were timed with 16 drafts at most."""
    assert read_problem(declared(weights="int4", max_gamma=20)).search.max_gamma == 16
    assert read_problem(declared(max_gamma=20)).search.max_gamma == 20


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """A comparison of trees whose passes read up to nine tokens, with acceptance by rank."""

    def row(levels: int, tokens: int, draft: float, verify: float) -> dict[str, Any]:
        costs = {"draft_s": [0, draft], "sample_s": [0, 0.0], "verify_s": [1.8, verify], "rule_s": [0.1, 0.03]}
        costs |= {"host_s": [0.1, 0.01], "cycle_s": [2.0, draft + verify + 0.04], "gammas": [0, levels]}
        return {"levels": levels, "pass": {"tokens": tokens}, "costs": costs}

    path, mean = tmp_path / "record.json", {"mean": 0.55, "ranks": None}
    rows = [row(1, 2, 0.1, 2.0), row(4, 9, 0.7, 3.0)]
    held = {"schema": "specsim-compare-trees/1", "rows": rows, "shape_ranks": [0.55, 0.11], "acceptance": mean}
    path.write_text(json.dumps(held))
    return path


def test_a_comparison_limits_the_search_and_has_acceptance(record: Path) -> None:
    problem = read_problem(PlanOptions(comparison=record))
    assert problem.drafts.ranks == (0.55, 0.11)
    assert (problem.search.max_gamma, problem.search.nodes) == (8, 8)


@pytest.mark.parametrize("source", ["alpha", "hazards", "histogram", "rows"])
def test_acceptance_that_is_given_replaces_that_of_a_comparison(source: str, record: Path) -> None:
    path = record.with_name(source)
    if source == "rows":
        save_file({"p": np.array([[0.75, 0.25]]), "q": np.array([[1.0, 0.0]])}, path)
    else:
        path.write_text({"histogram": '{"drafted": 1, "counts": [1, 3]}'}.get(source, "position,hazard\n1,0.75\n"))
    options: dict[str, Any] = {source: 0.75 if source == "alpha" else path}
    drafts = read_problem(PlanOptions(comparison=record, **options)).drafts
    assert drafts.ranks == ()
    assert drafts.acceptance.tau(1).value == pytest.approx(1.75)


def test_so_many_predictions_are_made() -> None:
    search = Search((1, MAX_PREDICTIONS // 16), (0, 1), 16, 64, 0.95)
    check_size(search, whole_schedule=True, all_contexts=False)
    check_size(search, whole_schedule=False, all_contexts=True)
    with pytest.raises(ValueError, match="too many"):
        check_size(search, whole_schedule=True, all_contexts=True)
