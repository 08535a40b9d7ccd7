"""The errors found in published verifiers (theory/verification.md 11), each with the mutants that commit it."""

from __future__ import annotations

import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.rules import FAMILIES, MUTANTS, load

from specsim.base.arrays import is_exact
from specsim.checks import family_checks
from specsim.verify.step import rejection

ERRORS: dict[str, tuple[str, ...]] = {
    "1": ("chain/block_clamp_then_product", "chain/clamp_then_product"),
    "2": ("chain/block_uncapped_last",),
    "3": ("chain/block_first_failure",),
    "4": ("chain/greedy_block_plain_continuation",),
    "5": (),  # lossless in exact arithmetic: the test below
    "6": ("step/wor_duplicates_of_iid", "tree/duplicates_dropped"),
    "7a": ("draft/wor_not_renormalised", "step/wor_draft_not_renormalised", "tree/traversal_draft_not_renormalised"),
    "7b": ("step/wor_sorted_siblings", "tree/traversal_sorted_siblings", "tree/wor_sorted_siblings"),
    "8": (
        "chain/residual_of_unfiltered_target", "step/residual_of_unfiltered_target",
        "step/tested_against_unfiltered_draft", "tree/tested_against_unfiltered_draft",
    ),
    "9": ("step/greedy_draft_tested_as_drawn", "tree/chosen_tokens_as_draws"),
    "10": ("step/kseq_rho_below_root",),
    "11": ("chain/block_flushes_small_weights", "tree/float32_weights"),
    "12": ("tree/lifted_likelier_path_first",),
}  # fmt: skip


def named() -> dict[str, set[str]]:
    """Mutants by the errors that their docstrings name."""
    found: dict[str, set[str]] = {number: set() for number in ERRORS}
    for path in sorted(MUTANTS.glob("*/*.py")):
        for number in re.findall(r"11, error (\d+[ab]?)", path.read_text().split('"""')[1]):
            found[number].add(f"{path.parent.name}/{path.stem}")
    return found


def test_every_error_has_its_mutants() -> None:
    """The map is what the mutants say themselves; that a named check kills each of them is in test_conformance."""
    assert named() == {number: set(paths) for number, paths in ERRORS.items()}
    for number, paths in ERRORS.items():
        assert paths or number == "5"
        for path in paths:
            family = path.partition("/")[0]
            assert family in FAMILIES
            assert load(MUTANTS / f"{path}.py").KILLED_BY in family_checks(family)


def test_error_5_is_lossless_in_exact_arithmetic() -> None:
    """1e-4 added to a residual of zeros: it is zero only where nothing is rejected, so no exact check can see it.

    A residual that is a rounding error away from zero is hidden by it: in floats some p = q is rejected.
    """

    def prepare(p: np.ndarray, q: np.ndarray, num_drafts: int) -> rejection.Plan:
        over = np.where(p > q, p - q, 0 * p)
        none = over.sum(axis=-1, keepdims=True) == 0
        over = over + np.where(none, Fraction(1, 10**4) if is_exact(p) else 1e-4, 0)
        return rejection.Plan(p, q, over / over.sum(axis=-1, keepdims=True))

    hidden = SimpleNamespace(**vars(rejection) | {"prepare": prepare})
    family_checks("step")["output_is_target"](hidden)
    assert (hidden.prepare(*[np.array([1.0, 0.0])] * 2, 1).left_over == 0.5).all()  # an impossible token, were it drawn
    late = SimpleNamespace(**vars(rejection) | {"prepare": lambda p, q, n: prepare(p, (p + q) / 2, n)})
    with pytest.raises(AssertionError):
        family_checks("step")["output_is_target"](late)
