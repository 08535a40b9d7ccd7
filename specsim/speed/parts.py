"""The parts of a cycle that logs tell apart, what to measure for the rest, and what parts cannot be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from specsim.logs.conversions import LogTau
from specsim.logs.record import shown
from specsim.speed.prediction import Estimate
from specsim.speed.terms import Observation, Terms, in_steps, known, solve

# A term is told apart if its half-interval is at most so many plain steps, or this share of the cycle.
CLEAR = 0.25
NAMES = ("drafting", "verifying", "fixed work")
# Drafts of a block that are taken for the most where no log says how many there are.
MOST_DRAFTS = 16
OTHER_RUN = "likely the logs are of other loads, machines or models, or a time is not of what its line says"


class Part(NamedTuple):
    """Terms of a cycle that the logs tell apart from the others, and their time in plain steps."""

    names: tuple[str, ...]
    steps: Estimate


def split(
    terms: Terms,
    rows: Sequence[tuple[float, float, float, float]],
    gamma: float,
    verified: float,
    total: float,
    z: float,
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts of a cycle that are told apart, and what to measure for the rest."""
    # Which terms are known with a short interval, or are not there.
    is_separate = []
    for row in rows:
        value, error = in_steps(terms, row) if any(row) and known(terms, row) else (0.0, math.inf)
        is_separate.append(not any(row) or z * error <= max(CLEAR, CLEAR * total))
    # A single term that is left is the rest of the cycle, and known as well as the cycle is.
    if sum(not separate for separate in is_separate) == 1:
        is_separate = [separate or known(terms, row) for separate, row in zip(is_separate, rows, strict=True)]
    # Each of them is a part by itself; the others are one part together.
    groups: list[tuple[str, ...]] = []
    groups += [(name,) for name, separate, row in zip(NAMES, is_separate, rows, strict=True) if separate and any(row)]
    rest = tuple(name for name, separate in zip(NAMES, is_separate, strict=True) if not separate)
    if rest:
        groups.append(rest)
    # The parts with their intervals, in the order of NAMES.
    parts = []
    for names in sorted(groups, key=lambda group: NAMES.index(group[0])):
        value, error = in_steps(terms, np.sum([rows[NAMES.index(name)] for name in names], axis=0))
        parts.append(Part(names, Estimate(value, value - z * error, value + z * error)))
    return tuple(parts), _wanted(terms, rows, rest, gamma, verified)


def _wanted(
    terms: Terms,
    rows: Sequence[tuple[float, float, float, float]],
    rest: tuple[str, ...],
    gamma: float,
    verified: float,
) -> tuple[str, ...]:
    """The fewest further measurements that determine every term of the rest."""
    if len(rest) < 2:
        return ()
    # Measurements to choose from, with their rows: drafting, a pass, a run of another length.
    other = max(1.0, gamma - 1 if gamma > 1 else gamma + 1)
    offers = [
        ("the time of drafting a block", (0.0, gamma, 0.0, 0.0)),
        (f"a target pass over {shown(verified)} tokens", (1.0, 0.0, verified - 1.0, 0.0)),
        (f"a run with speculation on at {shown(other)} drafts", (1.0, other, other, 1.0)),
    ]
    # Sets of one, two and all of them: the first that determines the rest together with the present times.
    basis = [row for row in terms.space if np.linalg.norm(row) > 1e-12]
    for count in range(1, len(offers) + 1):
        for chosen in combinations(offers, count):
            further = solve([Observation(row, 0.0, 1.0) for row in (*basis, *(r for _, r in chosen))])
            if all(known(further, rows[NAMES.index(name)]) for name in rest if any(rows[NAMES.index(name)])):
                return tuple(what for what, _ in chosen)
    return ()


def implausible_terms(cycle: Estimate, parts: Sequence[Part]) -> tuple[str, ...]:
    """Return what is impossible in a cycle beyond noise, with the likely cause."""
    faults = []
    if cycle.high is not None and cycle.high < 1:
        faults.append(
            f"a cycle costs {cycle.value:.2f} plain steps, and the pass of the target in it alone costs one; "
            "likely the log without speculation is of another load, machine or model, or its time is not the target's"
        )
    faults += [
        f"{joined_names(part.names)} take {part.steps.value:.2f} plain steps, less than none; likely the times of the "
        "parts and of the cycle are of different runs, or a part is counted twice"
        for part in parts
        if part.steps.high is not None and part.steps.high < 0
    ]
    return tuple(faults)


def implausible_speedup(speedup: Estimate, tau: LogTau | None, gamma: float | None, z: float) -> str:
    """Return why a measured speedup is impossible beyond noise, "" if it is not.

    A cycle takes no less than the plain step in it, so no speedup is above tau, nor above gamma + 1.

    Examples
    --------
    >>> implausible_speedup(Estimate(150.0, 140.0, 160.0), None, 3.0, 1.96)[:55]
    '3 drafts a block give 4 times at most; likely the logs '
    """
    least = speedup.value if speedup.low is None else speedup.low
    if tau is not None and least > tau.value + z * (tau.error or 0.0):
        return f"a cycle emits {tau.value:.2f} tokens, the most that it can gain; {OTHER_RUN}"
    most, words = most_speedup(gamma)
    return f"{words}; {OTHER_RUN}" if tau is None and least > most else ""


def most_speedup(gamma: float | None) -> tuple[float, str]:
    """Return the largest speedup of blocks of gamma drafts, None if no log says how many, and how that is said."""
    if gamma is None:
        most = MOST_DRAFTS + 1.0
        return most, f"no log says how many drafts a block has, and {MOST_DRAFTS} give {most:g} times at most"
    drafts = "1 draft a block gives" if gamma == 1 else f"{shown(gamma)} drafts a block give"
    return gamma + 1, f"{drafts} {shown(gamma + 1)} times at most"


def not_negative(steps: Estimate) -> Estimate:
    """Raise a time to 0 where noise alone has made it negative."""
    if steps.low is None or steps.high is None or steps.high < 0:
        return steps
    return Estimate(max(steps.value, 0.0), max(steps.low, 0.0), steps.high)


def joined_names(names: Sequence[str]) -> str:
    """Return names as one phrase: commas, and `and` before the last.

    Examples
    --------
    >>> joined_names(["drafting", "verifying", "fixed work"])
    'drafting, verifying and fixed work'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
