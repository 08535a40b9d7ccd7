"""Tokens per block of a chain rule, exactly: two laws (the same in every context), a rule and a length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specsim import discover
from specsim.base import limits
from specsim.commands.sweep.inputs import Input, text, whole
from specsim.commands.sweep.kinds import _laws
from specsim.exact.chain import expected_tokens


def _rule(name: str) -> None:
    """Refuse a name that no chain rule has."""
    discover.find("chain", name)


INPUTS: dict[str, Input] = {
    "target": text(_laws.law),
    "draft": text(_laws.law),
    "rule": text(_rule, "tokenwise", names_files=True),
    "gamma": whole(0, limits.MAX_SUMMED),
}
OUTPUTS = {"tau": "double"}
CHUNK, MOST = 20, 1 << 20


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return tau; ValueError where there are too many blocks to sum over."""
    p, q = _laws.law(point["target"]), _laws.law(point["draft"])
    return {"tau": float(expected_tokens(p, q, rule=point["rule"], gamma=point["gamma"]))}
