"""Acceptance at one position: two laws, a step rule and its number of drafts, beside the optimum of the scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specsim import discover
from specsim.base import limits
from specsim.bounds.optimum import optimal_acceptance
from specsim.commands.sweep.inputs import Input, text, whole
from specsim.commands.sweep.kinds import _laws
from specsim.exact.step import acceptance_within


def _rule(name: str) -> None:
    """Refuse a name that no step rule has."""
    discover.find("step", name)


def _scheme(name: str) -> None:
    """Refuse a name that no scheme has."""
    discover.find("draft", name)


INPUTS: dict[str, Input] = {
    "target": text(_laws.law),
    "draft": text(_laws.law),
    "rule": text(_rule, "rejection", names_files=True),
    "num_drafts": whole(1, limits.MAX_DRAFTS, 1),
    "scheme": text(_scheme, None),
}
OUTPUTS = {"acceptance": "double", "error": "double", "optimum": "double"}
CHUNK, MOST = 50, 1 << 20


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the acceptance, half of its 99 % interval (0: exact), and the most a lossless rule reaches, if known."""
    p, q, drafts = _laws.law(point["target"]), _laws.law(point["draft"]), point["num_drafts"]
    scheme = point["scheme"] or discover.facts(discover.find("step", point["rule"])).schemes[0]
    rate = acceptance_within(p, q, point["rule"], drafts, point["scheme"])
    # A scheme without a bound has no optimum.
    try:
        best = float(optimal_acceptance(p, q, num_drafts=drafts, scheme=scheme))
    except ValueError:
        best = None
    return {"acceptance": float(rate.value), "error": float(rate.error), "optimum": best}
