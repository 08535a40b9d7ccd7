"""How far an output is from the target: f-divergences sum p f(o/p), each with the slope of its f."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from specsim.base.arrays import is_exact
from specsim.types import Array


class Divergence(NamedTuple):
    """A convex function f of the ratio t = o/p, with f(1) = 0 and slope 0 at 1.

    Another slope at 1 would add a multiple of sum (o - p), which is 0.
    """

    f: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    # Output that costs 1 where the target has no mass: one over the slope of f for large t. None if
    # any such output costs infinitely much.
    stray: int | None


def _log(t: Array) -> Array:
    return np.log(t, out=np.full(np.shape(t), -np.inf), where=np.asarray(t > 0))


DIVERGENCES = {
    "tv": Divergence(lambda t: abs(t - 1) / 2, lambda t: ((t > 1) * 1 - (t < 1) * 1) / 2, 2),
    # t log t - (t - 1), which is 1 at 0.
    "kl": Divergence(lambda t: t * np.log(np.where(t > 0, t, 1)) - (t - 1), _log, None),
    # (t - 1) - log t, infinite at 0.
    "reverse_kl": Divergence(lambda t: (t - 1) - _log(t), lambda t: 1 - 1 / np.where(t > 0, t, 0.0), 1),
    "chi2": Divergence(lambda t: (t - 1) * (t - 1), lambda t: 2 * (t - 1), None),
}
# Those without a logarithm, which are exact on Fractions.
RATIONAL = ("tv", "chi2")


@np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")
def divergence_of(output: Array, p: Array, name: str) -> Array:
    """Return the divergence of outputs (..., V) from targets (..., V), shape (...).

    "tv" is total variation, "kl" is KL(output || target), "reverse_kl" is KL(target || output) and
    "chi2" is sum (o - p)^2 / p.

    >>> o, p = np.array([0.5, 0.5]), np.array([0.75, 0.25])
    >>> {name: round(float(divergence_of(o, p, name)), 4) for name in DIVERGENCES}
    {'tv': 0.25, 'kl': 0.1438, 'reverse_kl': 0.1308, 'chi2': 0.3333}
    """
    f, _, stray_unit = DIVERGENCES[name]
    # Integers among Fractions would divide to floats.
    output = output + Fraction(0) if is_exact(output) else output
    has_mass = p > 0
    ratio = np.where(has_mass, output, 1) / np.where(has_mass, p, 1)
    inside = np.where(has_mass, p * f(ratio), 0).sum(axis=-1)
    # Output where the target has no mass.
    stray = (output * ~has_mass).sum(axis=-1)
    outside = np.where(stray > 0, np.inf, 0) if stray_unit is None else stray / stray_unit
    return np.asarray(inside + outside)[()]
