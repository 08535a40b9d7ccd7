"""The decode cycle in fixed shapes, as a function of tensors: what a GPU can capture once and replay.

Positions of texts are data, not shape: they are a tensor, and every text of the batch runs in every cycle. A text that
is not in the group writes beyond its end, or writes again what is there. Nothing inside reads a value back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from real.decode.chain_cycle import outcome
from real.decode.draft import readable
from real.decode.proposer import Draw
from real.decode.warp import Warping, probabilities
from real.models import llama
from real.models.cache import Cache, fit_logits
from real.models.model import LanguageModel
from real.models.store import layers


@dataclass(frozen=True, eq=False)
class Fixed:
    """Models, caches and options of the cycles of one batch; the same addresses as long as it lives.

    Parameters
    ----------
    models, caches : dict
        By name: "target", and "draft" where one drafts.
    warping : Warping
        Of both.
    rule : Verifier, TreeVerifier or BeamVerifier
        Decides what is kept.
    draw : callable
        Draws the drafts of a chain.
    sequences : Tensor, shape (batch, 1), int64
        0, 1, ..., on the device.
    """

    models: dict[str, LanguageModel]
    caches: dict[str, Cache]
    warping: Warping
    rule: Any
    draw: Draw
    sequences: Tensor


def made(
    target: LanguageModel,
    draft: LanguageModel | None,
    batch: int,
    warping: Warping,
    rule: Any,
    draw: Draw,
    capacity: int,
) -> Fixed:
    """Make the caches of a batch, with room for `capacity` positions, and the record of its cycles."""
    models = {"target": target} | ({} if draft is None else {"draft": draft})
    caches = {name: model.cache(batch) for name, model in models.items()}
    for cache in caches.values():
        cache.reserve(capacity)
    return Fixed(models, caches, warping, rule, draw, torch.arange(batch, device=target.device)[:, None])


def begin(fixed: Fixed, i: int, text: list[int]) -> None:
    """Read the beginning of text i: all but its last token."""
    for name, model in fixed.models.items():
        if text:
            tokens = readable(model, torch.tensor([text], device=model.device))
            fixed.caches[name].forward(tokens, 0, [i])


def cycle(fixed: Fixed, length: int, texts: Tensor, u: Tensor) -> Tensor:
    """Draft and verify for all texts.

    Parameters
    ----------
    fixed : Fixed
        Models and caches.
    length : int
        Drafts.
    texts : Tensor, shape (batch, 3), int64
        Of each text its last two tokens, and the position of the last.
    u : Tensor, shape (batch, length + uniforms of the rule)
        Uniforms.

    Returns
    -------
    Tensor, shape (batch, 3 + 3 length)
        Rows of `real.decode.chain_cycle.outcome`.
    """
    last, starts = texts[:, :2], texts[:, 2]
    read, laws, tops = [last[:, 1:]], [], []
    # The draft reads two tokens first: after a block whose drafts were all accepted it has not read the first of them.
    new, positions = last, torch.stack([(starts - 1).clamp(min=0), starts], 1)
    for k in range(length):
        logits = logits_of(fixed, "draft", new, positions, 1)[:, 0]
        law = probabilities(logits, fixed.warping)
        new = fixed.draw(law, u[:, k]).clamp(max=law.shape[-1] - 1)[:, None]
        tops.append(logits.amax(-1, keepdim=True))
        positions = (starts + k + 1)[:, None]
        read.append(new)
        laws.append(law)
    # The target reads the last token and all drafts, and the rule decides.
    tokens = torch.cat(read, 1)
    positions = starts[:, None] + torch.arange(length + 1, device=starts.device)
    logits = logits_of(fixed, "target", tokens, positions, length + 1)
    p = probabilities(logits, fixed.warping)
    q = torch.stack(laws, 1) if laws else p[:, :0]
    accepted, token = fixed.rule.verify(fixed.rule.prepare(p, q.to(p.dtype)), tokens[:, 1:], u[:, length:])
    largest = torch.cat([logits.amax(-1), *(top.to(logits.dtype) for top in tops)], 1)
    out: Tensor = outcome(accepted, token, tokens[:, 1:], largest)
    return out


def logits_of(fixed: Fixed, name: str, tokens: Tensor, positions: Tensor, rows: int) -> Tensor:
    """Logits of the last `rows` of tokens (b, m) that one of the models reads at positions (b, m)."""
    model, kv = fixed.models[name], fixed.caches[name].kv
    weights = model.weights
    # `real.decode.graphs.supports` has checked it.
    assert weights is not None
    place = llama.ragged(weights, positions, fixed.sequences, kv.shape[4])
    new = [(k.transpose(1, 2), v.transpose(1, 2)) for k, v in layers(kv)]
    hidden = llama.forward(weights, layers(kv), new, place, readable(model, tokens), rows)
    return fit_logits(llama.linear(hidden, weights.head, weights.head_bias), model.vocab_size)
