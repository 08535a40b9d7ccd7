"""JAX with one uniform at an end: `jax.random.uniform` returns what it always does, but for that number."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np

from specsim.conform.evidence._counter import Counter


def replacements(counter: Counter) -> list[tuple[Any, str, Any]]:
    """(module, name, function) of what makes uniforms; none before JAX is imported."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "random"):
        return []
    whole = jax.random.uniform

    @functools.wraps(whole)
    def uniform(
        key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0, **more: Any
    ) -> Any:
        made = whole(key, shape, dtype, minval, maxval, **more)
        if isinstance(made, jax.core.Tracer):  # a number that is written now would stay in the compiled function
            return made
        place = counter.next(made.size)
        if place is None or np.ndim(minval) or np.ndim(maxval):
            return made
        # Uniforms of JAX are multiples of the distance between 1 and the next number.
        value = counter.value(-round(math.log2(float(jax.numpy.finfo(made.dtype).eps))))
        return made.at[np.unravel_index(place, made.shape)].set(minval + (maxval - minval) * value)

    return [(jax.random, "uniform", uniform)]
