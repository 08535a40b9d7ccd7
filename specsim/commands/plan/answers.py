"""Acceptance from an engine's answers, and the share of steps with a draft that stands in a file of acceptance."""

from __future__ import annotations

import csv
from pathlib import Path

from specsim.base import check
from specsim.base.reading import MOST_BYTES, read_text
from specsim.lengths.acceptance_record import Acceptance, from_alpha, from_counts
from specsim.lengths.hazard_files import SHARE as COLUMN
from specsim.lengths.measures import convert_acceptance
from specsim.lengths.request_mixture import kinds_of
from specsim.logs.given import check_coverage, check_share
from specsim.logs.measures import counted_run, implausible, log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import DENSE
from specsim.logs.record import share as share_of_steps


def acceptance_of_log(path: Path, length: int | None, share: float | None, every_step: bool) -> Acceptance:
    """Return hazards counted in a log, with the kinds of its requests where it has them.

    length: drafts of a block, where the log does not say it. share: the share of steps that had a draft, if the caller
    knows it. every_step: whether the drafter makes a draft in each step. ValueError if the share is known neither from
    these nor from the log.
    """
    runs = read_log(path)
    if len(runs) > 1:
        raise ValueError(
            f"{path.name} has {len(runs)} runs; a plan takes the acceptance of one: give a file of one run"
        )
    run = counted_run(runs[0], length)
    hazards = log_acceptance(run, length=length if run.length is None else None).hazards
    if hazards is None:
        raise ValueError(f"{path.name} counts no blocks by the drafts they kept; expected an acceptance_histogram")
    if share is None and not every_step:
        check_coverage(run)
    of_requests = hazards.tau_error is not None
    basis = "intervals over requests" if of_requests else "blocks independent"
    words = [f"hazards counted in {path.name}, {basis}", *implausible(run)]
    if run.coverage is None and share is None:
        words.append("every step had a draft, as what drafts makes one in each")
    acceptance = from_counts(hazards, "; ".join(words))._replace(requests=kinds_of(run.requests))
    return check_share_of_steps(path, share, run.coverage, acceptance)


def of_every_step(path: Path, share: float | None, acceptance: Acceptance) -> Acceptance:
    """Return the acceptance read from a file.

    ValueError if many steps had no draft, and no share of them is given, or another than that of the file.
    """
    return check_share_of_steps(path, share, _share(read_text(path, MOST_BYTES), path), acceptance)


def check_share_of_steps(path: Path, share: float | None, known: float | None, acceptance: Acceptance) -> Acceptance:
    """Return the acceptance; ValueError if the share of steps with a draft is not what a plan takes it for."""
    if share is not None:
        check_share(share, known, path.name)
    if share is None and known is not None and known < DENSE:
        raise ValueError(
            f"{path.name}: {100 * known:.3g} % of the steps had a draft, and a plan would take every step to have one; "
            f"give --drafted-share {known:.3g} (beside --target with --draft ngram or suffix)"
        )
    return acceptance


def _share(text: str, path: Path) -> float | None:
    """Return the share of steps that had a draft; None if the file does not have it."""
    table = csv.DictReader(text.lower().splitlines())
    table.fieldnames = [name.strip() for name in table.fieldnames or ()]
    shares = {row[COLUMN] or "" for row in table} if COLUMN in table.fieldnames else set[str]()
    if not shares:
        return None
    # One share of all steps stands in every row.
    if len(shares) > 1:
        raise ValueError(f"{path.name}: {COLUMN} is {' and '.join(sorted(shares)[:2])}; expected one share in all rows")
    value = share_of_steps(shares.pop(), f"{path.name}: {COLUMN}")
    if not value:
        raise ValueError(f"{path.name}: {COLUMN} is 0; expected more, since drafts were counted")
    return value


def acceptance_of_tau(tau: float, gamma: int | None) -> Acceptance:
    """Return the acceptance, the same of every draft, at which blocks of one length give so many tokens."""
    length = check.integer(gamma, "gamma", 1)
    if not 1 <= float(check.scalar(tau, "tau", "(-inf, inf)")) <= length + 1:
        raise ValueError(f"tau is {tau:g}; with gamma {length} a target step gives 1 to {length + 1} tokens")
    alpha = convert_acceptance(tau, kind="tau", to="alpha", gamma=length)
    words = (
        f"tau is {tau:g} at {length} drafts, as given; within a block every draft is kept with probability {alpha:.3g}"
    )
    return from_alpha(alpha, words)
