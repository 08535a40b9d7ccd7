"""A medium pair trained in place: the target on the corpus, the draft on the target's laws.

The training takes a few minutes on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from real.decode.clock import synchronize
from real.train import corpus as text_corpus
from real.train.corpus import Corpus
from real.train.recipe import Recipe, Shape, learning_rate
from real.train.step import batch_at, build, optimizers

# Steps after which the number of steps that fit into the time is computed.
_PROBE = 10


@dataclass(frozen=True)
class Plan:
    """A recipe, of which this training takes two stages (`target_*` and `distil_*`), and the seconds for each."""

    recipe: Recipe = Recipe(  # noqa: RUF009 - frozen
        vocab=8192,
        window=512,
        batch=32,
        target=Shape(24, 1024, 2816, 16),
        draft=Shape(4, 512, 1408, 8),
        target_steps=1000,
        distil_steps=1000,
        target_rate=1e-3,
        distil_rate=3e-3,
        held_out=0.02,
    )
    target_s: float = 140.0
    draft_s: float = 60.0
    # Characters of the corpus; 0 means all.
    characters: int = 0


class Text(NamedTuple):
    """The corpus, its tokenizer, and both sides as tokens."""

    corpus: Corpus
    tokenizer: Any
    stream: Tensor
    held_out: Tensor


class Stage(NamedTuple):
    """The outcome of a stage: steps, seconds, tokens a second, last loss in nats."""

    steps: int
    seconds: float
    tokens_per_s: float
    loss: float


def read_text(plan: Plan) -> Text:
    """The standard library, as `real.train` reads it, or the first documents of it."""
    documents, room = {}, plan.characters
    for name, text in text_corpus.stdlib_documents().items():
        if room <= 0 < plan.characters:
            break
        documents[name], room = text, room - len(text)
    corpus = text_corpus.split(documents, plan.recipe.held_out)
    tokenizer = text_corpus.train_tokenizer(corpus.train, plan.recipe.vocab, plan.recipe.window)
    sides = (torch.from_numpy(text_corpus.token_stream(tokenizer, side)) for side in (corpus.train, corpus.held_out))
    return Text(corpus, tokenizer, *sides)


def train(plan: Plan, text: Text, device: torch.device) -> tuple[Any, Any, dict[str, Stage]]:
    """The trained target and draft in float32, and the outcome of both stages."""
    recipe, size = plan.recipe, (len(text.tokenizer), plan.recipe.window, plan.recipe.seed)
    target, draft = (build(shape, *size).to(device) for shape in (recipe.target, recipe.draft))

    def cross_entropy(ids: Tensor) -> Tensor:
        """The target's loss."""
        return F.cross_entropy(_logits(target, ids), ids[:, 1:].flatten())

    def divergence(ids: Tensor) -> Tensor:
        """The draft's loss."""
        with torch.no_grad():
            log_p = _logits(target, ids).log_softmax(-1)
        return F.kl_div(_logits(draft, ids).log_softmax(-1), log_p, reduction="batchmean", log_target=True)

    run = partial(_stage, recipe, text.stream)
    stages = {
        "target": run(target, cross_entropy, recipe.target_steps, recipe.target_rate, plan.target_s),
        "draft": run(draft, divergence, recipe.distil_steps, recipe.distil_rate, plan.draft_s),
    }
    return target.eval(), draft.eval(), stages


def _logits(model: Any, ids: Tensor) -> Tensor:
    """Next-token logits of all positions but the last, as float32 rows, computed in bfloat16."""
    with torch.autocast(ids.device.type, torch.bfloat16):
        logits: Tensor = model(ids[:, :-1], use_cache=False).logits
    return logits.flatten(0, 1).float()


def _stage(
    recipe: Recipe,
    stream: Tensor,
    model: nn.Module,
    loss_of: Callable[[Tensor], Tensor],
    steps: int,
    highest: float,
    seconds: float,
) -> Stage:
    """Train one model; after some steps their number is cut to the time, so that the rate ends at 0."""
    device = next(model.parameters()).device
    learners, began, step, loss = optimizers(model, recipe.weight_decay), time.monotonic(), 0, torch.zeros(())
    while step < steps:
        # A step along the clipped gradient.
        ids = batch_at(stream, step, recipe.batch, recipe.window, recipe.seed).to(device)
        loss = loss_of(ids)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in learners:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, steps, highest, recipe.warmup) * group["scale"]
            optimizer.step()
            optimizer.zero_grad()
        step += 1

        # The first step sets libraries up, so that time is counted from its end.
        if step in (1, _PROBE):
            synchronize(device)
            now = time.monotonic()
            if step == 1:
                first = now
            else:
                each = (now - first) / (_PROBE - 1)
                steps = max(_PROBE, min(steps, _PROBE + int((seconds - (now - began)) / each)))

    # The outcome.
    last = loss.item()
    spent = time.monotonic() - began
    if not torch.isfinite(loss):
        raise ValueError(f"training ran away: the loss is {last} after {step} steps")
    return Stage(step, spent, step * recipe.batch * recipe.window / spent, last)
