"""Weights by which one of two is chosen: a wins over b with probability weight a / (weight a + weight b)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from array_api_compat import device, is_numpy_array

from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array

STEPS = 16
NOISE = 256  # times what floats can tell from 1
ROUNDING = 2.0**-50  # what sums of a law are off by
LARGEST = 2.0  # logarithms of two weights move apart by so much in one step: the curve below is not trusted further


def weights(wanted: Array, met: Array, tier: Array) -> Array:
    """Weights (..., B) with which b wins `wanted` (..., B) of its meetings with others of its tier (..., B).

    `met` (..., B, B) is how often two meet, of whatever tiers. Newton's method on a convex function of the logarithms
    (T38); Fractions get the weights that floats have.
    """
    if is_exact(wanted):
        return _of_floats(wanted, met, tier)
    xp = array_namespace(wanted)
    count = wanted.shape[-1]
    itself = xp.eye(count, dtype=xp.bool, device=device(wanted))
    same = (tier[..., :, None] == tier[..., None, :]) & (met > 0) | itself
    met = xp.where(same & ~itself, met, 0)
    total = xp.sum(met, axis=-1)
    members = xp.sum(xp.astype(same, wanted.dtype), axis=-1)
    noise = NOISE * float(xp.finfo(wanted.dtype).eps)
    fixed = xp.where(same, noise, 0)  # what is added to all logarithms of a tier changes nothing
    idle = total <= 0
    logs = xp.where(idle, 0, xp.log(_share(wanted, total)) - xp.log(_share(total - wanted, total)))
    for _ in range(STEPS):
        won = 1 / (1 + xp.exp(logs[..., None, :] - logs[..., :, None]))
        off = xp.where(idle, 0, xp.sum(met * won, axis=-1) - wanted)
        if is_numpy_array(off) and float(np.max(abs(off))) < ROUNDING:  # elsewhere asking would wait for a device
            break
        curve = met * won * (1 - won)
        own = xp.sum(curve, axis=-1)
        scale = 1 / xp.sqrt(xp.where(own > 0, own, 1))  # some weights are very small, and their curves with them
        matrix = xp.where(itself, 1 + noise, fixed - curve * scale[..., :, None] * scale[..., None, :])
        step = scale * xp.linalg.solve(matrix, (scale * off)[..., None])[..., 0]
        step = xp.where(idle, 0, step)
        step = step - xp.sum(xp.where(same, step[..., None, :], 0), axis=-1) / members  # moves the tier, not its shares
        size = xp.max(xp.where(same, abs(step)[..., None, :], 0), axis=-1)
        logs = logs - step * xp.where(size > LARGEST, LARGEST / xp.where(size > 0, size, 1), 1)
    return xp.exp(logs - xp.max(logs, axis=-1, keepdims=True))


def _of_floats(wanted: Array, met: Array, tier: Array) -> Array:
    """Weights of Fractions, row by row among those that meet any: others must not change the order of sums."""
    found = np.full(wanted.shape, Fraction(1), dtype=object)
    for row in np.ndindex(wanted.shape[:-1]):
        live = np.flatnonzero(np.any(met[row] > 0, axis=-1))
        among = met[row][np.ix_(live, live)].astype(float)
        if live.size:
            some = weights(wanted[row][live].astype(float), among, tier[row][live])
            found[row][live] = [Fraction(w) for w in some.tolist()]
    return found


def _share(part: Array, total: Array) -> Array:
    """part / total, kept away from 0 and 1."""
    xp = array_namespace(part)
    share = part / xp.where(total > 0, total, 1)
    return xp.where(share > 1e-6, share, 1e-6)
