"""The time of a model's pass alone, captured and replayed as in a cycle of fixed shapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from real.decode.clock import synchronize
from real.decode.fixed import logits_of, made
from real.decode.graphs import captured
from real.decode.tree_plan import TreeVerifier
from real.decode.trees_block import Texts, Trees, nodes_logits, place_of
from real.decode.warp import Warping
from real.models.model import LanguageModel
from specsim.base.arrays import pick
from specsim.types import Array
from specsim.verify.chain import tokenwise


def seconds_of(function: Callable[[], Any], device: torch.device, *, calls: int, turns: int = 5) -> float:
    """Seconds a call: calls in a row, waited for together.

    Median over turns after one that warms up.
    """
    seconds = []
    for _ in range(turns + 1):
        synchronize(device)
        began = time.perf_counter()
        for _ in range(calls):
            function()
        synchronize(device)
        seconds.append((time.perf_counter() - began) / calls)
    return float(np.median(seconds[1:]))


@torch.inference_mode()
def pass_seconds(model: LanguageModel, batch: int, tokens: int, position: int, span: int, *, calls: int) -> float:
    """Seconds of a pass of fixed shape, head included, over tokens of each text from a position on.

    Parameters
    ----------
    model : LanguageModel
        On the fast path.
    batch, tokens : int
        Texts, and tokens of each.
    position, span : int
        Where the tokens stand, and how many positions attention looks at.
    calls : int
        Passes in a row.

    Returns
    -------
    float
        Seconds; on a GPU of a replayed graph.
    """
    fixed = made(model, None, batch, Warping(), tokenwise, pick, span)
    ids = torch.zeros(batch, tokens, dtype=torch.int64, device=model.device)
    places = position + torch.arange(tokens, device=model.device).expand(batch, -1)
    replay = captured(partial(logits_of, fixed, "target", rows=tokens), (ids, places))
    return seconds_of(lambda: replay(ids, places), model.device, calls=calls)


@torch.inference_mode()
def tree_pass_seconds(
    model: LanguageModel, batch: int, parents: Array, position: int, span: int, *, calls: int
) -> float:
    """Seconds of a pass of fixed shape, head included, over a last token and the nodes of a tree.

    Parameters
    ----------
    model : LanguageModel
        On the fast path.
    batch : int
        Texts.
    parents : array of int, shape (n,)
        The shape.
    position, span, calls
        As for `pass_seconds`.

    Returns
    -------
    float
        Seconds; on a GPU of a replayed graph.
    """
    rule = TreeVerifier("target_only", parents, "deterministic")
    fixed = made(model, None, batch, Warping(), rule, pick, span)
    rows = torch.arange(len(parents) + 1, device=model.device)
    plan = rule.plan(rule.depth).held(rows)
    on, root = Trees(fixed, rule), torch.full((batch,), position, device=model.device)
    ids = torch.zeros(batch, len(rows), dtype=torch.int64, device=model.device)

    def whole(root: Tensor, ids: Tensor) -> Tensor:
        """Logits of all nodes."""
        texts = Texts(ids[:, :2], root, fixed.sequences, None, span)
        return nodes_logits(on, "target", place_of(on, "target", plan, texts), texts, ids)

    replay = captured(whole, (root, ids))
    return seconds_of(lambda: replay(root, ids), model.device, calls=calls)
