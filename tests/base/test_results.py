"""What a result shows of itself: one line, an HTML table, a table of pandas."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from specsim import latency, log_acceptance, predict
from specsim.base.results import columns
from specsim.logs.record import EngineLog
from specsim.testing.statistics import LawTest

PREDICTION = predict(latency.constant(0.1), 0.7, gamma=3)
LOG = log_acceptance(EngineLog("own", "on.csv", True, length=2, blocks=100, drafted=200, accepted=130, kept=(80, 50)))
RESULTS = [PREDICTION, LOG, LawTest(1 / 3, 0.5, 0.75, 1000)]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_is_one_line_and_a_table(result: Any) -> None:
    line = repr(result)
    assert line.startswith(f"{type(result).__name__}(")
    assert "\n" not in line
    assert "array" not in line
    assert result._repr_html_().count("<tr>") == len(columns(result))


def test_numbers_have_four_digits_and_units_stand_beside() -> None:
    assert f"tau={PREDICTION.tau.value:.4g} [" in repr(PREDICTION)
    assert "unit='target steps')" in repr(PREDICTION)
    assert "measures=tau 2.3 [" in repr(LOG)


def test_text_in_a_table_is_escaped() -> None:
    assert "&lt;b&gt;" in PREDICTION._replace(main_error="<b>")._repr_html_()


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_pandas_gets_every_number_unrounded(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))  # type: ignore[arg-type]
    assert result.to_pandas() == [columns(result)]


def test_pandas_of_a_prediction_has_dotted_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))  # type: ignore[arg-type]
    (row,) = PREDICTION.to_pandas()
    assert row["speedup.value"] == PREDICTION.speedup.value
    assert row["gamma"] == 3


def test_without_pandas_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # type: ignore[arg-type]
    with pytest.raises(ImportError, match=r"^to_pandas needs pandas, which is not installed: pip install pandas$"):
        PREDICTION.to_pandas()
