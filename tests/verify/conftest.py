"""Where rules are compared on all libraries they are compiled as users have them compiled."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def optimized() -> Iterator[None]:
    """XLA improves its programs, as elsewhere in the suite it does not; what asks for plain ones still gets them."""
    if importlib.util.find_spec("jax") is None:
        yield
        return
    import jax

    name = "jax_disable_most_optimizations"
    before = jax.config.values[name]
    jax.config.update(name, False)
    try:
        yield
    finally:
        jax.config.update(name, before)
