"""EAGLE's layer drafts states: a token and the state before it give the state after it, and so on.

FSPAD changes two places. Feature sampling (fs): to W [e; f], the layer's input, it adds a gated
layer whose gate reads the drawn token e and whose value reads the state f. Partial alignment (pad):
the layer has two outputs, one for the head and one that is regressed to the target's state and
carried to the next step. A control has as many parameters as both changes, in the first place only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.proposer import Drafter
from real.draft import _rollout, _weights, heads
from real.draft._parts import Attention, Gated, Look, frozen, rms, with_tokens
from real.models.model import LanguageModel

NAME = "states of its own"
PAPER = "arXiv:2401.15077"
LAYERS = heads.LAYERS
reads = heads.reads
_SIZES = {"hidden": 256, "inner": 64, "gated": 192}
_FITTED = _weights.FITTED | {"starts": 32, "unroll": 2, "head_share": 0.1}
# In training, blocks that carry the layer's states are as long as in decoding, and the law counts
# more than the state.
_SMOLLM2 = _weights.SMOLLM2 | {"unroll": 4, "head_share": 1.0, "state_share": 0.1}
# Networks of FSPAD's experiment; the control's gated layer has as many parameters as both others
# add.
VARIANTS: dict[str, dict[str, Any]] = {
    "eagle": {},
    "fs": {"fuse": 96},
    "pad": {"pad": True},
    "both": {"fuse": 96, "pad": True},
    "control": {"extra": 160},
}
RECIPES: dict[str, dict[str, Any]] = {
    "feature": {"drafter": "feature", **_SIZES, **VARIANTS["both"], **_FITTED},
    "smollm2/feature": {"drafter": "feature", "inner": 192, "gated": 576} | _SMOLLM2 | {"steps": 4000},
    "smollm2/fspad": {"drafter": "feature", "inner": 192, "gated": 320, "fuse": 64, "pad": True}
    | _SMOLLM2
    | {"steps": 1000},
}


class Feature(nn.Module):
    """One decoder layer, which reads a token and the state before it.

    Parameters
    ----------
    hidden, inner, gated : int
        Width of the target's states, of the attention and of the gated layer.
    fuse : int
        Width of the gated layer of feature sampling, 0 for none.
    pad : bool
        Partial alignment: the head reads another output than the one that is carried.
    extra : int
        Width of the control's gated layer, which reads the joined input alone; 0 for none.
    """

    steps = None

    def __init__(self, hidden: int, inner: int, gated: int, fuse: int = 0, pad: bool = False, extra: int = 0) -> None:
        super().__init__()
        self.register_buffer("tokens", None)  # of its head; see `with_tokens`
        self.hidden, self.pad = hidden, pad
        # W begins as the identity on the state, and hardly reads the token.
        start = torch.cat([torch.zeros(hidden, hidden), torch.eye(hidden)], 1)
        self.join = nn.Parameter(start + 0.01 * torch.randn(hidden, 2 * hidden))
        self.fuse = Gated(hidden, fuse) if fuse else None
        self.extra = Gated(hidden, extra) if extra else None
        self.attention = Attention(hidden, inner)
        self.gated = Gated(hidden, gated, 2 * hidden if pad else hidden)

    def joined(self, three: Tensor, before: Tensor) -> Tensor:
        """Return the layer's input (..., hidden), from the last of three tokens and the state before it."""
        token = three[..., 2 * self.hidden :]
        x = F.linear(torch.cat([token, before], -1), self.join)
        if self.fuse is not None:
            x = x + self.fuse(rms(token), rms(before))
        return x if self.extra is None else x + self.extra(rms(x), rms(x))

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Return the attention's keys of places, from their tokens and the target's states."""
        return self.attention.keys(rms(self.joined(three, before)))

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> _rollout.Step:
        """Return the state after step j's token, for the head and for the next step."""
        # The input and its key; that of the first step is already among those of the text.
        x = self.joined(three, carried)
        if j:
            block_keys = [*block_keys, self.attention.keys(rms(x))]

        # The layer: attention, then a gated layer with one output for both purposes, or two.
        x = x + self.attention(rms(x), look, block_keys)
        update = self.gated(rms(x), rms(x))
        if not self.pad:
            return _rollout.Step(x + update, x + update, block_keys)
        read, carried = update.chunk(2, -1)
        return _rollout.Step(x + read, x + carried, block_keys)


def network(recipe: dict[str, Any]) -> Feature:
    """Return the layer of a recipe, untrained."""
    options = {name: recipe[name] for name in ("fuse", "pad", "extra") if name in recipe}
    return with_tokens(Feature(recipe["hidden"], recipe["inner"], recipe["gated"], **options), recipe)


def lesson(net: nn.Module, target: LanguageModel, recipe: dict[str, Any]) -> Callable[..., Tensor]:
    """Return the loss to train on: distance of states and cross-entropy of laws, with weights.

    The distance is the smooth L1 loss between the state that is carried and the target's state.

    Parameters
    ----------
    net : Feature
        The learner.
    target : LanguageModel
        The frozen target.
    recipe : dict
        With `starts`, the blocks of a text, `unroll`, the steps of a block, `head_share`, the
        weight of cross-entropy, and `state_share`, that of the distance, by default 1.

    Returns
    -------
    callable
        (tokens (b, m), states (b, m, 1, hidden), generator of the places, weight (b, m) of each
        place, by default all the same) -> the loss.
    """
    ends = frozen(target, recipe["hidden"], net.tokens)  # type: ignore[arg-type]

    def loss(tokens: Tensor, states: Tensor, rng: torch.Generator, weight: Tensor | None = None) -> Tensor:
        """Return the loss of blocks at random places, the mean over their steps."""
        # The states after the target's last layer, and the places where blocks begin.
        last, losses = states[:, :, 0], []
        at = _rollout.places(tokens.shape[1], recipe["starts"], recipe["unroll"], rng).to(tokens.device)

        # Step j of a block should give the target's state after the token that the step reads.
        for j, step in enumerate(_rollout.rolled(net, ends, tokens, _rollout.shifted(last), at, recipe["unroll"])):
            wanted = last[:, at + j]
            step_weight = None if weight is None else weight[:, at + j]
            cross_entropy = _rollout.crossed(ends, wanted, step.read, step_weight)
            distance = _rollout.mean(F.smooth_l1_loss(step.carried, wanted, reduction="none"), step_weight)
            losses.append(recipe.get("state_share", 1.0) * distance + recipe["head_share"] * cross_entropy)
        return torch.stack(losses).mean()

    return loss


def shipped(name: str = "feature") -> Feature:
    """Return the trained layer of this name; ValueError if its weights are not there."""
    return _weights.load(name, network(RECIPES[name]), RECIPES[name])


def drafter(net: nn.Module, target: LanguageModel) -> Drafter:
    """Return EAGLE's layer as a drafter.

    Parameters
    ----------
    net : Feature
        The layer, as `shipped` returns it.
    target : LanguageModel
        The target, whose last states the layer reads.

    Returns
    -------
    Drafter
        For blocks of any length; chains only, where EAGLE drafts trees.

    Raises
    ------
    ValueError
        The target is not on the fast path, or has states of another width.

    References
    ----------
    Li et al. 2024, EAGLE, arXiv:2401.15077; Gui et al. 2024, FSPAD, arXiv:2408.15562.

    Examples
    --------
    >>> from real import TINY, Warping, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> probabilities = drafter(shipped(), pair.target).along(pair.target, [5, 6], [7, 8, 9], 2, Warping())
    >>> probabilities.q.shape
    (3, 2)
    """
    return _rollout.drafter(net, target)


drafting = drafter
