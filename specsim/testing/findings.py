"""Run every check of a family on a rule, and say which failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from specsim import discover
from specsim.testing.chain_checks import CHAIN_CHECKS
from specsim.testing.draft_checks import DRAFT_CHECKS
from specsim.testing.outcomes import Check, Finding, find
from specsim.testing.step_checks import STEP_CHECKS
from specsim.testing.tree_checks import TREE_CHECKS

Checks = Mapping[str, Check]
_FAMILIES: dict[str, Checks] = {
    "step": STEP_CHECKS,
    "chain": CHAIN_CHECKS,
    "tree": TREE_CHECKS,
    "draft": DRAFT_CHECKS,
}


def checks(family: str) -> Checks:
    """The checks of a family by name.

    Parameters
    ----------
    family : str
        "step", "chain", "tree" or "draft".

    Returns
    -------
    mapping
        Name -> function that takes a module and raises AssertionError, or Skipped where it has nothing to say.

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


def conform(module: ModuleType, family: str, *, params: Mapping[str, Any] | None = None) -> list[Finding]:
    """Run every check of a family on a module; after a broken contract, no other.

    Exact up to V = 4 and K = 3 (V = 3, gamma = 3 for chains; 4 nodes, 3 levels for trees), against Fractions up to
    V = 24, K = 5, gamma = 8, beyond that not at all: a rule that is wrong only for larger sizes passes.

    Parameters
    ----------
    module : module
        A rule or a draft scheme (see specsim.types).
    family : str
        "step", "chain", "tree" or "draft".
    params : mapping, optional
        The rule's own parameters by name, as {"epsilon": 0.2}; those that are not named keep their defaults.

    Returns
    -------
    list of Finding
        One per check: "pass", "FAIL" or "skipped" with its reason. An exception inside a check is a failure too.

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
    >>> any(finding.failed for finding in conform(rejection, "step"))
    False
    """
    return list(findings(discover.with_params(module, params), family))


def findings(module: ModuleType, family: str) -> Iterator[Finding]:
    """What `conform` returns, each as soon as its check is done: some take a minute."""
    for name, check in checks(family).items():
        finding = find(name, check, module)
        yield finding
        if name == "contract" and finding.failed:
            return  # without its names every other check would only raise AttributeError
