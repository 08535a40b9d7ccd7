"""Logits to laws: against transformers' own processors, across libraries, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.logits import LOGIT, ROW, SETTINGS, by_transformers, on_a_boundary
from hypothesis import assume, given, settings
from hypothesis.extra import numpy as hnp

from specsim import warp

Array = Any


@settings(max_examples=400)
@given(ROW, SETTINGS)
def test_same_law_as_transformers(logits: Array, chosen: dict[str, Any]) -> None:
    assume(not on_a_boundary(logits, **chosen))
    law, theirs = warp(logits, **chosen), by_transformers(logits, **chosen)
    assert ((law > 0) == (theirs > 0)).all()
    assert np.allclose(law, theirs, atol=1e-14, rtol=1e-12)
    assert law.sum() == pytest.approx(1, abs=1e-14)
    assert (law[logits == -np.inf] == 0).all()


@settings(max_examples=60)
@given(hnp.arrays(np.float64, (2, 5), elements=LOGIT), SETTINGS)
def test_libraries_agree(logits: Array, chosen: dict[str, Any]) -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    jax.config.update("jax_enable_x64", True)
    assume(np.isfinite(logits.max(axis=-1)).all())
    assume(not any(on_a_boundary(row, **chosen) for row in logits))
    wanted = warp(logits, **chosen)
    on_jax, on_torch = warp(jax.numpy.asarray(logits), **chosen), warp(torch.from_numpy(logits), **chosen)
    assert isinstance(on_jax, jax.Array)
    assert isinstance(on_torch, torch.Tensor)
    for found in (np.asarray(on_jax), on_torch.numpy(), np.stack([warp(row, **chosen) for row in logits])):
        assert ((found > 0) == (wanted > 0)).all()
        assert np.allclose(found, wanted, atol=1e-14, rtol=1e-12)


def test_by_hand() -> None:
    logits = np.log([0.4, 0.3, 0.2, 0.1])
    assert np.allclose(warp(logits, top_k=2), [4 / 7, 3 / 7, 0, 0])
    assert np.allclose(warp(logits, top_p=0.65), [4 / 7, 3 / 7, 0, 0])  # 0.4 < 0.65 <= 0.4 + 0.3
    assert (warp(logits, top_p=0.7 - 1e-9) > 0).sum() == 2  # 0.4 + 0.3 is just enough
    assert (warp(logits, top_p=0.7 + 1e-9) > 0).sum() == 3
    assert (warp(logits, min_p=0.75 - 1e-9) > 0).sum() == 2
    assert (warp(logits, min_p=0.75 + 1e-9) > 0).sum() == 1
    assert np.allclose(warp(logits, top_p=1e-9), [1, 0, 0, 0])  # at least one
    assert np.allclose(warp(logits, min_p=0.6), [4 / 7, 3 / 7, 0, 0])
    assert np.allclose(warp(logits, temperature=0.5), np.array([16, 9, 4, 1]) / 30)
    # the order matters: min_p is measured after the others have sharpened nothing away from the top
    assert np.allclose(warp(logits, top_k=3, top_p=0.5, min_p=0.9), [1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_top_k_keeps_ties_with_the_last(dtype: type) -> None:
    law = warp(np.array([1, 2, 1, 0], dtype=dtype), top_k=2)
    assert law.dtype == dtype
    assert (law > 0).tolist() == [True, True, True, False]


def test_a_temperature_does_not_overflow_large_logits() -> None:
    """They are divided after the largest has been taken off; and all but one may be cut."""
    for dtype, large in ((np.float32, 3e38), (np.float64, 1.7e308)):
        logits = np.array([large, large, 0.9 * large], dtype=dtype)
        assert warp(logits, temperature=0.5).tolist() == [0.5, 0.5, 0]
    assert (warp([3.0, 2.0, 1.0], top_k=2) > 0).tolist() == [True, True, False]


def test_ties_with_a_bound_go_as_in_transformers() -> None:
    """A tail of exactly 1 - top_p is dropped, a mass of exactly min_p times the largest stays."""
    logits = np.log([1, 0.5, 0.5])
    assert warp(logits).tolist() == [0.5, 0.25, 0.25]  # no rounding, so that these are ties
    assert warp(logits, top_p=0.5).tolist() == by_transformers(logits, 1.0, 0, 0.5, 0.0).tolist() == [1, 0, 0]
    assert warp(logits, min_p=0.5).tolist() == by_transformers(logits, 1.0, 0, 1.0, 0.5).tolist() == [0.5, 0.25, 0.25]


def test_temperature_zero_takes_the_first_largest() -> None:
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    rows = np.array([[1.0, 3.0, 3.0], [-np.inf, -np.inf, 0.0], [2.0, 2.0, 2.0]])
    wanted = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    for library in (np.asarray, jax.numpy.asarray, torch.from_numpy):
        law = warp(library(rows), temperature=0, top_p=0.5, top_k=1, min_p=0.5)
        assert np.asarray(law).tolist() == wanted
        assert str(law.dtype).endswith(("float64", "float32"))


def test_low_temperature_tends_to_it() -> None:
    logits = [1.0, 3.0, 2.9]
    assert np.allclose(warp(logits, temperature=1e-3), warp(logits, temperature=0))
    assert np.allclose(warp(logits, temperature=1e9), 1 / 3)


def test_extreme_logits_do_not_overflow() -> None:
    assert np.allclose(warp([1e4, 1e4 - 1, -1e4]), [1 / (1 + np.exp(-1)), np.exp(-1) / (1 + np.exp(-1)), 0])


@pytest.mark.parametrize(
    ("chosen", "error", "message"),
    [
        ({"temperature": -1}, ValueError, r"temperature is -1; it must lie in \[0, "),
        ({"temperature": float("nan")}, ValueError, r"temperature is nan; it must lie in \[0, "),
        ({"temperature": float("inf")}, ValueError, r"temperature is inf; it must lie in \[0, "),
        ({"top_k": -1}, ValueError, r"top_k must be at least 0, got -1"),
        ({"top_k": 1.5}, TypeError, r"top_k must be an integer, got 1\.5"),
        ({"top_p": 0}, ValueError, r"top_p is 0; it must lie in "),
        ({"top_p": 1.1}, ValueError, r"top_p is 1\.1; it must lie in "),
        ({"min_p": -0.1}, ValueError, r"min_p is -0\.1; it must lie in \[0, 1\]"),
        ({"min_p": 1.5}, ValueError, r"min_p is 1\.5; it must lie in \[0, 1\]"),
    ],
    ids=str,
)
def test_settings_out_of_range(chosen: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        warp([1.0, 2.0], **chosen)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_bad_logits(bad: float) -> None:
    with pytest.raises(ValueError, match=rf"logits\[1\]\[0\] is {bad}; it must lie in"):
        warp([[0.0, 1.0], [bad, 1.0]])


@pytest.mark.parametrize(
    ("logits", "chosen"),
    [([-np.inf, -np.inf], {}), ([1.0, 2.0], {"temperature": 1e-310}), ([], {}), (1.0, {})],
    ids=["every token excluded", "temperature below float range", "no tokens", "scalar"],
)
def test_logits_that_have_no_law_are_refused(logits: Any, chosen: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"logits|temperature"):
        warp(logits, **chosen)
