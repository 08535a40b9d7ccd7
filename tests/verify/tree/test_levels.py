"""Levels of whole NumPy trees, which are looked up, are those that are worked out for any other library."""

from __future__ import annotations

import numpy as np
import pytest

from specsim.trees import depths, k_ary
from specsim.types import TokenTree
from specsim.verify.tree import _walk

torch = pytest.importorskip("torch")


def assert_same_levels(parents: np.ndarray, tokens: np.ndarray) -> None:
    tree = TokenTree(parents, tokens, depths(parents), "iid")
    found, wanted = _walk.levels(tree), _walk.levels(tree._replace(tokens=torch.asarray(tokens)))
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        for name, field, other in zip(mine._fields, mine, theirs, strict=True):
            field, other = np.asarray(field), np.asarray(other)
            assert (field.shape, field.dtype) == (other.shape, other.dtype), name
            assert np.array_equal(field, other), name


def test_levels_of_numpy_and_torch_trees() -> None:
    rng = np.random.default_rng(0)
    for n in [0, 1, *rng.integers(2, 9, 60)]:
        parents = np.array([rng.integers(-1, i) if i else -1 for i in range(n)], dtype=np.int64)
        for low, batch in ((0, (2,)), (0, ()), (-1, (3,))):  # few tokens: siblings are often equal; -1: absent
            tokens = rng.integers(low, 3, (*batch, n))
            for node, parent in enumerate(parents):
                if parent >= 0:
                    tokens[..., node] = np.where(tokens[..., parent] < 0, -1, tokens[..., node])
            assert_same_levels(parents, tokens)


def test_equal_siblings_that_are_not_seen_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = _walk._places
    monkeypatch.setattr(_walk, "_places", lambda parents: [place._replace(alone=True) for place in honest(parents)])
    with pytest.raises(AssertionError, match="first"):
        assert_same_levels(k_ary((2, 2)), np.array([1, 1, 0, 2, 0, 2]))
