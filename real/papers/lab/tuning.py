"""Tuning of a small draft by objectives of `specsim.objective`, on the corpus or models' texts.

Objectives that are compared learn side by side: one pass of the target over a batch serves all of
them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM

from real import TINY
from real.papers.lab.texts import Texts
from real.papers.lab.writing import pair
from real.train import corpus
from real.train.evaluate import write
from real.train.recipe import learning_rate
from real.train.step import batch_at, optimizers
from specsim import discover
from specsim.base.arrays import at, overlap
from specsim.base.unknown import unknown
from specsim.types import Array

Source = Literal["corpus", "target", "draft", "mixed"]
Optimizer = Literal["Muon and AdamW", "AdamW", "SGD"]
# Steps after which a draft writes anew the texts that it learns from.
FRESH = 8
# Tokens of the texts that it continues.
OPENING = 24
# Steps of linear warm-up.
WARMUP = 4


class Plan(NamedTuple):
    """Steps, sizes and rate of a tuning."""

    steps: int
    # Windows a step, and tokens of each.
    batch: int
    window: int
    # Highest learning rate.
    rate: float
    optimizer: Optimizer = "Muon and AdamW"


class Rows(NamedTuple):
    """Texts to be judged on: ids (n, prompt + length), the target's laws along the texts (n, length, V), float32."""

    texts: Texts
    ids: Tensor
    laws: Tensor


@lru_cache(maxsize=2)
def model(name: str) -> Any:
    """The bundled target or draft as it can be trained; copy it before."""
    return AutoModelForCausalLM.from_pretrained(TINY / name, dtype=torch.float32)


@lru_cache(maxsize=2)
def stream(documents: int) -> Tensor:
    """Tokens of this many files of the running Python's library, evenly spaced among the training files."""
    learned = corpus.split(corpus.stdlib_documents()).train
    names = sorted(learned)
    spaced = np.linspace(0, len(names) - 1, documents).astype(int)
    chosen = {names[i]: learned[names[i]] for i in spaced}
    return torch.from_numpy(corpus.token_stream(pair().tokenizer, chosen))


def joined(texts: Texts) -> Tensor:
    """Prompts and texts as one tensor (n, prompt + length).

    ValueError for prompts of different lengths.
    """
    if len({len(prompt) for prompt in texts.prompts}) != 1:
        raise ValueError("prompts have different lengths; a batch has one")
    return torch.from_numpy(np.concatenate([np.array(texts.prompts), texts.tokens], axis=1))


@torch.no_grad()
def rows(texts: Texts) -> Rows:
    """The target's laws along texts, computed once for all drafts that are judged."""
    ids = joined(texts)
    parts = [_laws(model("target"), part, texts.tokens.shape[1]) for part in torch.split(ids, 8)]
    return Rows(texts, ids, torch.cat(parts))


@torch.no_grad()
def acceptance(draft: Any, on: Rows) -> Array:
    """Mean of sum min(p, q) (n,) over the positions of each text."""
    draft.eval()
    parts = zip(torch.split(on.ids, 8), torch.split(on.laws, 8), strict=True)
    means = [overlap(p, _laws(draft, ids, p.shape[1])).mean(-1) for ids, p in parts]
    return torch.cat(means).double().numpy()


@torch.no_grad()
def agreement(draft: Any, on: Rows) -> Array:
    """How often (n,) the likeliest tokens of both models agree: acceptance at T = 0 on greedy texts."""
    return (laws(draft, on).argmax(-1) == on.laws.argmax(-1)).double().mean(-1).numpy()


@torch.no_grad()
def laws(draft: Any, on: Rows) -> Tensor:
    """The draft's laws (n, length, V) along the texts."""
    draft.eval()
    return torch.cat([_laws(draft, ids, on.laws.shape[1]) for ids in torch.split(on.ids, 8)])


@torch.no_grad()
def text_probabilities(draft: Any, on: Rows) -> Array:
    """The draft's probability of each token of the texts, (n, length), float64."""
    draft.eval()
    length = on.laws.shape[1]
    parts = [at(_laws(draft, ids, length), ids[:, -length:]) for ids in torch.split(on.ids, 8)]
    return torch.cat(parts).double().numpy()


