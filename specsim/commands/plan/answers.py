"""Acceptance from the per-request metrics of an engine's answers, for `specsim plan --histogram`."""

from __future__ import annotations

from pathlib import Path

from specsim.lengths.acceptance import Acceptance, from_counts
from specsim.logs.measures import log_acceptance
from specsim.logs.read import read_log
from specsim.logs.record import is_sparse


def acceptance_of_answers(path: Path) -> Acceptance:
    """Return hazards counted in `acceptance_histogram`; ValueError if steps without a draft are known to be many."""
    (run,) = read_log(path)
    found = log_acceptance(run).hazards
    if found is None or is_sparse(run):
        share = 100 * (run.coverage or 0.0)
        raise ValueError(f"{path.name}: {share:.3g} % of the steps had a draft; a plan takes every step to have one")
    assumed = "" if run.coverage is not None else ", every step taken to have a draft (an n-gram has not)"
    return from_counts(found, f"hazards counted in {path.name}, blocks independent{assumed}")
