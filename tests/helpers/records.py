"""Records of systems with another number here and there."""

from __future__ import annotations

from real.papers.lab.contract import Record
from real.studies.intervals import Estimate


def with_numbers(record: Record, **numbers: Estimate | float) -> Record:
    """The record but for these numbers: those with an interval are measured, the others exact."""
    measured, exact = dict(record.measured), dict(record.exact)
    for name, number in numbers.items():
        if isinstance(number, Estimate):
            measured[name] = number
        else:
            exact[name] = number
    return record._replace(measured=measured, exact=exact)
