"""Overhead of a cycle that nobody stated: it is in no value, and the low ends of intervals allow for it."""

from __future__ import annotations

from specsim.latency import LatencyModel, Timing
from specsim.speed.prediction import HOLDS_ONE, Prediction


def with_overhead(latency: LatencyModel, seconds: float) -> LatencyModel:
    """Return the latency model with `seconds` of extra fixed work per cycle."""

    def longer(batch: int, context: int) -> Timing:
        """Return the overhead with the extra work, which has no error."""
        overhead = latency.overhead(batch, context)
        return overhead._replace(value=overhead.value + seconds)

    return latency._replace(overhead=longer)


def widen_low(prediction: Prediction, slower: Prediction) -> Prediction:
    """Lower the speedup interval's low end to that of the prediction under the slower cost model."""
    low, high = slower.speedup.low, prediction.speedup.high
    if low is None or high is None:
        return prediction
    flags = prediction.flags
    if low < 1 < high and HOLDS_ONE not in flags:
        flags = (HOLDS_ONE, *flags)
    return prediction._replace(speedup=prediction.speedup._replace(low=low), flags=flags)
