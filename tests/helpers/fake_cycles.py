"""A decode cycle of a model without numbers, on a pretended GPU; to be made where fake tensors are."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from real.decode import fixed, trees_block
from real.decode.tree_plan import TreeVerifier
from real.decode.warp import Warping
from real.models import store
from real.models.model import LanguageModel
from real.models.weights import Layer, Weights
from specsim.base.arrays import pick


def fake_model(
    *,
    vocab: int = 32,
    hidden: int = 16,
    layers: int = 2,
    context: int = 64,
    dtype: torch.dtype = torch.bfloat16,
    qk_norm: bool = False,
) -> LanguageModel:
    """Return a decoder of two query heads that share one head of keys."""
    # One layer, which the model has several times.
    make = partial(torch.empty, dtype=dtype, device="cuda")
    heads, kv, ffn, size = 2, 1, 2 * hidden, hidden // 2
    norm = make(heads + kv, size) if qk_norm else None
    layer = Layer(
        make(hidden),
        make((heads + 2 * kv) * size, hidden),
        None,
        make(hidden, hidden),
        None,
        make(hidden),
        make(2 * ffn, hidden),
        None,
        make(hidden, ffn),
        None,
        norm,
    )

    # The model.
    rope = make(context, 1, size), make(context, 1, size)
    weights = Weights(
        make(vocab, hidden), [layer] * layers, make(hidden), make(vocab, hidden), None, 1e-5, *rope, heads, kv
    )
    return LanguageModel(vocab, context, dtype, torch.device("cuda"), vocab, partial(store.Llama, weights), 0, weights)


def cycle(rule: Any, warping: Warping, length: int, batch: int = 2, **model: Any) -> tuple[Any, ...]:
    """One cycle of so many drafts, and its arguments: texts and uniforms."""
    target, draft = fake_model(**model), fake_model(**model)
    on = fixed.made(target, draft if length else None, batch, warping, rule, pick, 64)
    texts = torch.zeros(batch, 3, dtype=torch.int64, device="cuda")
    u = torch.zeros(batch, length + rule.uniforms(length), dtype=torch.float64, device="cuda")
    return partial(fixed.cycle, on, length), texts, u


def tree_cycle(rule: TreeVerifier, warping: Warping, batch: int = 2) -> tuple[Any, ...]:
    """One cycle of whole trees, and its arguments: texts and uniforms."""
    function, texts, u = cycle(rule, warping, rule.depth, batch)
    on = trees_block.Trees(function.args[0], rule)
    return partial(trees_block.cycle, on, rule.depth), texts, u
