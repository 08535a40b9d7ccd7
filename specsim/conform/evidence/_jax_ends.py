"""JAX with one uniform at an end: `jax.random.uniform` returns its usual numbers, but for that one."""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np

from specsim.conform.evidence._counter import Counter


def replacements(counter: Counter) -> list[tuple[Any, str, Any]]:
    """Return (module, name, function) of what makes uniforms; nothing before JAX is imported."""
    jax = sys.modules.get("jax")
    if jax is None or not hasattr(jax, "random"):
        return []
    original = jax.random.uniform

    @functools.wraps(original)
    def uniform(
        key: Any, shape: Any = (), dtype: Any = float, minval: Any = 0.0, maxval: Any = 1.0, **more: Any
    ) -> Any:
        """Return JAX's uniforms, of which one may be at an end."""
        made = original(key, shape, dtype, minval, maxval, **more)
        # A number that is written while JAX traces would stay in the compiled function.
        if isinstance(made, jax.core.Tracer):
            return made
        place = counter.next(made.size)
        if place is None or np.ndim(minval) or np.ndim(maxval):
            return made
        # Uniforms of JAX are multiples of the distance between 1 and the next number.
        value = counter.value(-round(math.log2(float(jax.numpy.finfo(made.dtype).eps))))
        return made.at[np.unravel_index(place, made.shape)].set(minval + (maxval - minval) * value)

    return [(jax.random, "uniform", uniform)]
