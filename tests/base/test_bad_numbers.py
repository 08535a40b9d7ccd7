"""Numbers out of range, by public function: one error that names the argument and the number."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.testing import sampler_law

F, NAN, INF = Fraction, float("nan"), float("inf")
HALF = [0.5, 0.5]

NUMBERS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: specsim.block_efficiency(0.5, gamma=-1), ValueError, r"^gamma must be at least 0, got -1$"),
    (lambda: specsim.accepted_length_law(0.5, gamma=2.5), TypeError, r"^gamma must be an integer, got 2\.5$"),
    (lambda: specsim.speedup(0.5, gamma=-1), ValueError, r"^gamma must be at least 0, got -1$"),
    (
        lambda: specsim.block_efficiency(0.5),
        ValueError,
        r"^alpha is a single number: give gamma, or a hazard curve",
    ),
    (
        lambda: specsim.block_efficiency([0.5, 1.2]),
        ValueError,
        r"^alpha\[1\] is 1\.2; it must lie in \[0, 1\]$",
    ),
    (
        lambda: specsim.accepted_length_law([F(-1, 2)]),
        ValueError,
        r"^alpha\[0\] is -1/2; it must lie in \[0, 1\]$",
    ),
    (
        lambda: specsim.block_efficiency([[0.5], [0.5, 0.5]]),
        TypeError,
        r"^alpha must have rows of equal length$",
    ),
    (lambda: specsim.optimal_gamma(NAN), ValueError, r"^alpha is nan; it must lie in \[0, 1\]$"),
    (
        lambda: specsim.optimal_gamma([[0.5]]),
        ValueError,
        r"^alpha must be a number or one hazard curve, got .*\(1, 1\)",
    ),
    (lambda: specsim.optimal_gamma(0.5, max_gamma=0), ValueError, r"^max_gamma must be at least 1, got 0$"),
    (
        lambda: specsim.speedup(0.5, gamma=1, cost_ratio=-1),
        ValueError,
        r"^cost_ratio is -1; it must lie in \[0, inf\)$",
    ),
    (
        lambda: specsim.speedup(0.5, gamma=1, overhead=NAN),
        ValueError,
        r"^overhead is nan; it must lie in \[0, ",
    ),
    (
        lambda: specsim.speedup(0.5, gamma=1, verify_cost=lambda m: 0),
        ValueError,
        r"^verify_cost at 2 tokens is 0; it must lie in \(0, inf\)$",
    ),
    (
        lambda: specsim.speedup(0.5, gamma=1, verify_cost=[1.0]),
        ValueError,
        r"^verify_cost has 1 entries; t\(2\) is ",
    ),
    (
        lambda: specsim.renewal([0.5]),
        ValueError,
        r"^survival must have shape \(T, gamma\) with T >= 1, got \(1,\)$",
    ),
    (lambda: specsim.renewal(np.zeros((0, 2))), ValueError, r"^survival must have shape .*, got \(0, 2\)$"),
    (
        lambda: specsim.renewal([[0.5], [1.2]]),
        ValueError,
        r"^survival\[1\]\[0\] is 1\.2; it must lie in \[0, 1\]$",
    ),
    (
        lambda: specsim.renewal([[0.9, 0.2], [0.2, 0.9]]),
        ValueError,
        r"^survival\[1\] increases along the row",
    ),
    (lambda: specsim.keyed_uniforms(-1, 0, 0, 2), ValueError, r"^seed must be at least 0"),
    (lambda: specsim.keyed_uniforms(0, 0, -1, 2), ValueError, r"^position must be at least 0"),
    (lambda: specsim.keyed_uniforms(0.5, 0, 0, 2), TypeError, r"^seed must be an integer"),
    (lambda: specsim.normalize([-1, 2]), ValueError, r"^weights\[0\] is -1\.0; it must lie in \[0, inf\)$"),
    (lambda: specsim.normalize([NAN, 2]), ValueError, r"^weights\[0\] is nan; "),
    (
        lambda: specsim.normalize([[1, 1], [0, 0]]),
        ValueError,
        r"^sum of weights\[1\] is 0; there is nothing to rescale$",
    ),
    (lambda: specsim.normalize([INF, 0.0]), ValueError, r"^weights\[0\] is inf; "),
    (
        lambda: specsim.normalize(1.0),
        ValueError,
        r"^weights must have a last axis of at least one token, got shape \(\)$",
    ),
    (
        lambda: sampler_law(lambda p, q, x, u: 0, HALF, HALF),
        TypeError,
        r"^sampler_law needs one pair of rows of Frac",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), NUMBERS, ids=lambda v: v if isinstance(v, str) else "")
def test_numbers(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_traced_values_are_not_read_but_shapes_are() -> None:
    jax = pytest.importorskip("jax")
    bad = np.array([0.5, 0.6])
    assert jax.jit(specsim.acceptance_rate)(bad, bad) > 1  # as documented: only shapes can be checked
    with pytest.raises(ValueError, match="the vocabularies differ"):
        jax.jit(specsim.acceptance_rate)(bad, np.ones(3) / 3)


def test_renewal_reads_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    assert specsim.renewal(torch.full((4, 1), 0.5)).blocks == 2.875