def tune(
    start: Any,
    objectives: Sequence[str],
    batches: Callable[[Any, int], Tensor],
    plan: Plan,
    seed: int,
    show_stage: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Tune a copy of a draft by each of the objectives, on the same batches.

    Parameters
    ----------
    start : causal language model
        The draft; not changed.
    objectives : sequence of str
        Names of files of `specsim.objective`. `cross_entropy` learns the tokens of the batch; other
        sampled ones get a token of the draft at each row.
    batches : callable
        Draft, step -> ids (batch, window); the draft is the first of those that are tuned.
    plan : Plan
        Steps and rates.
    seed : int
        Of sampled tokens.
    show_stage : callable
        Called with the stage, for progress.

    Returns
    -------
    dict
        Name -> tuned draft, in evaluation mode.

    Raises
    ------
    ValueError
        An unknown objective; a loss that is not finite, with its step.
    """
    losses = {name: discover.find("objective", name) for name in objectives}
    drafts = {name: copy.deepcopy(start).train() for name in objectives}
    steppers = {name: _optimizers(draft, plan.optimizer) for name, draft in drafts.items()}
    rng = torch.Generator().manual_seed(seed)
    for step in range(plan.steps):
        # The batch, and the target's laws if an objective reads them.
        show_stage(f"{', '.join(objectives)}: step {step + 1} of {plan.steps}")
        ids = batches(drafts[objectives[0]], step)
        p = None
        if set(objectives) != {"cross_entropy"}:
            with torch.no_grad():
                p = logits(model("target"), ids).softmax(-1)

        for name, draft in drafts.items():
            # Tokens that the objective learns: those of the batch, or drawn ones.
            log_q = logits(draft, ids).log_softmax(-1)
            tokens = ids[:, 1:].flatten() if name == "cross_entropy" else None
            if tokens is None and losses[name].SAMPLED:
                tokens = torch.multinomial(log_q.detach().exp(), 1, generator=rng)[:, 0]

            # A step.
            laws = log_q.detach().exp() if p is None else p
            loss = losses[name].loss(laws, log_q, tokens).mean()
            if not torch.isfinite(loss):
                raise ValueError(f"the loss {name} is {loss.item()} at step {step}")
            loss.backward()
            _step(draft, steppers[name], learning_rate(step, plan.steps, plan.rate, WARMUP))
    return {name: draft.eval() for name, draft in drafts.items()}


def batches_of(source: Source, texts: Texts, ids: Tensor, plan: Plan, seed: int) -> Callable[[Any, int], Tensor]:
    """Batches of a source for `tune`.

    Parameters
    ----------
    source : str
        "corpus"; "target", texts that it wrote; "draft", texts that the draft writes anew every
        `FRESH` steps; "mixed", the latter two in halves.
    texts : Texts
        Texts that the target wrote.
    ids : Tensor
        The corpus.
    plan : Plan
        Sizes of a batch.
    seed : int
        Seed of the choice.

    Returns
    -------
    callable
        Draft, step -> ids (batch, window).

    Raises
    ------
    ValueError
        An unknown source, or texts shorter than a window.
    """
    text_ids = joined(texts)
    if text_ids.shape[1] < plan.window:
        raise ValueError(f"texts of {text_ids.shape[1]} tokens do not fill a window of {plan.window}")
    # Batches that the draft wrote last.
    by_draft_batches: list[Tensor] = []

    def by_target(step: int) -> Tensor:
        """Random windows of the target's texts."""
        rng = np.random.default_rng([seed, 1, step])
        first = rng.integers(text_ids.shape[1] - plan.window + 1, size=plan.batch)
        chosen = rng.integers(len(text_ids), size=plan.batch)
        places = zip(chosen, first, strict=True)
        return torch.stack([text_ids[i, k : k + plan.window] for i, k in places])

    def by_draft(draft: Any, step: int) -> Tensor:
        """Texts of the draft after openings of the target's, written anew every `FRESH` steps."""
        if step % FRESH == 0:
            rng = np.random.default_rng([seed, 2, step])
            chosen = torch.from_numpy(rng.integers(len(text_ids), size=FRESH * plan.batch))
            draft.eval()
            written = write(draft, text_ids[chosen, :OPENING], plan.window, seed=seed + step)
            by_draft_batches[:] = torch.split(written, plan.batch)
            draft.train()
        return by_draft_batches[step % FRESH]

    def mixed(draft: Any, step: int) -> Tensor:
        """Half a batch of the draft's texts, and half a batch of the target's."""
        half = plan.batch // 2
        return torch.cat([by_draft(draft, step)[:half], by_target(step)[half:]])

    # One function for each source.
    makers: Mapping[str, Callable[[Any, int], Tensor]] = {
        "corpus": lambda draft, step: batch_at(ids, step, plan.batch, plan.window, seed),
        "target": lambda draft, step: by_target(step),
        "draft": by_draft,
        "mixed": mixed,
    }
    if source not in makers:
        raise unknown("source", source, makers, "sources")
    return makers[source]


def _optimizers(draft: Any, kind: Optimizer) -> list[torch.optim.Optimizer]:
    """The optimizers of a draft, of this kind."""
    if kind == "SGD":
        return [torch.optim.SGD([{"params": list(draft.parameters()), "scale": 1.0}], lr=1.0)]
    if kind == "AdamW":
        every = [{"params": list(draft.parameters()), "scale": 1.0}]
        return [torch.optim.AdamW(every, betas=(0.9, 0.95), weight_decay=0.0, fused=True)]
    return optimizers(draft, 0.0)


def _step(draft: Any, steppers: Sequence[torch.optim.Optimizer], rate: float) -> None:
    """One step of all its optimizers, with gradients of norm 1 at most."""
    torch.nn.utils.clip_grad_norm_(draft.parameters(), 1.0)
    for stepper in steppers:
        for group in stepper.param_groups:
            group["lr"] = rate * group["scale"]
        stepper.step()
        stepper.zero_grad()


def logits(any_model: Any, ids: Tensor) -> Tensor:
    """Logits of the token after every position but the last, as rows (n, V)."""
    all_logits: Tensor = any_model(ids[:, :-1], use_cache=False).logits
    return all_logits.flatten(0, 1).float()


def _laws(any_model: Any, ids: Tensor, length: int) -> Tensor:
    """Laws (n, length, V) of the last `length` tokens."""
    all_logits: Tensor = any_model(ids[:, :-1], use_cache=False).logits
    return all_logits[:, -length:].float().softmax(-1)
