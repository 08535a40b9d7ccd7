"""Heads: each draft of a block has a small network, which reads one state of the target and no draft.

The state is the newest one, that before the block's known token, which the target has not read (see
`_rollout`). Head j drafts the token j + 2 places after it. All heads end in the target's own head.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.proposer import Drafter
from real.draft import _rollout, _weights
from real.draft._parts import Look, frozen, with_tokens
from real.models.model import LanguageModel

NAME = "heads"
PAPER = "arXiv:2401.10774"
RECIPES: dict[str, dict[str, Any]] = {
    "heads": {
        "drafter": "heads",
        "hidden": 256,
        "inner": 168,
        "heads": 6,
        "starts": 32,
        "unroll": 6,
    }
    | _weights.FITTED,
    "smollm2/heads": {"drafter": "heads", "inner": 80, "heads": 4, "unroll": 4, "steps": 800} | _weights.SMOLLM2,
}


def LAYERS(target: LanguageModel) -> tuple[int, ...]:
    """Return the number of the target's last layer, in a tuple."""
    return _rollout.last(target)


class Heads(nn.Module):
    """A residual block for each draft: before + down(silu(up(before) + bias)).

    Untrained it leaves the state as it is, so that all heads give the target's law.

    Parameters
    ----------
    hidden, inner, heads : int
        Width of the target's states, width inside a block, and number of drafts.
    """

    def __init__(self, hidden: int, inner: int, heads: int) -> None:
        super().__init__()
        self.register_buffer("tokens", None)  # of its head; see `with_tokens`
        self.hidden, self.steps = hidden, heads
        self.up = nn.ParameterList([torch.randn(inner, hidden) * hidden**-0.5 for _ in range(heads)])
        self.bias = nn.ParameterList([torch.zeros(inner) for _ in range(heads)])
        self.down = nn.ParameterList([torch.zeros(hidden, inner) for _ in range(heads)])

    def keys(self, three: Tensor, before: Tensor) -> Tensor:
        """Return keys of width 0: heads do not look back at the text."""
        return before[..., :0]

    def step(self, j: int, three: Tensor, carried: Tensor, block_keys: list[Tensor], look: Look) -> _rollout.Step:
        """Apply head j to the state before the block."""
        inside = F.silu(F.linear(carried, self.up[j], self.bias[j]))
        return _rollout.Step(carried + F.linear(inside, self.down[j]), carried, block_keys)


def network(recipe: dict[str, Any]) -> Heads:
    """Return the heads of a recipe, untrained."""
    return with_tokens(Heads(recipe["hidden"], recipe["inner"], recipe["heads"]), recipe)


def reads(recipe: dict[str, Any]) -> tuple[int, ...]:
    """Layers of the target that it is trained on, -1 for the last."""
    return (-1,)


def lesson(net: nn.Module, target: LanguageModel, recipe: dict[str, Any]) -> Callable[..., Tensor]:
    """Return the loss to train on: cross-entropy with the target's laws, mean over a block's drafts.

    Parameters
    ----------
    net : nn.Module
        The learner, of this file or of `trigram`.
    target : LanguageModel
        The frozen target.
    recipe : dict
        With `starts`, the blocks of a text, and `unroll`, the drafts of a block.

    Returns
    -------
    callable
        (tokens (b, m), states (b, m, 1, hidden), generator of the places, weight (b, m) of each
        place, by default all the same) -> nats a token.
    """
    ends = frozen(target, recipe["hidden"], net.tokens)  # type: ignore[arg-type]

    def loss(tokens: Tensor, states: Tensor, rng: torch.Generator, weight: Tensor | None = None) -> Tensor:
        """Return the loss of blocks at random places, the mean over their drafts."""
        # The states after the target's last layer, and the places where blocks begin.
        last, losses = states[:, :, 0], []
        at = _rollout.places(tokens.shape[1], recipe["starts"], recipe["unroll"], rng).to(tokens.device)

        # Draft j of a block is learned from the target's law after the token j places from its
        # start.
        for j, step in enumerate(_rollout.rolled(net, ends, tokens, _rollout.shifted(last), at, recipe["unroll"])):
            step_weight = None if weight is None else weight[:, at + j]
            losses.append(_rollout.crossed(ends, last[:, at + j], step.read, step_weight))
        return torch.stack(losses).mean()

    return loss


def shipped(name: str = "heads") -> Heads:
    """Return the trained heads; ValueError if their weights are not there."""
    return _weights.load(name, network(RECIPES[name]), RECIPES[name])


def drafter(net: nn.Module, target: LanguageModel) -> Drafter:
    """Return the heads as a drafter.

    Parameters
    ----------
    net : Heads
        The heads, as `shipped` returns them.
    target : LanguageModel
        The target, whose last states the heads read.

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
    Cai et al. 2024, Medusa, arXiv:2401.10774.

    Examples
    --------
    >>> from real import TINY, Warping, load
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> probabilities = drafter(shipped(), pair.target).along(pair.target, [5, 6], [7, 8, 9], 2, Warping())
    >>> probabilities.q.shape
    (3, 2)
    """
    return _rollout.drafter(net, target, one_pass=True)


drafting = drafter
