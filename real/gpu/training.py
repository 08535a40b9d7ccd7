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

# Steps after which a stage computes how many steps fit into its time.
_PROBE = 10


@dataclass(frozen=True)
class Plan:
    """A recipe, whose stages `target_*` and `distil_*` are run, and the seconds for each of the two."""

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
    """The corpus and its tokenizer; the tokens (n,) for training as `stream`, and those of the held-out text."""

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
    """Return Python's standard library as text, or its first documents if the plan limits the characters."""
    # Documents until the limit is reached; the last one may exceed it.
    documents, num_characters = {}, 0
    for name, text in text_corpus.stdlib_documents().items():
        if 0 < plan.characters <= num_characters:
            break
        documents[name] = text
        num_characters += len(text)

    # The split into text for training and held-out text, and both as tokens.
    corpus = text_corpus.split(documents, plan.recipe.held_out)
    tokenizer = text_corpus.train_tokenizer(corpus.train, plan.recipe.vocab, plan.recipe.window)
    sides = (torch.from_numpy(text_corpus.token_stream(tokenizer, side)) for side in (corpus.train, corpus.held_out))
    return Text(corpus, tokenizer, *sides)


def train(plan: Plan, text: Text, device: torch.device) -> tuple[Any, Any, dict[str, Stage]]:
    """Train target and draft; return both in float32, and the outcomes of the stages "target" and "draft"."""
    # Both models, with random weights.
    recipe = plan.recipe
    target, draft = (
        build(shape, len(text.tokenizer), recipe.window, recipe.seed).to(device)
        for shape in (recipe.target, recipe.draft)
    )

    def cross_entropy(ids: Tensor) -> Tensor:
        """Return the target's loss on windows of text (b, n): nats per token."""
        next_tokens = ids[:, 1:].flatten()
        return F.cross_entropy(_logits(target, ids), next_tokens)

    def divergence(ids: Tensor) -> Tensor:
        """Return the draft's loss on windows of text (b, n): the mean of KL(p, q) in nats."""
        with torch.no_grad():
            log_p = _logits(target, ids).log_softmax(-1)
        log_q = _logits(draft, ids).log_softmax(-1)
        return F.kl_div(log_q, log_p, reduction="batchmean", log_target=True)

    # The target learns the text; then the draft learns the target.
    run = partial(_stage, recipe, text.stream)
    stages = {
        "target": run(target, cross_entropy, recipe.target_steps, recipe.target_rate, plan.target_s),
        "draft": run(draft, divergence, recipe.distil_steps, recipe.distil_rate, plan.draft_s),
    }
    return target.eval(), draft.eval(), stages


def _logits(model: Any, ids: Tensor) -> Tensor:
    """Return next-token logits (b (n - 1), V) of windows (b, n) but for their last tokens.

    They are computed in bfloat16 and returned in float32.
    """
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
    """Train a model for at most `steps` steps, as many as fit into `seconds`; return the outcome.

    `highest` is the highest learning rate. The number of steps is cut early, after `_PROBE` steps,
    because the rate falls to 0 over all steps.
    """
    device = next(model.parameters()).device
    model_optimizers = optimizers(model, recipe.weight_decay)
    step, loss = 0, torch.zeros(())
    began = time.monotonic()
    while step < steps:
        # A step along the clipped gradient.
        ids = batch_at(stream, step, recipe.batch, recipe.window, recipe.seed).to(device)
        loss = loss_of(ids)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in model_optimizers:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, steps, highest, recipe.warmup) * group["scale"]
            optimizer.step()
            optimizer.zero_grad()
        step += 1

        # Cut the number of steps to the time. The first step sets libraries up, so that the seconds
        # of a step are counted from its end.
        if step in (1, _PROBE):
            synchronize(device)
            now = time.monotonic()
            if step == 1:
                first_ended = now
            else:
                step_s = (now - first_ended) / (_PROBE - 1)
                seconds_left = seconds - (now - began)
                steps = max(_PROBE, min(steps, _PROBE + int(seconds_left / step_s)))

    # The outcome; reading the loss waits for the device.
    last_loss = loss.item()
    elapsed = time.monotonic() - began
    if not torch.isfinite(loss):
        raise ValueError(f"training ran away: the loss is {last_loss} after {step} steps")
    num_tokens = step * recipe.batch * recipe.window
    return Stage(step, elapsed, num_tokens / elapsed, last_loss)
