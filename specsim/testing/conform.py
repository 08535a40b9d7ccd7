"""Run every check of a family on a rule, and say which failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import NamedTuple

from specsim.testing.chain_checks import CHAIN_CHECKS
from specsim.testing.draft_checks import DRAFT_CHECKS
from specsim.testing.step_checks import STEP_CHECKS
from specsim.testing.tree_checks import TREE_CHECKS

Checks = Mapping[str, Callable[[ModuleType], None]]
_FAMILIES: dict[str, Checks] = {
    "step": STEP_CHECKS,
    "chain": CHAIN_CHECKS,
    "tree": TREE_CHECKS,
    "draft": DRAFT_CHECKS,
}


class Finding(NamedTuple):
    """One check on one rule: its name, whether it passed, and what it saw if not."""

    check: str
    passed: bool
    detail: str


def checks(family: str) -> Checks:
    """The checks of a family by name.

    Parameters
    ----------
    family : str
        "step", "chain", "tree" or "draft".

    Returns
    -------
    mapping
        Name -> function that takes a module and raises AssertionError.

    Raises
    ------
    ValueError
        The family is unknown.

    References
    ----------
    proofs/README.md states what each establishes.

    Examples
    --------
    >>> list(checks("draft"))[:2]
    ['contract', 'draws_follow_probability']
    """
    if family not in _FAMILIES:
        raise ValueError(f"family {family!r} is unknown; known: {', '.join(_FAMILIES)}")
    return _FAMILIES[family]


def conform(module: ModuleType, family: str) -> list[Finding]:
    """Run every check of a family on a module.

    Exact up to V = 4 and K = 3 (V = 3, gamma = 3 for chains; 4 nodes, 3 levels for trees), against Fractions up to
    V = 24, K = 5, gamma = 8, beyond that not at all: a rule that is wrong only for larger sizes passes.

    Parameters
    ----------
    module : module
        A rule or a draft scheme (see specsim.types).
    family : str
        "step", "chain", "tree" or "draft".

    Returns
    -------
    list of Finding
        One per check; an exception inside a check is a failure too.

    Raises
    ------
    ValueError
        The family is unknown.

    References
    ----------
    proofs/README.md states what each check establishes.

    Examples
    --------
    >>> from specsim.verify.step import rejection
    >>> all(finding.passed for finding in conform(rejection, "step"))
    True
    """
    findings = []
    for name, check in checks(family).items():
        try:
            check(module)
        except Exception as error:  # a rule under test may fail in any way
            findings.append(Finding(name, False, f"{type(error).__name__}: {error}"))
        else:
            findings.append(Finding(name, True, ""))
    return findings
