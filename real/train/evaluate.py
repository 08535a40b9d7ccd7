"""The quality of a pair: losses on held-out text, agreement on text that the target writes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from real.decode.warp import Warping, probabilities
from specsim.base.arrays import overlap


@torch.no_grad()
def write(model: Any, prompts: Tensor, length: int, temperature: float = 1.0, seed: int = 0) -> Tensor:
    """Let a model continue prompts to `length` tokens; an end of text does not stop it.

    Parameters
    ----------
    model : causal language model
        The writer.
    prompts : Tensor
        (n, tokens) ids.
    length : int
        Tokens of each row, the prompt included.
    temperature : float
        0 takes the most probable token.
    seed : int
        Seed of the draws.

    Returns
    -------
    Tensor
        (n, length) ids.
    """
    rng = torch.Generator().manual_seed(seed)
    # The parts of the texts, side by side: the prompts (n, tokens), then columns (n, 1).
    parts, new, cache = [prompts], prompts, None
    for _ in range(length - prompts.shape[1]):
        # Feed the newest tokens, and draw the next column.
        out = model(new, past_key_values=cache, use_cache=True, logits_to_keep=1)
        cache, logits = out.past_key_values, out.logits[:, -1].float()
        if temperature > 0:
            new = torch.multinomial((logits / temperature).softmax(-1), 1, generator=rng)
        else:
            new = logits.argmax(-1, keepdim=True)
        parts.append(new)
    return torch.cat(parts, 1)


@torch.no_grad()
def held_out_loss(model: Any, windows: Tensor, batch: int = 8) -> float:
    """Return the mean next-token loss over windows (n, window), in the model's precision.

    Parameters
    ----------
    model : causal language model
        Any that returns ``.logits``.
    windows : Tensor
        Token ids that the model has not learned from.
    batch : int
        Windows at once.

    Returns
    -------
    float
        Nats per token.
    """
    total = 0.0
    for ids in torch.split(windows, batch):
        logits = model(ids[:, :-1], use_cache=False).logits.flatten(0, 1).float()
        total += F.cross_entropy(logits, ids[:, 1:].flatten(), reduction="sum").item()
    return total / (windows.shape[0] * (windows.shape[1] - 1))


@torch.no_grad()
def compare(
    target: Any,
    draft: Any,
    ids: Tensor,
    start: int = 1,
    temperature: float = 1.0,
    batch: int = 8,
) -> dict[str, float]:
    """Compare the two models' next-token distributions along a text.

    Parameters
    ----------
    target, draft : causal language models
        With one vocabulary.
    ids : Tensor
        (n, tokens) text, such as the target wrote.
    start : int
        First position whose token counts (1 or more): the length of the prompts.
    temperature : float
        Of both models.
    batch : int
        Rows at once.

    Returns
    -------
    dict
        Means over positions: ``kl`` of target against draft in nats, ``acceptance``
        sum_x min(p(x), q(x)), and ``greedy_match``, how often the likeliest tokens agree.
    """
    totals = {"kl": 0.0, "acceptance": 0.0, "greedy_match": 0.0}
    for rows in torch.split(ids, batch):
        # The row after token i is the law of token i + 1.
        both_logits = (model(rows[:, :-1], use_cache=False).logits for model in (target, draft))
        p, q = (probabilities(logits[:, start - 1 :], Warping(temperature)) for logits in both_logits)
        totals["kl"] += F.kl_div(q.log(), p, reduction="sum").item()
        totals["acceptance"] += overlap(p, q).sum().item()
        totals["greedy_match"] += (p.argmax(-1) == q.argmax(-1)).sum().item()
    positions = ids.shape[0] * (ids.shape[1] - start)
    return {name: total / positions for name, total in totals.items()}


def evaluate(target: Any, draft: Any, held_out: Tensor) -> dict[str, float]:
    """Measure a pair: losses on held-out windows, agreement on text that the target writes.

    Parameters
    ----------
    target, draft : causal language models
        The pair.
    held_out : Tensor
        (n, window) token ids. The target continues the first 24 tokens of 128 of them to 128
        tokens.

    Returns
    -------
    dict
        ``target_loss``, ``draft_loss`` (nats per token), ``kl_held_out``, ``kl_written``
        (KL(target || draft), nats), ``acceptance_t1.0``, ``acceptance_t0.6`` (mean sum_x min(p, q)
        on text written at that temperature) and ``greedy_match`` (on greedy text).
    """
    # The target continues openings that are spread over the held-out text.
    start, length = 24, min(128, held_out.shape[1])
    openings = held_out[:: max(1, len(held_out) // 128), :start][:128]
    texts = {t: write(target, openings, length, t, seed=1) for t in (1.0, 0.6, 0.0)}

    # Both models' laws along what it wrote, at each temperature; greedy texts at temperature 1.
    warm = compare(target, draft, texts[1.0], start)
    cool = compare(target, draft, texts[0.6], start, temperature=0.6)
    greedy = compare(target, draft, texts[0.0], start)
    return {
        "target_loss": held_out_loss(target, held_out),
        "draft_loss": held_out_loss(draft, held_out),
        "kl_held_out": compare(target, draft, held_out)["kl"],
        "kl_written": warm["kl"],
        "acceptance_t1.0": warm["acceptance"],
        "acceptance_t0.6": cool["acceptance"],
        "greedy_match": greedy["greedy_match"],
    }
