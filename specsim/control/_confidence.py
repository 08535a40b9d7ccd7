"""Confidence that a draft is accepted.

It is the largest probability of the row that the draft was drawn from, the probability of its
token, or a network's estimate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace
from specsim.base.unknown import unknown
from specsim.types import Array, Signals

# Names of signals that are confidences themselves: the largest probability of the draft's row, and
# the probability of its token.
READ = ("top", "own")
# Largest probabilities of a row that a controller sees.
TOP = 10
# Number of inputs of a network: the largest probabilities, entropy and position. A network with one
# input more also reads the drawn token's probability.
INPUTS = TOP + 2
# A network's weights (in, out) and shifts (out,); ReLU follows every layer but the last.
Layers = tuple[tuple[Array, Array], ...]


def checked_signal(signal: str) -> str:
    """Return the name of a signal that is a confidence itself; raise ValueError for any other."""
    if signal not in READ:
        raise unknown("signal", signal, READ)
    return signal


def layers(weights: Any) -> Layers:
    """Return a network's layers as float64, from pairs of a matrix and a shift.

    Raises ValueError that names the layer that does not fit.
    """
    if not isinstance(weights, (tuple, list)) or not weights:
        raise ValueError("weights must be a sequence of at least one pair of a matrix and a shift")
    checked: list[tuple[Array, Array]] = []
    # `width` is the number of outputs of the layer before.
    width, input_widths = None, (INPUTS, INPUTS + 1)
    for i, pair in enumerate(weights):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"weights[{i}] must be a pair of a matrix and a shift")
        matrix, shift = (check.real_values(w, f"weights[{i}][{j}]", -np.inf, np.inf) for j, w in enumerate(pair))

        # A matrix has a row for each output of the layer before, the first matrix one for each
        # input.
        expected = input_widths if width is None else (width,)
        if matrix.ndim != 2 or matrix.shape[0] not in expected:
            rows = " or ".join(map(str, expected))
            raise ValueError(f"weights[{i}][0] has shape {tuple(matrix.shape)}; it must have {rows} rows")
        if tuple(shift.shape) != (matrix.shape[1],):
            raise ValueError(f"weights[{i}][1] has shape {tuple(shift.shape)}; it must be ({matrix.shape[1]},)")
        width = matrix.shape[1]
        checked.append((matrix, shift))

    # The network's output is one number.
    if width != 1:
        last = len(checked) - 1
        raise ValueError(f"weights[{last}][0] has {width} columns; the last layer has 1")
    return tuple(checked)


def features(signals: Signals, with_token: bool) -> Array:
    """Return a network's inputs (..., 12), or (..., 13) with the drawn token's probability."""
    xp = array_namespace(signals.top)
    parts = [signals.entropy, signals.position]
    if with_token:
        parts.append(signals.own)
    columns = [xp.astype(part, signals.top.dtype)[..., None] for part in parts]
    return xp.concat([signals.top, *columns], axis=-1)


def network(signals: Signals, weights: Layers) -> Array:
    """Return the network's probability (...) that the draft is accepted, given that all before it are."""
    first_matrix, _ = weights[0]
    w = features(signals, with_token=first_matrix.shape[0] > INPUTS)
    xp = array_namespace(w)
    # Each layer, with ReLU after all but the last.
    for i, (matrix, shift) in enumerate(weights):
        matrix, shift = (xp.astype(check.like(v, w), w.dtype) for v in (matrix, shift))
        w = w @ matrix + shift
        if i < len(weights) - 1:
            w = xp.where(w > 0, w, 0)
    # The logistic function of the only output.
    return 1 / (1 + xp.exp(-w[..., 0]))


def confidence(signals: Signals, signal: str, weights: Layers | None) -> Array:
    """Return the confidence (...) in a draft: the network's probability; without weights, the named signal."""
    if weights is not None:
        return network(signals, weights)
    return signals.top[..., 0] if signal == "top" else signals.own
