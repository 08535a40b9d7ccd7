"""Checks of rules: does a file keep the contract of its family, and is it what it states?

`specsim check` runs them on a user's rule. Most are exact (every draw of a sampler in rationals),
others have a stated false-alarm rate. For each there is a wrong rule in ``tests/mutants`` that it
catches.
"""

from specsim.checks.chain import CHAIN_CHECKS
from specsim.checks.control import CONTROL_CHECKS
from specsim.checks.coupled import COUPLED_CHECKS
from specsim.checks.draft import DRAFT_CHECKS
from specsim.checks.findings import check_rule, family_checks
from specsim.checks.objective import OBJECTIVE_CHECKS
from specsim.checks.outcomes import Finding, Skipped
from specsim.checks.process import PROCESS_CHECKS
from specsim.checks.step import STEP_CHECKS
from specsim.checks.tree import TREE_CHECKS

__all__ = [
    "CHAIN_CHECKS",
    "CONTROL_CHECKS",
    "COUPLED_CHECKS",
    "DRAFT_CHECKS",
    "OBJECTIVE_CHECKS",
    "PROCESS_CHECKS",
    "STEP_CHECKS",
    "TREE_CHECKS",
    "Finding",
    "Skipped",
    "check_rule",
    "family_checks",
]
