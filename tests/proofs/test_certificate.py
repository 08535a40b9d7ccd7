"""The certificate checker passes what `optimum` returns on rationals, and refuses everything else."""

from __future__ import annotations

import ast
import importlib.util
import itertools
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import optimum
from specsim.testing.strategies import law_pairs, rational_laws

FILE = Path(__file__).parents[2] / "proofs" / "check_certificate.py"
spec = importlib.util.spec_from_file_location("check_certificate", FILE)
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
check = module.check_certificate

P, Q = np.array([F(5, 10), F(3, 10), F(2, 10)]), np.array([F(1, 10), F(3, 10), F(6, 10)])


def claim(p: Any, q: Any, n: int) -> dict[str, Any]:
    best = optimum(p, q, num_drafts=n)
    return {"p": p, "q": q, "n": n, "value": best.value, "h": best.certificate, "w": best.plan}


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 6).flatmap(law_pairs), st.integers(1, 5))
def test_every_optimum_is_certified(pair: tuple[Any, Any], n: int) -> None:
    check(**claim(*pair, n))


@settings(max_examples=200, deadline=None)
@given(st.integers(2, 4).flatmap(lambda v: st.tuples(law_pairs(v), rational_laws(v))), st.integers(1, 3))
def test_an_accepted_plan_is_feasible_on_every_set(drawn: Any, n: int) -> None:
    """The prefixes are enough: a plan passes them if and only if w(S) >= q(S)^n for all sets S."""
    (_, q), w = drawn
    sets = itertools.product([False, True], repeat=len(q))
    feasible = all(sum(w[np.array(s)], F(0)) >= sum(q[np.array(s)], F(0)) ** n for s in sets)
    empty = np.zeros(len(q), dtype=bool)  # bound 1, which the plan w meets for the target w
    try:
        check(w, q, n, F(1), empty, w)
        accepted = True
    except ValueError:
        accepted = False
    assert accepted == feasible


def test_only_the_standard_library_and_short() -> None:
    text = FILE.read_text()
    imported = {n.module for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)}
    assert imported == {"__future__", "collections.abc", "fractions", "numbers"}
    assert not any(isinstance(n, ast.Import) for n in ast.walk(ast.parse(text)))
    assert len(text.splitlines()) < 60


good = claim(P, Q, 2)
WRONG = {
    "value too high": ({"value": good["value"] + F(1, 1000)}, "H proves the bound"),
    "value too low": ({"value": good["value"] - F(1, 1000)}, "H proves the bound"),
    "set of another bound": ({"h": np.array([True, True, True])}, "H proves the bound"),
    "more drafts": ({"n": 3}, "H proves the bound"),
    "no drafts": ({"n": 0}, r"n must be an integer of at least 1, got 0"),
    "plan is the target": ({"w": P}, "all drafts lie there"),
    "plan is the draft law": ({"w": Q}, "keeps a draft with probability 3/5"),
    "plan is no law": ({"w": good["w"] / 2}, "w sums to 1/2"),
    "negative plan": ({"w": np.array([F(-1, 10), F(5, 10), F(6, 10)])}, r"w\[0\] = -1/10 is negative"),
    "floats": ({"p": [0.5, 0.3, 0.2]}, r"p\[0\] = 0.5 is not an exact rational"),
    "target is no law": ({"p": 2 * P}, "p sums to 2"),
    "lengths": ({"q": Q[:2]}, "have 3, 2, 3 and 3 entries"),
    "undrafted winner": (
        {"p": [F(1, 2), F(1, 2)], "q": [F(1), F(0)], "h": [False, False], "w": [F(1, 2), F(1, 2)], "value": F(1)},
        "no draft is token 1",
    ),
}


@pytest.mark.parametrize(("change", "complaint"), WRONG.values(), ids=list(WRONG))
def test_wrong_claims_are_refused(change: dict[str, Any], complaint: str) -> None:
    check(**good)
    with pytest.raises(ValueError, match=complaint):
        check(**{**good, **change})
