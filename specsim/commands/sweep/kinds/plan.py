"""Predicted speedups of one speculation length, from acceptance and costs, as `specsim.predict` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specsim.base import limits
from specsim.commands.sweep.inputs import Input, real, whole
from specsim.commands.sweep.kinds import _costs
from specsim.speed.prediction import predict

INPUTS: dict[str, Input] = {"alpha": real("[0, 1]"), "gamma": whole(0, limits.MAX_GAMMA), **_costs.INPUTS}
OUTPUTS = {
    "tau": "double",
    "speedup": "double",
    "speedup_low": "double",
    "speedup_high": "double",
    "draft_time": "double",
    "verify_time": "double",
    "cycle_time": "double",
    "tokens_per_time": "double",
    "unit": "string",
}
CHUNK, MOST = 1000, 1 << 20
check = _costs.check


def row(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the prediction; ends of its interval are empty if it has none."""
    prediction = predict(
        _costs.costs(point), point["alpha"], gamma=point["gamma"], batch=point["batch"], context=point["context"]
    )
    return {
        "tau": prediction.tau.value,
        "speedup": prediction.speedup.value,
        "speedup_low": prediction.speedup.low,
        "speedup_high": prediction.speedup.high,
        "draft_time": prediction.draft,
        "verify_time": prediction.verify,
        "cycle_time": prediction.cycle.value,
        "tokens_per_time": prediction.tokens_per_time.value,
        "unit": prediction.unit,
    }
