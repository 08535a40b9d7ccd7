"""Conformance tests for verification rules: what specsim runs on its own, usable on yours.

Exact where that is possible (the law of a sampler in rationals, by forking its uniforms), otherwise statistical with
a stated false-alarm rate and a stated smallest detectable distance. Only the strategies (`rational_laws`,
`float_laws`, `tables`, `edge_uniforms`) need the extra ``testing``, which brings hypothesis.
"""

from typing import NoReturn

from specsim.testing.capture import Violation, check_capture, count_kernels
from specsim.testing.cases import drafted_tuples, grid
from specsim.testing.chain_checks import CHAIN_CHECKS
from specsim.testing.control_checks import CONTROL_CHECKS
from specsim.testing.coupled_checks import COUPLED_CHECKS
from specsim.testing.draft_checks import DRAFT_CHECKS
from specsim.testing.findings import check_rule, checks
from specsim.testing.objective_checks import OBJECTIVE_CHECKS
from specsim.testing.outcomes import Finding, Skipped
from specsim.testing.process_checks import PROCESS_CHECKS
from specsim.testing.sampler import sampler_law
from specsim.testing.statistics import LawTest, assert_law, law_test
from specsim.testing.step_checks import STEP_CHECKS
from specsim.testing.strategies import edge_uniforms, float_laws, rational_laws, tables
from specsim.testing.suite import assert_lossless_batch, lossless_suite
from specsim.testing.tree_checks import TREE_CHECKS

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
    "LawTest",
    "Skipped",
    "Violation",
    "assert_law",
    "assert_lossless_batch",
    "check_capture",
    "check_rule",
    "checks",
    "count_kernels",
    "drafted_tuples",
    "edge_uniforms",
    "float_laws",
    "grid",
    "law_test",
    "lossless_suite",
    "rational_laws",
    "sampler_law",
    "tables",
]


def conform(*_args: object, **_kwargs: object) -> NoReturn:
    """The old name of `check_rule`, for one release; a function, since `from ... import` hides what a module says."""
    raise TypeError("specsim.testing.conform is now specsim.testing.check_rule")
