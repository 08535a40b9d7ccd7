"""The sentences of a page: what each record answers, and what is left out of tables and pictures."""

from __future__ import annotations

from typing import Any

import pytest

from specsim.report.page import html, rows
from specsim.report.page.answers import answers
from specsim.report.page.records import Record, made_by


def pair(gamma: int, predicted: float, measured: float) -> dict[str, Any]:
    """Return one row of a comparison."""
    tau = {"predicted": 2.0, "measured": 2.0}
    return {"gamma": gamma, "tau": tau, "speedup": {"predicted": predicted, "measured": measured}}


def test_the_answer_of_a_comparison_is_its_row_that_was_measured_fastest() -> None:
    """And not the one that was predicted fastest, nor the first or last one."""
    held = {"pairs": [pair(1, 1.2, 1.1), pair(2, 1.4, 1.5), pair(3, 1.6, 1.3)]}
    assert list(answers(Record("mine", "compare", held))) == [
        "Measured fastest: gamma 2, 1.50 times plain decoding; predicted 1.40 times."
    ]


@pytest.mark.parametrize(
    ("low", "high", "shown"), [(2.1, 2.4, "2.250 [2.100, 2.400] tokens"), (None, None, "2.250 tokens")]
)
def test_the_answer_of_a_simulation_has_its_interval(low: float | None, high: float | None, shown: str) -> None:
    held = {"tau": {"value": 2.25, "low": low, "high": high}, "blocks": 100}
    (sentence,) = answers(Record("s", "simulate", held))
    assert sentence == f"A target call emits {shown}, simulated over 100 blocks."


def test_the_answer_of_forced_acceptance_is_the_error_of_its_speedups() -> None:
    pairs = [(1.1, 1.0), (1.0, 1.0), (0.6, 1.0)]
    made = [
        {"gamma": i, "tau_predicted": 2, "tau_measured": 2, "speedup": {"predicted": predicted, "measured": measured}}
        for i, (predicted, measured) in enumerate(pairs)
    ]
    held = {"runs": [{"batch": 1, "context": 8, "rows": made}]}
    assert list(answers(Record("f", "forced", held))) == [
        "Predicted speedups are off by 10.0% in the median of 3 settings, and by 40.0% at most."
    ]


def test_the_answer_of_drafts_is_the_best_rule_at_the_most_drafts() -> None:
    """Not the optimum, which is no rule, and not a rule with fewer drafts."""
    cells = [("recursive", 1, 0.9), ("recursive", 2, 0.5), ("spechub", 2, 0.6), ("", 2, 0.7)]
    made = [{"rule": rule, "scheme": "iid", "num_drafts": drafts, "value": value} for rule, drafts, value in cells]
    held = {"runs": [{"name": "mine", "rows": made}]}
    assert list(answers(Record("d", "drafts", held))) == [
        "mine: with 2 drafts a position, spechub accepts most, with probability 0.600."
    ]


def test_the_answer_of_trees_is_the_best_rule_at_the_most_nodes() -> None:
    cells = [("traversal", "best", 8, 3.5), ("tokenwise", "chain", 16, 3.0), ("lifted", "best", 16, 3.25)]
    made = [{"rule": rule, "topology": shape, "budget": nodes, "tau": tau} for rule, shape, nodes, tau in cells]
    held = {"runs": [{"name": "toys", "rows": made}]}
    assert list(answers(Record("t", "trees", held))) == [
        "toys: with 16 nodes, lifted on best emits most, 3.250 tokens per target call."
    ]


def test_the_answer_of_a_system_is_its_verdict() -> None:
    assert list(answers(Record("s", "system", {"verdict": "shows"}))) == [
        "The claim of the paper, on these models: shows."
    ]


def test_refused_rows_of_a_sweep_are_counted() -> None:
    held = [{"refused": None}, {"refused": None}, {"refused": "why"}]
    assert made_by(Record("r", "sweep plan", held, "0.1.0"))[0] == "sweep plan: 3 rows, 1 refused"


@pytest.mark.parametrize(("drawn", "notes"), [(rows.SERIES, 0), (rows.SERIES + 1, 1)])
def test_the_first_law_that_is_not_drawn_is_said(drawn: int, notes: int) -> None:
    held = [{"refused": None}] * drawn + [{"refused": "why"}]
    assert len(list(rows.not_drawn(Record("r", "sweep simulate", held)))) == notes


@pytest.mark.parametrize(("count", "is_cut"), [(html.SHOWN, False), (html.SHOWN + 1, True)])
def test_a_table_says_how_many_rows_it_leaves_out(count: int, is_cut: bool) -> None:
    shown = html._table(["n"], [[str(i)] for i in range(count)])
    assert ("1 more rows are in the records" in shown) == is_cut
    assert shown.count('<td data-name="n">') == html.SHOWN
    assert f"{count} rows" in shown
