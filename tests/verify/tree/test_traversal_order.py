"""Which call succeeds first: read off the order of the tests, or found call by call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim.trees import depths, k_ary
from specsim.types import TokenTree
from specsim.verify.tree import _walk, lifted, traversal


def cases(rule: Any, scheme: str, n: int, seed: int) -> list[Any]:
    """Plans of random trees, some of whose nodes are absent or equal, and uniforms, some of them 0."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        size = int(rng.integers(1, 8))
        parents = np.array([rng.integers(-1, i) if i else -1 for i in range(size)])
        tokens = rng.integers(-1 if scheme == "iid" else 0, 4, (3, size))
        for node, parent in enumerate(parents):
            if parent >= 0:
                tokens[:, node] = np.where(tokens[:, parent] < 0, -1, tokens[:, node])
        p, q = rng.dirichlet(np.ones(4), (2, 3, size + 1))
        u = rng.random((3, size + 1)) * (rng.random((3, size + 1)) > 0.1)
        found.append((rule.prepare(p, q, TokenTree(parents, tokens, depths(parents), scheme)), u))
    return found


@pytest.mark.parametrize(
    ("rule", "scheme"),
    [(traversal, "without_replacement"), (traversal, "iid"), (lifted, "iid"), (lifted, "without_replacement")],
)
def test_the_first_test_that_succeeds_is_the_first_call_that_does(rule: Any, scheme: str) -> None:
    for plan, u in cases(rule, scheme, 60, 0):
        by_calls = rule.verify(plan._replace(order=None), u)
        for found, wanted in zip(rule.verify(plan, u), by_calls, strict=True):
            assert np.array_equal(found, wanted)


def test_an_order_from_the_root_is_caught() -> None:
    """Parents before their children, as nodes are numbered."""
    both = [
        (traversal.verify(plan._replace(order=np.sort(plan.order)), u)[0], traversal.verify(plan, u)[0])
        for plan, u in cases(traversal, "iid", 20, 0)
    ]
    assert any(not np.array_equal(found, wanted) for found, wanted in both)


def test_the_order_of_the_tests() -> None:
    tree = TokenTree(k_ary((2, 2)), np.zeros(6, dtype=np.int64), depths(k_ary((2, 2))), "iid")
    order = _walk.post_order(tree)
    assert order is not None
    assert order.tolist() == [2, 3, 0, 4, 5, 1]
    assert _walk.post_order(tree._replace(scheme="paths")) is None
    assert _walk.post_order(tree._replace(parents=np.zeros((3, 6), dtype=np.int64))) is None
