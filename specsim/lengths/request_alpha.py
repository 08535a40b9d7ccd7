"""The acceptance of one draft that explains tau, whatever lengths were drafted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from specsim.lengths.request_record import AcceptanceRecord


def alpha_function(record: AcceptanceRecord) -> Callable[[float], float] | None:
    """Return the function from tau over drafted steps to alpha, for the lengths that were drafted; None if not known.

    >>> from specsim.lengths.request_record import request_of_blocks
    >>> alpha = alpha_function(AcceptanceRecord((request_of_blocks([2, 0, 1], [2, 2, 1]),)))
    >>> round(alpha(2.0), 4)
    0.6861
    """
    lengths = blocks_by_length(record)
    if not lengths:
        return None
    # came[i]: the share of blocks that drafted at least i tokens, a polynomial's coefficients.
    longest, blocks = max(lengths), sum(lengths.values())
    came = [sum(count for length, count in lengths.items() if length >= i) / blocks for i in range(1, longest + 1)]
    coefficients = [*reversed(came), 0.0]

    # Expected accepted drafts of a block grow with alpha: halve the interval.
    def alpha(tau: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if np.polyval(coefficients, middle) < tau - 1 else (low, middle)
        return (low + high) / 2

    return alpha


def blocks_by_length(record: AcceptanceRecord) -> dict[int, int]:
    """Return how many blocks had each draft length; {} where the source does not say it."""
    lengths: dict[int, int] = {}
    for request in record.requests:
        if not request.blocks:
            continue
        if request.histogram:
            rows = [(row.drafted, sum(row.counts)) for row in request.histogram]
        elif request.drafted and request.drafted % request.blocks == 0:
            rows = [(request.drafted // request.blocks, request.blocks)]
        else:
            return {}
        if request.drafted is not None and request.drafted != sum(length * count for length, count in rows):
            return {}
        for length, count in rows:
            lengths[length] = lengths.get(length, 0) + count
    return lengths
