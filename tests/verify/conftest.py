"""In the slow tier, where rules are compared on all libraries, they are compiled as users have them compiled."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest


@pytest.fixture
def optimized(request: pytest.FixtureRequest) -> Iterator[None]:
    """XLA improves the programs of slow tests, as elsewhere it does not; what asks for plain ones still gets them."""
    if request.node.get_closest_marker("slow") is None or importlib.util.find_spec("jax") is None:
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
