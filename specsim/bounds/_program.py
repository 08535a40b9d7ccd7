"""Linear programs given to a solver, with errors that say what to install or what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from specsim.base import extras
from specsim.base.unknown import unknown
from specsim.types import Array


def solved(
    caller: str, solver: str, count: int, gains: Array, limits: Callable[[Any], list[Any]]
) -> tuple[Array, list[Array]]:
    """Maximise the gain of flows (count,) >= 0 under the limits; return the flows, cut at 0, and each limit's prices.

    limits: makes the constraints from the variable. ImportError without cvxpy, ValueError for a solver that is not
    installed, RuntimeError if it finds nothing.
    """
    with extras.needed(caller):
        import cvxpy
    if solver not in cvxpy.installed_solvers():
        raise unknown("solver", solver, cvxpy.installed_solvers(), "installed")
    # Solve, and refuse anything but a solution with prices.
    variable = cvxpy.Variable(count, nonneg=True)
    constraints = limits(variable)
    problem = cvxpy.Problem(cvxpy.Maximize(gains @ variable), constraints)
    try:
        problem.solve(solver=solver)
    except cvxpy.error.SolverError as error:
        raise RuntimeError(f"{solver} found no solution: {error}") from None
    prices = [constraint.dual_value for constraint in constraints]
    if variable.value is None or any(price is None for price in prices):
        raise RuntimeError(f"{solver} ended with status {problem.status!r} and no solution")
    return np.maximum(variable.value, 0), prices
