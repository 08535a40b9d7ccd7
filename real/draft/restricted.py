"""FR-Spec and VocabTrim: any drafter with a smaller head, which has the most frequent tokens only.

q is 0 on the other tokens. The target may still write them: a rejected draft is replaced from the residual, on the
whole vocabulary. The head must have the end token, or no text would ever be drafted to its end.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from real.decode.given_text import Along, windows
from real.decode.proposer import Drafter, Draw, More, Proposed, Proposer
from real.decode.warp import Warping
from real.draft._contract import along_blocks, target_probabilities
from real.draft._few_store import Few
from real.draft._parts import weights_of
from real.models import store
from real.models.model import LanguageModel
from specsim.base import check
from specsim.base.arrays import at
from specsim.types import Array

NAME = "a smaller head (FR-Spec, VocabTrim)"
PAPER = "arXiv:2506.22694, arXiv:2502.14856"
# `most_frequent` warns if there are fewer calibration tokens than this for each token of the head.
ENOUGH = 50
Mark = Callable[[str], None]


def layers(inner: Drafter) -> tuple[int, ...]:
    """Layers of the target that the drafter with the whole head reads."""
    return inner.layers


LAYERS = layers


def most_frequent(counts: Array, k: int, end: int | None) -> list[int]:
    """Return the k most frequent tokens, the end token among them.

    Parameters
    ----------
    counts : array, shape (V,)
        How often each token stands in a calibration text.
    k : int
        Number of tokens, 1 to V.
    end : int or None
        The end token, which replaces the rarest of the k tokens if it is not among them; None if texts have none.

    Returns
    -------
    list of int
        k ids, increasing; of tokens that are equally frequent those with small ids.

    Raises
    ------
    ValueError
        k or end is out of range, or a count is negative.

    Warns
    -----
    UserWarning
        Fewer than 50 calibration tokens for each of the k ids.

    Examples
    --------
    >>> most_frequent([100, 300, 0, 200], 2, end=2)
    [1, 2]
    """
    frequencies = np.asarray(check.real_values(counts, "counts", 0, np.inf))
    if frequencies.ndim != 1:
        raise ValueError(f"counts must have shape (V,), got {frequencies.shape}")
    vocab = len(frequencies)
    if not 1 <= check.integer(k, "k", 1) <= vocab:
        raise ValueError(f"k must be at most {vocab}, the size of the vocabulary, got {k}")
    if end is not None and not 0 <= end < vocab:
        raise ValueError(f"end is token {end}, outside the vocabulary 0..{vocab - 1}")
    if frequencies.sum() < ENOUGH * k:
        scarce = f"{int(frequencies.sum())} calibration tokens for k={k}: fewer than {ENOUGH}"
        warnings.warn(f"{scarce} for each token that is kept", stacklevel=2)

    # The k most frequent tokens; the end token replaces the rarest of them if it is not among them.
    order = np.argsort(-frequencies, kind="stable").tolist()
    if end is None or end in order[:k]:
        return sorted(order[:k])
    return sorted([*order[: k - 1], end])


def drafter(inner: Drafter, ids: Sequence[int], end: int | None) -> Drafter:
    """Return a drafter with its head cut to some tokens.

    Parameters
    ----------
    inner : Drafter
        Any drafter that draws each draft from one law, one after the other.
    ids : sequence of int
        Tokens of the head, at least one, each once.
    end : int or None
        The end token; None if texts have none.

    Returns
    -------
    Drafter
        Its laws are the inner drafter's on these tokens, renormalised; where these have no mass, the laws are even.

    Raises
    ------
    ValueError
        No id, one twice or out of range; the end token is not among them.

    References
    ----------
    FR-Spec, arXiv:2502.14856; VocabTrim, arXiv:2506.22694.

    Examples
    --------
    >>> from real import TINY, load
    >>> from real.draft import lm
    >>> pair = load(TINY / "target", TINY / "draft")
    >>> few = drafter(lm.drafter(pair.draft), range(100), end=0)
    >>> few.along(pair.target, [5, 6], [7, 800, 9], 1, Warping()).q[1].tolist()
    [0.0]
    """
    head_ids = sorted({check.integer(i, "ids", 0) for i in ids})
    count = len(list(ids))
    if not head_ids or len(head_ids) != count:
        raise ValueError(f"ids must be at least one token, each once; got {count}, {len(head_ids)} different ones")
    if end is not None and end not in head_ids:
        raise ValueError(
            f"ids lack the end token {end}, so no text would be drafted to its end: "
            f"most_frequent(counts, {len(head_ids)}, end={end}) forces it in"
        )
    # Laws along a text come from `rows` if the drafter has them, else from its blocks.
    rows = None if inner.rows is None else partial(_rows, inner, head_ids)
    cut = replace(inner, start=partial(_start, inner, head_ids), rows=rows)
    return replace(cut, along=partial(_along, cut))


def restrict(law: Tensor, in_head: Tensor) -> Tensor:
    """Return laws (..., V) restricted to a mask (V,), renormalised; even on the mask where they have no mass there."""
    cut = torch.where(in_head, law, 0)
    total = cut.sum(-1, keepdim=True)
    even = in_head.to(law.dtype) / in_head.sum()
    return torch.where(total > 0, cut / torch.where(total > 0, total, 1), even)


def restrict_logits(logits: Tensor, in_head: Tensor) -> Tensor:
    """Return the logits (..., V) of the restricted laws, as `restrict` does for their softmax.

    A row without a law, whose largest logit is not finite, stays as it is.
    """
    cut = torch.where(in_head, logits, -torch.inf)
    is_empty = cut.isneginf().all(-1, keepdim=True)
    restricted = torch.where(is_empty & in_head, 0, cut)
    return torch.where(logits.amax(-1, keepdim=True).isfinite(), restricted, logits)


class Restricted:
    """A proposer whose draws are restricted; see `real.decode.proposer.Proposer`.

    `start` starts the inner proposer with a function that draws, and `in_head` (V,) is the mask of the head's tokens.
    """

    def __init__(self, start: Callable[[Draw], Proposer], in_head: Tensor, draw: Draw) -> None:
        self._in_head, self._draw = in_head, draw
        # Restricted laws of the block that is being drafted, a tensor (b, V) for each draft.
        self._laws: list[Tensor] = []
        self._inner = start(self._draw_restricted)

    def _draw_restricted(self, law: Tensor, u: Tensor) -> Tensor:
        """Draw tokens from the restricted law, and store the law for `propose`."""
        self._laws.append(restrict(law, self._in_head))
        return self._draw(self._laws[-1], u)

    def read(self, i: int, text: Sequence[int]) -> None:
        """Pass the text on to the inner proposer."""
        self._inner.read(i, text)

    def told(self, which: list[int], starts: list[int], tokens: Tensor, states: Tensor) -> None:
        """Pass the target's states on to the inner proposer."""
        self._inner.told(which, starts, tokens, states)

    def propose(
        self,
        texts: Sequence[Sequence[int]],
        gamma: int,
        u: Tensor,
        which: list[int],
        seen: Tensor | None = None,
        more: More | None = None,
    ) -> Proposed:
        """Return the inner proposer's drafts, drawn from restricted laws."""
        self._laws.clear()
        # A controller decides by the restricted logits.
        options: dict[str, Any] = {}
        if more is not None:
            options["more"] = lambda tokens, logits: more(tokens, restrict_logits(logits, self._in_head))
        block = self._inner.propose(texts, gamma, u, which, seen, **options)
        logits = restrict_logits(block.logits, self._in_head)
        return Proposed(block.tokens, torch.stack(self._laws, 1), logits)


