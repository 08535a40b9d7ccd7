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
    """Return the seconds of one call, as the median over turns.

    A turn is `calls` calls in a row, and waits for the device once, after the last. One more turn
    before them warms up and does not count.
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
    """Return the seconds of a pass of fixed shape over tokens of each text; its logits are computed, too.

    Parameters
    ----------
    model : LanguageModel
        On the fast path.
    batch, tokens : int
        Texts, and tokens of each.
    position, span : int
        Position of the first of the tokens, and how many positions attention looks at.
    calls : int
        Passes in a row.

    Returns
    -------
    float
        Seconds; on a GPU of a replayed graph.
    """
    # A cycle of a target alone, whose cache has room for `span` positions.
    fixed = made(model, None, batch, Warping(), tokenwise, pick, span)
    ids = torch.zeros(batch, tokens, dtype=torch.int64, device=model.device)
    positions = position + torch.arange(tokens, device=model.device).expand(batch, -1)

    # The pass that is timed: logits after all tokens.
    replay = captured(partial(logits_of, fixed, "target", rows=tokens), (ids, positions))
    return seconds_of(lambda: replay(ids, positions), model.device, calls=calls)


@torch.inference_mode()
def tree_pass_seconds(
    model: LanguageModel, batch: int, parents: Array, position: int, span: int, *, calls: int
) -> float:
    """Return the seconds of a pass of fixed shape over a text's last token and the nodes of a tree.

    Parameters
    ----------
    model : LanguageModel
        On the fast path.
    batch : int
        Texts.
    parents : array of int, shape (n,)
        Shape of the tree: the node above each node, -1 for the last token.
    position, span, calls
        As for `pass_seconds`.

    Returns
    -------
    float
        Seconds; on a GPU of a replayed graph.
    """
    # A cycle of trees without a draft, and its plan on the device. The rule itself is not run.
    rule = TreeVerifier("target_only", parents, "deterministic")
    fixed = made(model, None, batch, Warping(), rule, pick, span)
    trees = Trees(fixed, rule)

    # One row for the last token (the root) and one for each node, in each text.
    rows = len(parents) + 1
    root = torch.full((batch,), position, device=model.device)
    ids = torch.zeros(batch, rows, dtype=torch.int64, device=model.device)
    plan = rule.plan(rule.depth).held(like=ids)

    def tree_pass(root: Tensor, ids: Tensor) -> Tensor:
        """Return the logits after all rows."""
        # A text's last two tokens only have to be valid: the logits are not used.
        texts = Texts(ids[:, :2], root, fixed.sequences, None, span)
        return nodes_logits(trees, "target", place_of(trees, "target", plan, texts), texts, ids)

    # The pass that is timed.
    replay = captured(tree_pass, (root, ids))
    return seconds_of(lambda: replay(root, ids), model.device, calls=calls)
