"""How sure a draft is that its tokens are kept: the largest probability, its own token's, or a network's word."""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.base.unknown import unknown
from specsim.types import Array, Signals

READ = ("top", "own")  # signals that are confidences themselves
TOP = 10  # largest probabilities of a row that are looked at
INPUTS = TOP + 2  # of a network: these, entropy and position; one more reads the drawn token's probability, too
Layers = tuple[tuple[Array, Array], ...]  # (in, out) weights and (out,) shifts; all but the last are followed by ReLU


def known(signal: str) -> str:
    """The name of a signal that is a confidence itself; ValueError for any other."""
    if signal not in READ:
        raise unknown("signal", signal, READ)
    return signal


def layers(weights: Any) -> Layers:
    """Weights that are given as pairs, as float64; ValueError naming the layer that does not fit."""
    if not isinstance(weights, (tuple, list)) or not weights:
        raise ValueError("weights must be a sequence of at least one pair of a matrix and a shift")
    made: list[tuple[Array, Array]] = []
    width, allowed = None, (INPUTS, INPUTS + 1)
    for i, pair in enumerate(weights):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"weights[{i}] must be a pair of a matrix and a shift")
        matrix, shift = (check.real_values(w, f"weights[{i}][{j}]", -np.inf, np.inf) for j, w in enumerate(pair))
        wanted = allowed if width is None else (width,)
        if matrix.ndim != 2 or matrix.shape[0] not in wanted:
            rows = " or ".join(map(str, wanted))
            raise ValueError(f"weights[{i}][0] has shape {tuple(matrix.shape)}; it must have {rows} rows")
        if tuple(shift.shape) != (matrix.shape[1],):
            raise ValueError(f"weights[{i}][1] has shape {tuple(shift.shape)}; it must be ({matrix.shape[1]},)")
        width = matrix.shape[1]
        made.append((matrix, shift))
    if width != 1:
        raise ValueError(f"weights[{len(made) - 1}][0] has {width} columns; the last layer has 1")
    return tuple(made)


def features(signals: Signals, own: bool) -> Array:
    """What a network reads, (..., 12), or (..., 13) with the drawn token's probability."""
    xp = array_namespace(signals.top)
    parts = [signals.entropy, signals.position, *([signals.own] if own else [])]
    return xp.concat([signals.top, *(xp.astype(part, signals.top.dtype)[..., None] for part in parts)], axis=-1)


def network(signals: Signals, weights: Layers) -> Array:
    """The network's chance (...) that the draft is kept, given that all before it are."""
    w = features(signals, own=weights[0][0].shape[0] > INPUTS)
    xp = array_namespace(w)
    for i, (matrix, shift) in enumerate(weights):
        matrix, shift = (xp.astype(check.like(v, w), w.dtype) for v in (matrix, shift))
        w = w @ matrix + shift
        if i < len(weights) - 1:
            w = xp.where(w > 0, w, 0)
    return 1 / (1 + xp.exp(-w[..., 0]))


def confidence(signals: Signals, signal: str, weights: Layers | None) -> Array:
    """The network's chance where there is one, else the signal that is named."""
    if weights is not None:
        return network(signals, weights)
    return signals.top[..., 0] if signal == "top" else signals.own
