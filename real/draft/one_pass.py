"""One pass for a whole block: a layer reads the known text once, and each position has a head on what it gives.

The drafts of such a block do not see each other. With a correction (order 1), a small gated layer adds the draft
before to what a position's head reads, from left to right: a Markov head, whose cost is that of the small layer.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.proposer import Drafter
from real.draft import _rollout, heads
from real.draft._parts import Gated, Look, rms, with_tokens
from real.draft.feature import Feature
from real.models.model import LanguageModel

NAME = "a block in one pass"
PAPER = "arXiv:2602.06036, arXiv:2607.05147"
LAYERS = heads.LAYERS
reads = heads.reads
lesson = heads.lesson


class OnePass(nn.Module):
    """A layer over the known text, and for each draft of a block a residual head on its output.

    Parameters
    ----------
    hidden, inner, gated : int
        Width of the target's states, of the layer's attention and of its gated part.
    heads, head : int
        Number of drafts, and width inside a draft's head.
    correction : int
        Width of the gated layer that reads the draft before, 0 for drafts that do not see each
        other.
    """

    def __init__(self, hidden: int, inner: int, gated: int, heads: int, head: int, correction: int = 0) -> None:
        super().__init__()
        self.register_buffer("tokens", None)  # of its head; see `with_tokens`
        self.hidden, self.steps = hidden, heads
        self.layer = Feature(hidden, inner, gated)
        self.up = nn.ParameterList([torch.randn(head, hidden) * hidden**-0.5 for _ in range(heads)])
        self.bias = nn.ParameterList([torch.zeros(head) for _ in range(heads)])
        self.down = nn.ParameterList([torch.zeros(hidden, head) for _ in range(heads)])
        self.correction = Gated(hidden, correction) if correction else None

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Return the layer's keys of places of the text."""
        return self.layer.keys(three, before)

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> _rollout.Step:
        """Apply head j to the layer's output, which step 0 computes and all steps of the block share."""
        if j == 0:
            carried = self.layer.step(0, three, carried, block_keys, look).carried
        inside = F.silu(F.linear(rms(carried), self.up[j], self.bias[j]))
        read = carried + F.linear(inside, self.down[j])

        # The first draft's known token is read by the layer; the others correct by the draft before.
        if j and self.correction is not None:
            draft_before = three[..., 2 * self.hidden :]
            read = read + self.correction(rms(draft_before), rms(read))
        return _rollout.Step(read, carried, block_keys)


def network(recipe: dict[str, Any]) -> OnePass:
    """Return the network of a recipe, untrained."""
    sizes = {name: recipe[name] for name in ("hidden", "inner", "gated", "heads", "head")}
    return with_tokens(OnePass(**sizes, correction=recipe.get("correction", 0)), recipe)


def drafter(net: OnePass, target: LanguageModel) -> Drafter:
    """Return a network of one pass as a drafter.

    Parameters
    ----------
    net : OnePass
        The network, trained by `real.train.smollm2.trained`: no weights are shipped.
    target : LanguageModel
        The target, whose last states the network reads.

    Returns
    -------
    Drafter
        Its blocks are at most as long as it has heads.

    Raises
    ------
    ValueError
        The target is not on the fast path, or has states of another width.

    References
    ----------
    Chen et al. 2026, DFlash, arXiv:2602.06036; Cheng et al. 2026, DSpark, arXiv:2607.05147 (the
    correction).

    Examples
    --------
    >>> from real import TINY, Warping, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> net = OnePass(256, inner=8, gated=8, heads=2, head=4).eval()
    >>> drafter(net, pair.target).along(pair.target, [5, 6], [7, 8, 9], 2, Warping()).q.shape
    (3, 2)
    """
    return _rollout.drafter(net, target, one_pass=net.correction is None)


drafting = drafter
