"""A check passes, fails or is skipped for a reason; a broken contract is the only thing said of a rule."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from helpers.rules import MUTANTS, load
from typer.testing import CliRunner

from specsim import discover
from specsim.checks import STEP_CHECKS, Skipped, backends, check_rule, contract, family_checks
from specsim.checks.contract import theorems
from specsim.checks.outcomes import written
from specsim.cli import app
from specsim.verify.step import rejection


def changed(**names: object) -> ModuleType:
    """The rule rejection with some names changed; None takes one away."""
    kept = {name: value for name, value in (vars(rejection) | names).items() if value is not None}
    return SimpleNamespace(**kept)  # type: ignore[return-value]


def test_without_a_second_library_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "backends", lambda kernel: {})
    for family, name in (("chain", "block"), ("tree", "target_only")):
        with pytest.raises(Skipped, match="neither jax nor torch is installed"):
            family_checks(family)["same_on_every_backend"](discover.find(family, name))
    for family, name in (("step", "rejection"), ("draft", "iid")):
        found = {finding.check: finding for finding in check_rule(discover.find(family, name), family)}
        same = found.pop("same_on_every_backend")
        assert (same.outcome, same.passed, same.failed) == ("skipped", False, False)
        assert same.detail.startswith("neither jax nor torch is installed")
        assert all(finding.passed for finding in found.values())


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ({"DRAFTS": None}, "constant DRAFTS is missing: write DRAFTS = "),
        ({"EXACT": None}, "constant EXACT is missing: write EXACT = True, or False if it takes exp or log"),
        ({"DRAFTS": "Single"}, "DRAFTS is 'Single'; known: distinct, "),
        ({"THEOREM": "T99"}, "THEOREM is 'T99'; known: T01, "),
        ({"transition": None}, "function transition is missing: write def transition(plan, drafts)"),
        ({"bias": lambda law: law}, "bias['law'] should take ['plan']"),
    ],
)
def test_a_broken_contract_is_all_that_is_said(names: dict[str, object], words: str) -> None:
    (finding,) = check_rule(changed(**names), "step")
    assert (finding.check, finding.outcome) == ("contract", "FAIL")
    assert words in finding.detail
    assert "Error" not in finding.detail


@pytest.mark.parametrize("family", contract.PROTOCOLS)
def test_every_constant_that_may_be_missing_has_its_remedy(family: str) -> None:
    wanted = contract.PROTOCOLS[family].__annotations__
    assert [name for name in wanted if not contract.CONSTANTS[name].startswith(f"{name} = ")] == []
    name = next(iter(discover.names(family)))
    module = discover.find(family, name)
    for constant in wanted:
        lacking = type(module)("mine", module.__doc__)
        vars(lacking).update({key: value for key, value in vars(module).items() if key != constant})
        (finding,) = check_rule(lacking, family)
        assert finding.detail == f"constant {constant} is missing: write {contract.CONSTANTS[constant]}"


@pytest.mark.parametrize("family", ["chain", "tree", "draft"])
def test_a_rule_of_another_family_is_recognised(family: str) -> None:
    (finding,) = check_rule(rejection, family)
    assert finding.detail.startswith("this looks like a step rule; ")


def test_the_command_recognises_it_too() -> None:
    path = str(Path(str(rejection.__file__)))
    shown = CliRunner().invoke(app, ["check", path, "--family", "chain"])
    assert shown.exit_code == 1
    assert shown.output.splitlines()[1:] == ["0 passed, 1 failed, 0 skipped: this rule differs from what it states"]
    assert "this looks like a step rule" in shown.output


def test_theorems_without_the_folder_of_proofs(tmp_path: Path) -> None:
    shipped = theorems(tmp_path)
    assert {"open", "T01", "T27"} <= set(shipped) <= set(theorems())
    assert "T99" not in shipped


def test_counterexamples_can_be_pasted() -> None:
    """Fractions without their constructor, and 1 - 2^-53 as it is, not as 1."""
    assert written(np.array([Fraction(0), Fraction(1, 2), Fraction(1)])) == "[0, 1/2, 1]"
    assert written(np.array([[1 - 2.0**-53], [0.5]])) == "[[0.9999999999999999], [0.5]]"
    assert written({0: Fraction(1, 3), 1: Fraction(2, 3)}) == "{0: 1/3, 1: 2/3}"
    rule = load(MUTANTS / "step" / "accepts_at_equality.py")
    with pytest.raises(AssertionError, match=r"u=\[0\.0"):
        STEP_CHECKS["edges"](rule)
    with pytest.raises(AssertionError, match=r"p=\[[0-9/, ]+\] q=\[[0-9/, ]+\]"):
        STEP_CHECKS["output_is_target"](load(MUTANTS / "step" / "target_instead_of_residual.py"))


def test_what_is_enumerated_once_is_of_this_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks share an enumeration; a rule whose functions are others has one of its own."""
    STEP_CHECKS["transition_is_a_law"](rejection)
    honest = rejection.transition
    monkeypatch.setattr(rejection, "transition", lambda plan, drafts: 2 * honest(plan, drafts))
    with pytest.raises(AssertionError, match="does not sum to 1"):
        STEP_CHECKS["transition_is_a_law"](rejection)
