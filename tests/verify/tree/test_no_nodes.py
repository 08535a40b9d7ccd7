"""Trees without nodes: nothing can be kept, and every tree rule draws the token from the target, in batches too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim import discover
from specsim.base.arrays import pick
from specsim.trees import chain
from specsim.types import Draws, TokenTree

torch = pytest.importorskip("torch")

CASES = [(name, scheme) for name, rule in discover.rules("tree").items() for scheme in discover.facts(rule).schemes]


@pytest.mark.parametrize("as_array", [np.asarray, torch.asarray], ids=["numpy", "torch"])
@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3)])
@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_a_tree_without_nodes(name: str, scheme: str, batch: tuple[int, ...], as_array: Any) -> None:
    rule, rng = discover.find("tree", name), np.random.default_rng(0)
    p, u = as_array(rng.dirichlet(np.ones(4), (*batch, 1))), as_array(rng.random((*batch, 1)))
    tree = TokenTree(chain(0), as_array(np.zeros((*batch, 0), dtype=np.int64)), chain(0), scheme)
    more: dict[str, Any] = {"draws": lambda q: Draws(1, 0, 1)} if scheme == "distinct" else {}
    assert rule.uniforms(tree) == 1
    prepared = rule.prepare(p, p, tree, **more)
    node, token = rule.verify(prepared, u)
    assert tuple(node.shape) == tuple(token.shape) == batch
    assert np.array_equal(np.asarray(node), np.zeros(batch))
    assert np.array_equal(np.asarray(token), np.asarray(pick(p[..., 0, :], u[..., 0])))
    assert np.allclose(np.asarray(rule.transition(prepared)), np.asarray(p))
