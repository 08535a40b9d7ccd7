"""KL of what lossy rules emit, beside the least KL that any rule with their acceptance can have (T44)."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from specsim import discover, nearest_output, output_law, total_variation
from specsim.base.arrays import overlap
from specsim.laws.divergences import divergence_of
from specsim.types import Array

# Rows whose outputs are enumerated, each with V^2 numbers.
ENUMERATED = 12
# Multiples of a default that are tried, of every numeric parameter of a rule without settings of its own.
FACTORS = (1 / 8, 1 / 4, 1 / 2, 2, 4, 8)
# log A/B, the same on every row: the marginal price of acceptance on the frontier, in nats a point.
PRICES = (0.02, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 9)
# A difference below this is rounding.
SMALL = 1e-6


def swept(name: str, rule: ModuleType) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A line for each numeric parameter of a rule, at multiples of its default: line, setting, parameters."""
    yield name, "as it is", {}
    half = np.array([0.5, 0.5])
    for parameter in [*inspect.signature(rule.prepare).parameters.values()][3:]:
        default = parameter.default
        if isinstance(default, bool) or not isinstance(default, numbers.Real):
            continue
        for factor in FACTORS:
            value = max(1, round(default * factor)) if isinstance(default, int) else float(default * factor)
            try:
                rule.prepare(half, half, 1, **{parameter.name: value})
            except ValueError:
                continue
            yield f"{name}, {parameter.name}", f"{parameter.name} = {value:g}", {parameter.name: value}


def some_rows(count: int) -> Array:
    """Indices of the rows whose outputs are enumerated, spread over all."""
    return np.unique(np.linspace(0, count - 1, min(ENUMERATED, count)).astype(int))


def outputs(name: str, p: Array, q: Array, params: dict[str, Any]) -> dict[str, float]:
    """Means over rows (n, V): acceptance, TV and KL of the output, and the least KL at each row's acceptance."""
    rule, found = discover.find("step", name), []
    for i in range(len(p)):
        row_params = {key: value[i] if np.shape(value) == p.shape else value for key, value in params.items()}
        law = output_law(p[i], q[i], rule=name, params=row_params)
        accepted = min(float(rule.acceptance(rule.prepare(p[i], q[i], 1, **row_params))), 1.0)
        near = nearest_output(p[i], q[i], acceptance=accepted).output
        distances = (total_variation(law, p[i]), divergence_of(law, p[i], "kl"), divergence_of(near, p[i], "kl"))
        found.append([accepted, *distances])
    means = np.mean(found, axis=0)
    return dict(zip(("some_acceptance", "some_bias", "kl", "least_kl"), map(float, means), strict=True))


def frontier(p: Array, q: Array) -> list[tuple[float, float]]:
    """Mean acceptance and mean KL on the frontier over rows (n, V): at each price, the same on every row."""
    points = [(float(np.mean(overlap(p, q))), 0.0)]
    for price in PRICES:
        low = np.where(p > 0, 0, q).sum(axis=-1)
        high = 1 - overlap(p, q)
        for _ in range(50):
            refused = (low + high) / 2
            near = nearest_output(p, q, acceptance=1 - refused)
            with np.errstate(divide="ignore"):
                is_dear = np.log(near.cap) - np.log(near.floor) > price
            low, high = np.where(is_dear, refused, low), np.where(is_dear, high, refused)
        near = nearest_output(p, q, acceptance=1 - high)
        points.append((float(np.mean(1 - high)), float(np.mean(divergence_of(near.output, p, "kl")))))
    return points


def dominated(point: dict[str, Any], points: Sequence[dict[str, Any]]) -> list[str]:
    """Lines with a point that accepts as often, and is nearer in TV or KL and farther in neither."""

    def gains(other: dict[str, Any]) -> tuple[float, ...]:
        return (
            other["some_acceptance"] - point["some_acceptance"],
            point["some_bias"] - other["some_bias"],
            point["kl"] - other["kl"],
        )

    better = [other for other in points if min(gains(other)) > -SMALL and max(gains(other)) > SMALL]
    return [*dict.fromkeys(other["line"] for other in better)]
