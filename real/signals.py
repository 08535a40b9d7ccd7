"""Signals of a block's drafts before the target sees them, and the block's outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from specsim.types import Array, Signals

# Largest probabilities of a row that signals hold.
TOP = 10


class BlockSignals(NamedTuple):
    """A block as it was logged: signals of its n drafts, and what the target made of them.

    `start` counts the tokens of text before the block; `signals` have shapes (n, 10), (n,), (n,),
    (n,). `ratio` (n,) is p/q of each drafted token, which only the labels of a classifier may read;
    `kept` counts the drafts that the rule accepted, even where the text ended before.
    """

    start: int
    signals: Signals
    ratio: Array
    kept: int


def signals_of(laws: Tensor, tokens: Tensor, position: int | Array) -> Signals:
    """Return signals of drafts from rows of probabilities.

    Parameters
    ----------
    laws : Tensor, shape (..., V)
        The rows of the drafts, before warping (see `logit_signals`).
    tokens : Tensor, shape (...)
        The drafts.
    position : int or array, shape (...)
        Which drafts of their blocks they are, from 1.

    Returns
    -------
    Signals
        NumPy arrays in float64: top (..., 10), entropy, position and own (...).

    Examples
    --------
    >>> found = signals_of(torch.tensor([0.5, 0.0, 0.25, 0.25]), torch.tensor(2), 1)
    >>> found.top[:5].tolist(), round(float(found.entropy), 4), float(found.own)
    ([0.5, 0.25, 0.25, 0.0, 0.0], 1.0397, 0.25)
    """
    wide = laws.double()
    top = wide.topk(min(TOP, wide.shape[-1]), -1).values
    padded = torch.nn.functional.pad(top, (0, TOP - top.shape[-1]))
    drawn_probability = wide.gather(-1, tokens[..., None])[..., 0]
    entropy = -torch.special.xlogy(wide, wide).sum(-1)
    positions = np.broadcast_to(np.asarray(position), tuple(tokens.shape))
    return Signals(padded.cpu().numpy(), entropy.cpu().numpy(), positions, drawn_probability.cpu().numpy())


def logit_signals(logits: Tensor, tokens: Tensor, position: int | Array) -> Signals:
    """Return signals of drafts from the logits of their rows, before warping.

    Temperature, filters and penalties stay out: at temperature 0 every warped row is one-hot, and a
    controller that read it would never stop. transformers and Kangaroo read the softmax of the
    logits, too.

    Parameters
    ----------
    logits : Tensor, shape (..., V)
        As the draft gives them.
    tokens, position
        As for `signals_of`.

    Returns
    -------
    Signals
        As `signals_of`.

    Examples
    --------
    >>> found = logit_signals(torch.tensor([0.0, -torch.inf, 0.0]), torch.tensor(2), 1)
    >>> found.top[:3].tolist(), float(found.own)
    ([0.5, 0.5, 0.0], 0.5)
    """
    return signals_of(logits.double().softmax(-1), tokens, position)
