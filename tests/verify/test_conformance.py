"""Every check on every rule found in the folders, and on every mutant that it must kill."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.rules import FAMILIES, MUTANTS, load

from specsim import discover
from specsim.checks import Skipped, family_checks
from specsim.checks.findings import findings
from specsim.checks.outcomes import Finding

pytestmark = pytest.mark.usefixtures("optimized")
SHIPPED = [
    (family, name, check) for family in FAMILIES for name in discover.names(family) for check in family_checks(family)
]
PLANTED = [(path.parent.name, path) for path in sorted(MUTANTS.glob("*/*.py"))]


@pytest.mark.parametrize(("family", "name", "check"), SHIPPED, ids=lambda v: str(v))
def test_rule_passes(family: str, name: str, check: str) -> None:
    try:
        family_checks(family)[check](discover.find(family, name))
    except Skipped as reason:
        pytest.skip(str(reason))


@pytest.mark.slow  # as users have it compiled, which takes XLA far longer than the comparison
@pytest.mark.parametrize(("family", "name"), [(f, n) for f, n, check in SHIPPED if check == "same_on_every_backend"])
def test_an_optimized_rule_is_the_same_on_every_backend(family: str, name: str) -> None:
    family_checks(family)["same_on_every_backend"](discover.find(family, name))


@pytest.mark.parametrize(("family", "path"), PLANTED, ids=lambda v: getattr(v, "stem", v))
def test_mutant_is_killed(family: str, path: Path) -> None:
    if path.stem.startswith("torch_"):  # wrong on torch alone
        pytest.importorskip("torch")
    mutant = load(path)
    try:
        with pytest.raises((AssertionError, *LOUD.get(mutant.KILLED_BY, ()))):
            family_checks(family)[mutant.KILLED_BY](mutant)
    except Skipped as reason:  # no second array library is installed
        pytest.skip(str(reason))


# A rule that breaks its contract, or NumPy code handed a traced array, may fail by an exception of its own.
LOUD: dict[str, tuple[type[Exception], ...]] = {
    "contract": (TypeError, IndexError),
    "same_on_every_backend": (TypeError,),
}


def test_every_check_kills_a_mutant() -> None:
    pytest.importorskip("torch")  # of one mutant
    killed = {(family, load(path).KILLED_BY) for family, path in PLANTED}
    assert killed == {(family, check) for family in FAMILIES for check in family_checks(family)}
    assert len(PLANTED) >= 120


def test_findings_come_as_their_checks_are_done() -> None:
    """A check of a minute must not hold back those before it."""
    module = discover.find("step", "rejection")
    first = next(iter(findings(module, "step")))
    assert first == Finding("contract", "pass", "")
