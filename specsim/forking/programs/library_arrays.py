"""Numbers in the arrays of a subject's library."""

from __future__ import annotations

from typing import Any

from specsim.types import Array


def in_library(values: Array, library: str) -> Any:
    """Return a NumPy array as an array of a library: torch, jax, or NumPy itself."""
    if library == "torch":
        import torch

        return torch.from_numpy(values)
    if library == "jax":
        import jax

        return jax.numpy.asarray(values)
    return values
