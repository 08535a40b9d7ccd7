"""The record of the best acceptance, with its proof."""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.results import result
from specsim.types import Array

Status = Literal["optimal", "upper bound"]


@result("value", "status", "error")
class Optimum(NamedTuple):
    """The best acceptance any lossless rule can reach, with the set that proves it.

    ``certificate`` is a boolean mask H over the vocabulary: for every lossless rule,
    acceptance <= 1 + p(H) - Pr[all drafts in H], and ``value`` equals that right-hand side. ``plan`` is a law w of a
    draft chosen among the drafts with sum min(p, w) = ``value``: chosen so, and verified alone against w, it attains
    the value. None where only the value is known. ``error`` bounds how far the method (not rounding) may have moved
    the value: 0 for closed forms.
    """

    value: Array
    certificate: Array
    plan: Array | None
    status: Status
    error: Array
