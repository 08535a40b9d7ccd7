"""What the transport program takes and refuses, by its messages."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import optimal_coupling

HALF, SPREAD, THIRDS = [0.5, 0.5], [0.5, 0.3, 0.2], [1 / 3] * 3


def test_fractions_and_other_libraries_become_numpy() -> None:
    torch = pytest.importorskip("torch")
    exact = optimal_coupling([Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)], num_drafts=2)
    assert isinstance(exact.value, float)
    assert exact.value == pytest.approx(8 / 9)  # theory/verification.md section 12
    found = optimal_coupling(torch.tensor(SPREAD), torch.tensor(THIRDS))
    assert type(found.flow) is np.ndarray
    assert found.value == pytest.approx(1 - 1 / 6, abs=1e-6)  # 1 - TV


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "neither": (lambda: optimal_coupling(HALF), ValueError, "^give either q or draft_law$"),
    "both": (lambda: optimal_coupling(HALF, HALF, draft_law=HALF), ValueError, "^give either q or draft_law$"),
    "sum": (
        lambda: optimal_coupling(HALF, draft_law=[[0.5, 0.2], [0.1, 0.1]]),
        ValueError,
        r"^draft_law sums to 0\.9; probabilities must sum to 1 within 1e-06$",
    ),
    "negative": (
        lambda: optimal_coupling(HALF, draft_law=[[0.5, -0.2], [0.6, 0.1]]),
        ValueError,
        r"^draft_law\[0\]\[1\] is -0\.2; it must lie in \[0, 1\]$",
    ),
    "shape": (
        lambda: optimal_coupling(HALF, draft_law=[[0.5, 0.2, 0.1], [0.1, 0.1, 0]]),
        ValueError,
        r"^draft_law has shape \(2, 3\); with 2 tokens every axis must have 2 entries$",
    ),
    "vocabulary of draft_law": (
        lambda: optimal_coupling(SPREAD, draft_law=[[0.5, 0.2], [0.2, 0.1]]),
        ValueError,
        r"^draft_law has shape \(2, 2\); with 3 tokens",
    ),
    "number of draft_law": (lambda: optimal_coupling([1.0], draft_law=1.0), ValueError, r"^draft_law has shape \(\);"),
    "num_drafts of draft_law": (
        lambda: optimal_coupling(HALF, draft_law=[[0.5, 0.5], [0, 0]], num_drafts=3),
        ValueError,
        r"^draft_law has 2 axes, one for each draft, but num_drafts is 3$",
    ),
    "vocabularies": (lambda: optimal_coupling(HALF, SPREAD), ValueError, r"^p has 2 tokens and q has 3: the vocab"),
    "row": (lambda: optimal_coupling([0.5, 0.6], HALF), ValueError, r"^p sums to 1\.1; "),
    "batch": (
        lambda: optimal_coupling([HALF] * 2, HALF),
        ValueError,
        r"^p has shape \(2, 2\); a coupling is of one row, \(2,\)$",
    ),
    "num_drafts": (lambda: optimal_coupling(HALF, HALF, num_drafts=0), ValueError, "^num_drafts must be at least 1"),
    "scheme": (lambda: optimal_coupling(HALF, HALF, scheme="magic"), ValueError, "^scheme 'magic' is unknown; "),
    "solver": (
        lambda: optimal_coupling(HALF, HALF, solver="magic"),
        ValueError,
        "^solver 'magic' is unknown; installed: .*HIGHS",
    ),
    "size": (
        lambda: optimal_coupling([1 / 3000] * 3000, [1 / 3000] * 3000, num_drafts=2),
        ValueError,
        r"^the transport program over 3000\^2 draft tuples is too large \(at most 4194304\); optimal_acceptance\(p, ",
    ),
    "flows": (
        lambda: optimal_coupling([1 / 1500] * 1500, draft_law=np.full((1500, 1500), 1500.0**-2)),
        ValueError,
        r"^the transport program over 2250000 flows from sets .* is too large \(at most 2097152\); give fewer tokens",
    ),
    "count of a scheme": (
        lambda: optimal_coupling(HALF, HALF, num_drafts=3, scheme="hub"),
        ValueError,
        "^scheme 'hub' draws 1 or 2 candidates, got num_drafts=3$",
    ),
    "a law for each draft": (
        lambda: optimal_coupling(HALF, HALF, num_drafts=3, scheme="independent"),
        ValueError,
        r"^q has shape \(2,\); a coupling is of one row, \(3, 2\)$",
    ),
    "undrafted": (
        lambda: optimal_coupling(HALF, [1.0, 0.0], num_drafts=2).transition([[0, 0], [0, 1]]),
        ValueError,
        r"^drafts \[0, 1\] have probability 0$",
    ),
    "tokens": (lambda: optimal_coupling(HALF, HALF).transition([2]), ValueError, r"^drafts\[0\] is token 2, outside"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors(case: str) -> None:
    call, error, message = BAD[case]
    with pytest.raises(error, match=message):
        call()


def test_the_support_decides_the_size() -> None:
    p, q = np.full(3000, 1 / 3000), np.eye(3000)[:2].sum(axis=0) / 2
    assert optimal_coupling(p, q, num_drafts=5).value == pytest.approx(2 / 3000, abs=1e-9)


def test_without_cvxpy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(ImportError, match=r"^optimal_coupling needs cvxpy: install the extra `solve`"):
        optimal_coupling(HALF, HALF)