def _start(
    inner: Drafter, ids: list[int], target: LanguageModel, warping: Warping, draw: Draw, batch: int, mark: Mark
) -> Restricted:
    """Start the drafter on a batch of texts, with its draws restricted; the arguments are those of `Drafter.start`."""

    def start_inner(draw_restricted: Draw) -> Proposer:
        """Start the inner drafter, which draws with this function."""
        return inner.start(target, warping, draw_restricted, batch, mark)

    return Restricted(start_inner, _mask(ids, target), draw)


def _mask(ids: list[int], target: LanguageModel) -> Tensor:
    """Return the mask (V,) of increasing ids; raise ValueError if one is outside the vocabulary."""
    if ids[-1] >= target.vocab_size:
        raise ValueError(f"ids name token {ids[-1]}, outside the vocabulary 0..{target.vocab_size - 1}")
    in_head = torch.zeros(target.vocab_size, dtype=torch.bool, device=target.device)
    in_head[ids] = True
    return in_head


def _rows(
    inner: Drafter, ids: list[int], target: LanguageModel, prompt: list[int], text: list[int], warping: Warping
) -> Tensor:
    """Return the restricted laws (T, V) at the positions of the text."""
    assert inner.rows is not None
    return restrict(inner.rows(target, prompt, text, warping), _mask(ids, target))


def _along(
    cut: Drafter, target: LanguageModel, prompt: list[int], text: list[int], gamma: int, warping: Warping
) -> Along:
    """Return the restricted drafter's `Along` of a text: from its rows, or block by block."""
    if cut.rows is None:
        return along_blocks(cut, target, prompt, text, gamma, warping)
    q = at(cut.rows(target, prompt, text, warping), torch.tensor(text, device=target.device))
    return Along(windows(q.double().cpu().numpy(), gamma), target_probabilities(target, prompt, text, warping))


def trimmed(model: LanguageModel, ids: Sequence[int]) -> LanguageModel:
    """Return a model whose head has some rows only: what a restricted draft model costs.

    Parameters
    ----------
    model : LanguageModel
        On the fast path.
    ids : sequence of int
        Tokens of the head.

    Returns
    -------
    LanguageModel
        Its logits are -inf on all other tokens; without filters its laws are those of `drafter` around the whole model.

    Raises
    ------
    ValueError
        The model is not on the fast path, or an id is out of range.

    Examples
    --------
    >>> from real import TINY, load
    >>> from real.models.model import full_logits
    >>> few = trimmed(load(TINY / "target", TINY / "draft").draft, [3, 5])
    >>> full_logits(few, torch.tensor([1])).isfinite().nonzero()[:, 1].tolist()
    [3, 5]
    """
    weights = model.weights
    if weights is None:
        raise ValueError("only a model on the fast path can be trimmed")
    # The head's rows of these tokens; `_mask` checks the ids.
    _mask(sorted(ids), model)
    rows = torch.tensor(sorted(ids), device=model.device)
    head = weights.head.to_dense() if weights.head.is_mkldnn else weights.head
    bias = None if weights.head_bias is None else weights.head_bias[rows]
    few = replace(weights, head=head[rows].contiguous(), head_bias=bias)
    # Bytes of the head's rows that a pass no longer reads.
    saved = (len(head) - len(rows)) * head.shape[1] * head.itemsize
    return placed(replace(model, weights=few, weight_bytes=model.weight_bytes - saved), rows)


def placed(model: LanguageModel, tokens: Tensor) -> LanguageModel:
    """Return a model with logits for the whole vocabulary, from a head with rows for these tokens (k,) alone.

    Its `weights` are None: with a head that lacks tokens it cannot run on the fast path.
    """
    weights = weights_of(model)
    return replace(
        model, new_store=lambda batch: Few(store.Llama(weights, batch), tokens, model.vocab_size), weights=None
    )
