"""Simulated decoding on two laws: a rule with a length or a tree, by `specsim.simulate`, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from specsim import discover
from specsim.base import limits
from specsim.base.modules import own_rule
from specsim.commands.simulate_run import LEVEL, shape
from specsim.commands.sweep.inputs import Input, text, whole
from specsim.commands.sweep.kinds import _laws
from specsim.simulation.run import simulate

# Most blocks and most texts of one row.
BLOCKS = 10**9
SEQUENCES = 1 << 20


def _rule(name: str) -> None:
    """Refuse a name that no chain, step or tree rule has."""
    if own_rule(name) is None and not any(name in discover.names(family) for family in ("chain", "step", "tree")):
        raise ValueError("no chain, step or tree rule is called so; see `specsim rules`")


def _scheme(name: str) -> None:
    """Refuse a name that no scheme has; "beam" draws whole trees."""
    if name != "beam":
        discover.find("draft", name)


def _step(name: str) -> None:
    """Refuse a name that no step rule has."""
    discover.find("step", name)


INPUTS: dict[str, Input] = {
    "target": text(_laws.law),
    "draft": text(_laws.law),
    "rule": text(_rule, "tokenwise", names_files=True),
    "gamma": whole(0, limits.MAX_SUMMED, None),
    "tree": text(shape, None),
    "num_drafts": whole(1, limits.MAX_DRAFTS, 1),
    "scheme": text(_scheme, None),
    "step": text(_step, None, names_files=True),
    "blocks": whole(1, BLOCKS, 100_000),
    "sequences": whole(2, SEQUENCES, 1024),
    "seed": whole(0, 2**63 - 1, 0),
}
OUTPUTS = {
    "tau": "double",
    "tau_low": "double",
    "tau_high": "double",
    "tokens": "int64",
    "kept": "list<int64>",
    "hazards": "list<double>",
}
CHUNK, MOST = 1, 1 << 16


def check(axes: Mapping[str, tuple[Any, ...]]) -> None:
    """Raise ValueError unless the axes give lengths or trees, not both."""
    if ("gamma" in axes) == ("tree" in axes):
        raise ValueError("give gamma or tree, one of the two")


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return tau with its interval, blocks that kept 0, 1, ... drafts, and hazards; the same on every machine."""
    options = {name: point[name] for name in INPUTS if name not in ("target", "draft", "tree")}
    trace = simulate(
        _laws.law(point["target"]),
        _laws.law(point["draft"]),
        parents=shape(point["tree"], point["scheme"]),
        **options,
    )
    # Hazards are empty where no block came.
    low, high = trace.tau_interval(LEVEL)
    return {
        "tau": trace.tau,
        "tau_low": low,
        "tau_high": high,
        "tokens": int(trace.lengths.sum()),
        "kept": [int(n) for n in trace.histogram],
        "hazards": [None if np.isnan(h) else float(h) for h in trace.hazards],
    }
