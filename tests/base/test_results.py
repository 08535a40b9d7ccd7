"""What a result shows of itself: one line with the answer first, an HTML table, a table of pandas, a picture."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import specsim
from specsim import latency, log_acceptance, predict
from specsim.base.drawing import Line, apart, label_lines, new_axes
from specsim.base.results import columns
from specsim.conform.verdict import Report, Verdict
from specsim.logs.record import EngineLog
from specsim.testing.statistics import LawTest

P, Q = [0.5, 0.3, 0.2], [0.1, 0.3, 0.6]
PREDICTION: Any = predict(latency.constant(0.1), 0.7, gamma=3)
LOG: Any = log_acceptance(
    EngineLog("own", "on.csv", True, length=2, blocks=100, drafted=200, accepted=130, kept=(80, 50))
)
ONE_ROW: dict[str, Any] = {
    "Prediction(speedup=": PREDICTION,
    "LogAcceptance(measures=tau 2.3 [": LOG,
    "LawTest(passed=True, ": LawTest(1 / 3, 0.5, 0.75, 1000),
    "Guarantee(lossless=True, bias=0, reason='no difference": specsim.guarantee("tokenwise"),
    "Optimum(value=0.69, status='optimal', ": specsim.optimum(P, Q, num_drafts=2),
    "Claim(refused=[], flags=['speedup": specsim.check_claim(3.53, gamma=7, tau=3.33),
    "Speed(speedup=2.567, ": specsim.draft_then_verify(0.8, gamma=3, cost_ratio=0.05),
    "BestGamma(gamma=8, speedup=3.092)": specsim.optimal_gamma(0.8, cost_ratio=0.05),
    "EngineLog(source='on.csv', ": EngineLog("own", "on.csv", True, blocks=100),
    "RequestLaw(mean_s=0.2875, ": specsim.request_law([0.5, 0.5], 4, cycle_s=0.1),
    "Trace(tau=2, ": specsim.simulate(P, P, rule="tokenwise", gamma=1, blocks=10, sequences=2),
    "Filled(bias=0, passes=3/2": specsim.fill([0.5, 0.5], "jacobi", length=2),
}
MANY_ROWS: dict[str, tuple[Any, int]] = {
    "HazardEstimate(hazards=[0.5, 0.4]": (specsim.estimate_hazards([0, 1, 2], 2, counts=[50, 30, 20]), 2),
    "Report(outcome='convicted', subject='mine', complete=True": (
        Report("mine", (Verdict("mine", "law", "convicted"), Verdict("mine", "rounds", "lossless"))),
        2,
    ),
    "AcceptanceCurves(rules=['recursive'], num_drafts=[1, 2])": (
        specsim.acceptance_curves([P], [Q], num_drafts=[1, 2], rules=["recursive"]),
        10,
    ),
    "Plans(gammas=[4, 4], speedups=[": (specsim.plan(latency.constant(0.1), 0.7, batches=[1, 2]), 2),
}
RESULTS = ONE_ROW | {start: result for start, (result, _) in MANY_ROWS.items()}


@pytest.fixture
def rows_of_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))


@pytest.mark.parametrize("start", RESULTS)
def test_a_result_is_one_line_that_begins_with_the_answer(start: str) -> None:
    line = repr(RESULTS[start])
    assert line.startswith(start)
    assert "\n" not in line
    assert "array(" not in line
    assert len(line) < 400


@pytest.mark.parametrize("start", ONE_ROW)
def test_one_row_in_html_and_pandas(start: str, rows_of_pandas: None) -> None:
    result: Any = ONE_ROW[start]
    assert result._repr_html_().count("<tr>") >= len(columns(result))
    (row,) = result.to_pandas()
    assert list(row) == list(columns(result))


@pytest.mark.parametrize("start", MANY_ROWS)
def test_many_rows_in_html_and_pandas(start: str, rows_of_pandas: None) -> None:
    result, rows = MANY_ROWS[start]
    assert result._repr_html_().count("<tr>") == rows + 1
    assert len(result.to_pandas()) == rows


def test_numbers_have_four_digits_and_units_stand_beside() -> None:
    assert f"tau={PREDICTION.tau.value:.4g} [" in repr(PREDICTION)
    assert "unit='target steps')" in repr(PREDICTION)


def test_long_fields_are_cut_or_left_out() -> None:
    trace = ONE_ROW["Trace(tau=2, "]
    assert "settings" not in repr(trace)
    many = specsim.plan(latency.constant(0.1), 0.7, batches=range(1, 12))
    assert "gammas=[4, 4, 4, 4, 4, 4, 4, 4, ... 11 in all]" in repr(many)


def test_text_in_a_table_is_escaped() -> None:
    assert "&lt;b&gt;" in PREDICTION._replace(main_error="<b>")._repr_html_()


def test_pandas_of_a_prediction_has_every_digit_in_dotted_columns(rows_of_pandas: None) -> None:
    (row,) = PREDICTION.to_pandas()
    assert row["speedup.value"] == PREDICTION.speedup.value
    assert row["gamma"] == 3


def test_without_pandas_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_pandas needs pandas, which is not installed: pip install pandas$"):
        PREDICTION.to_pandas()


def test_a_sequence_of_results_is_gone_through_as_a_tuple() -> None:
    plans = specsim.plan(latency.constant(0.1), 0.7, batches=[1, 2])
    assert (len(plans), plans[0], list(plans)) == (2, plans.best[0], list(plans.best))


DRAWN = {
    "survival": lambda axes: MANY_ROWS["HazardEstimate(hazards=[0.5, 0.4]"][0].plot(axes),
    "survival, log": lambda axes: LOG.plot(axes),
    "survival, trace": lambda axes: ONE_ROW["Trace(tau=2, "].plot(axes),
    "length": lambda axes: specsim.plan(latency.constant(0.1), 0.7, contexts=[0, 9]).plot(axes),
    "batch": lambda axes: specsim.plan(latency.constant(0.1), 0.7, batches=[1, 2, 4]).plot(axes),
    "best length": lambda axes: specsim.optimal_gamma(0.8, cost_ratio=0.05).plot(axes),
    "acceptance": lambda axes: specsim.acceptance_curves([P], [Q], num_drafts=[1, 2], rules=["optimal"]).plot(axes),
}


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_drawn_on_the_axes_given_without_a_legend_box(name: str) -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = figures.Figure().subplots()
    assert DRAWN[name](axes) is axes
    assert axes.get_legend() is None
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.texts


def test_survival_is_the_product_of_hazards() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = DRAWN["survival"](figures.Figure().subplots())
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [1, 0.5, 0.2])
    assert axes.get_title(loc="left") == "tau = 1.7 tokens per target call"


def test_the_picture_of_batches_names_the_best_length() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    words = [text.get_text() for text in DRAWN["batch"](figures.Figure().subplots()).texts]
    assert words.count("gamma 4") == 3
    assert "plain decoding" in words


def test_curves_that_are_the_same_are_one_line_with_both_names() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    words = [text.get_text() for text in DRAWN["acceptance"](figures.Figure().subplots()).texts]
    assert "optimal = optimum (iid)" in words


def test_labels_stand_apart() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = figures.Figure().subplots()
    axes.set_xlim(0, 2)
    label_lines(axes, [Line(f"line {i}", [0, 2], [0.5, 0.5]) for i in range(3)])
    heights = [text.get_position()[1] for text in axes.texts]
    np.testing.assert_allclose(heights, apart([0.5] * 3, 0.055))
    assert heights[0] < heights[1] < heights[2]


def test_without_matplotlib_one_line_says_which_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^plot needs matplotlib: install the extra `plot` \(specsim-llm\[plot\]\)$"):
        new_axes(None, "plot")


def test_a_log_without_positions_has_no_picture() -> None:
    with pytest.raises(ValueError, match=r"^hazards is None: the log does not say"):
        LOG._replace(hazards=None).plot()
